import { expect, test } from 'vitest'
import { Circuits } from '../../../src/gateway/routing/circuits.ts'

function openedAt(start: number) {
  const clock = { nowMs: start }
  const circuits = new Circuits(() => clock.nowMs)
  const fail = (client: string, kind: 'connect' | 'answer', times = 1) => {
    for (let time = 0; time < times; time += 1) circuits.failed('a', client, kind)
  }
  return { clock, circuits, fail }
}

test('no client opens a circuit by answers that fail, however many', () => {
  const { circuits, fail } = openedAt(0)
  fail('one', 'answer', 100)
  expect(circuits.isOpenTo('a', 'two')).toBe(true)
})

test('answers that fail for several clients open it, and one that is served in between does not let it', () => {
  const { circuits, fail } = openedAt(0)
  fail('one', 'answer', 3)
  circuits.served('a', 10)
  fail('two', 'answer', 4)
  expect(circuits.isOpenTo('a', 'three')).toBe(true)
  fail('one', 'answer')
  expect(circuits.isOpenTo('a', 'three')).toBe(false)
  expect(circuits.report()).toEqual(new Map([['a', 'open']]))
})

test('failures far apart are not in a row', () => {
  const { circuits, clock, fail } = openedAt(0)
  for (let time = 0; time < 20; time += 1) {
    fail(`client ${time}`, 'answer')
    clock.nowMs += 20_000
  }
  expect(circuits.isOpenTo('a', 'one')).toBe(true)
})

test('connections that do not come about open it, for all clients, and other upstreams stay as they are', () => {
  const { circuits, fail } = openedAt(0)
  fail('one', 'connect', 3)
  expect([circuits.isOpenTo('a', 'one'), circuits.isOpenTo('b', 'one')]).toEqual([false, true])
})

test('one call tries whether it serves again: if it does, the circuit is closed', () => {
  const { circuits, clock, fail } = openedAt(0)
  fail('one', 'connect', 3)
  clock.nowMs = 10_000
  expect(circuits.report()).toEqual(new Map([['a', 'half_open']]))
  expect(circuits.isOpenTo('a', 'one')).toBe(true)
  circuits.began('a')
  expect(circuits.isOpenTo('a', 'two')).toBe(false)
  circuits.served('a', 10)
  expect(circuits.isOpenTo('a', 'two')).toBe(true)
})

test('a trial that fails to connect keeps it open for longer each time; one whose client left, not', () => {
  const { circuits, clock, fail } = openedAt(0)
  fail('one', 'connect', 3)
  clock.nowMs = 10_000
  circuits.began('a')
  circuits.untold('a')
  expect(circuits.isOpenTo('a', 'one')).toBe(true)
  circuits.began('a')
  fail('one', 'connect')
  clock.nowMs = 29_999
  expect(circuits.isOpenTo('a', 'one')).toBe(false)
  clock.nowMs = 30_000
  expect(circuits.isOpenTo('a', 'one')).toBe(true)
})

test('a client whose trial was answered badly leaves the next one to others', () => {
  const { circuits, clock, fail } = openedAt(0)
  fail('one', 'connect', 3)
  clock.nowMs = 10_000
  circuits.began('a')
  fail('odd', 'answer')
  clock.nowMs = 20_000
  expect([circuits.isOpenTo('a', 'odd'), circuits.isOpenTo('a', 'other')]).toEqual([false, true])
})

test('calls that began before it opened do not keep it open', () => {
  const { circuits, clock, fail } = openedAt(0)
  fail('one', 'connect', 3)
  clock.nowMs = 9_999
  fail('two', 'answer', 10)
  clock.nowMs = 10_000
  expect(circuits.isOpenTo('a', 'two')).toBe(true)
})

test('an upstream is the less healthy, the slower it answers and the more calls fail', () => {
  const { circuits, clock, fail } = openedAt(0)
  circuits.keepsHealth = true
  clock.nowMs = 1_000
  circuits.served('a', 900)
  circuits.served('b', 850)
  expect(circuits.illnessOf('a')).toBeLessThan(circuits.illnessOf('b'))
  expect(circuits.illnessOf('unknown')).toBe(0)
  fail('one', 'answer')
  expect(circuits.illnessOf('a')).toBeGreaterThan(circuits.illnessOf('b'))
})
