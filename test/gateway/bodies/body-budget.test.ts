import { describe, expect, test } from 'vitest'
import type { BodyRoom, UploadProblem } from '../../../src/gateway/bodies/body-budget.ts'
import { BodyBudget } from '../../../src/gateway/bodies/body-budget.ts'

const MIB = 1024 * 1024
const KIB = 1024

/** A budget as a gateway has it, at a time that the test sets. */
class Budget {
  now = 0
  readonly ended: [clientId: string, problem: UploadProblem][] = []
  readonly budget: BodyBudget

  constructor(limitBytes = 256 * MIB, maxBodyBytes = 100 * MIB) {
    this.budget = new BodyBudget(limitBytes, maxBodyBytes, { now: () => this.now })
  }

  open(clientId: string): BodyRoom {
    return this.budget.open(clientId, (problem) => this.ended.push([clientId, problem]))
  }

  /** An upload of so many bytes so far, in pieces as sockets give them; `null`: it found no room. */
  upload(clientId: string, bytes: number): BodyRoom | null {
    const room = this.open(clientId)
    for (let sent = 0; sent < bytes; sent += 64 * KIB) {
      if (!room.grow(Math.min(64 * KIB, bytes - sent))) {
        room.release()
        return null
      }
    }
    return room
  }
}

/** As many bytes as a client gets into the room, by bodies that arrive whole and stay. */
function fill(budget: Budget, clientId: string): void {
  for (let bytes = 64 * MIB; bytes > 64 * KIB; bytes /= 2) budget.upload(clientId, bytes)?.arrived()
}

describe('the room for bodies', () => {
  test('the first 64 KiB of a body take no room, so that small calls always find it', () => {
    const budget = new Budget(MIB, MIB)
    budget.upload('full', MIB)?.arrived()
    for (let call = 0; call < 10_000; call += 1) expect(budget.upload('small', 64 * KIB)).not.toBe(null)
    expect(budget.budget.heldBytes).toBe(MIB)
    expect(budget.upload('large', 64 * KIB + 1)).toBe(null)
  })

  test('what was announced and not sent takes no room, what came takes as much as it is', () => {
    const budget = new Budget()
    const room = budget.open('client')
    expect(budget.budget.heldBytes).toBe(0)
    room.grow(60 * KIB)
    expect(budget.budget.heldBytes).toBe(0)
    room.grow(10 * KIB)
    expect(budget.budget.heldBytes).toBe(70 * KIB)
    room.grow(1)
    expect([budget.budget.heldBytes, room.heldBytes]).toEqual([70 * KIB + 1, 70 * KIB + 1])
  })

  test('room for a body is given back once, however often its release is called', () => {
    const budget = new Budget()
    const [one, other] = [budget.upload('client', MIB), budget.upload('client', 2 * MIB)]
    one?.release()
    one?.release()
    expect(budget.budget.heldBytes).toBe(2 * MIB)
    other?.arrived()
    other?.release()
    expect(budget.budget.heldBytes).toBe(0)
  })

  test('one client holds less than half of the room, and each next one finds some of what the others leave', () => {
    const budget = new Budget()
    const held: number[] = []
    for (const client of ['a', 'b', 'c', 'd', 'e']) {
      const before = budget.budget.heldBytes
      fill(budget, client)
      held.push(budget.budget.heldBytes - before)
    }
    expect(held[0]).toBeLessThan(100 * MIB + 1)
    expect(Math.min(...held)).toBeGreaterThan(MIB)
    expect(budget.budget.heldBytes).toBeLessThan(256 * MIB)
  })

  test('a body of the greatest length finds room where nothing else is held, however small the limit', () => {
    const budget = new Budget(100 * KIB, 300 * KIB)
    const only = budget.upload('only', 300 * KIB)
    expect(only).not.toBe(null)
    only?.arrived()
    expect(budget.upload('other', 65 * KIB)).toBe(null)
    only?.release()
    expect(budget.budget.heldBytes).toBe(0)
    expect(budget.upload('other', 300 * KIB)).not.toBe(null)
  })
})

describe('uploads that hold the room', () => {
  test.each([2, 10, 50])('%i clients that trickle give way to a large upload, slowest first', (clients) => {
    const budget = new Budget()
    const rooms: (BodyRoom | null)[] = []
    for (let n = 0; n < clients; n += 1) {
      for (const bytes of [64 * MIB, 32 * MIB, 8 * MIB, MIB, 128 * KIB])
        rooms.push(budget.upload(`slow ${n}`, bytes))
    }
    expect(budget.budget.heldBytes).toBeGreaterThan(100 * MIB)
    budget.now += 18_000
    for (const room of rooms) if (room?.grow(1) === false) room.release()
    expect(budget.upload('honest', 50 * MIB)).not.toBe(null)
    expect(budget.ended.length).toBeGreaterThan(0)
    expect(budget.ended.every(([clientId, problem]) => clientId !== 'honest' && problem === 'busy')).toBe(
      true,
    )
    expect(budget.budget.heldBytes).toBeLessThanOrEqual(256 * MIB)
  })

  test('fast uploads give way too, to a client that wants little', () => {
    const budget = new Budget(MIB, MIB)
    for (const client of ['a', 'b', 'c', 'd', 'e', 'f']) {
      for (const bytes of [512, 256, 128, 70]) budget.upload(client, bytes * KIB)
    }
    budget.ended.length = 0
    expect(budget.upload('modest', 66 * KIB)).not.toBe(null)
  })

  test('no upload gives way to one of a client that would hold more, nor a whole body to any', () => {
    const budget = new Budget(MIB, MIB)
    budget.upload('one', 300 * KIB)?.arrived()
    budget.upload('two', 300 * KIB)
    budget.now += 1_000
    expect(budget.upload('greedy', 400 * KIB)).toBe(null)
    expect(budget.ended).toEqual([])
  })
})

describe('the minimum rate', () => {
  test('an upload that brings less than 32 KiB in 20 s ends, also one that came fast at first', () => {
    const budget = new Budget()
    const slow = budget.open('slow')
    const fast = budget.open('fast at first')
    const steady = budget.open('steady')
    fast.grow(64 * KIB)
    fast.grow(MIB)
    const secondsOf = (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        budget.now += 1_000
        slow.grow(1)
        steady.grow(2 * KIB)
        budget.budget.endSlow()
      }
    }
    secondsOf(19)
    expect(budget.ended).toEqual([])
    secondsOf(1)
    expect(budget.ended).toEqual([['slow', 'slow']])
    secondsOf(20)
    expect(budget.ended).toEqual([
      ['slow', 'slow'],
      ['fast at first', 'slow'],
    ])
    secondsOf(100)
    expect(budget.ended).toHaveLength(2)
    expect(budget.budget.heldBytes).toBe(steady.heldBytes)
  })

  test('a body that is whole is not too slow, however long its call takes', () => {
    const budget = new Budget()
    budget.upload('client', MIB)?.arrived()
    budget.now += 3_600_000
    budget.budget.endSlow()
    expect(budget.ended).toEqual([])
    expect(budget.budget.heldBytes).toBe(MIB)
  })
})
