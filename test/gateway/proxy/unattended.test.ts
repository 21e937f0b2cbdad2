import { expect, test } from 'vitest'
import { Unattended } from '../../../src/gateway/proxy/unattended.ts'

function goOn(unattended: Unattended, client: string, calls: number): (() => void)[] {
  return Array.from({ length: calls }, () => unattended.admit(client, null, () => {}))
}

test('a client of which too many calls go on gets no new ones until some have ended, and none is ended for it', () => {
  const unattended = new Unattended({ maxPerClient: 2 })
  const [first] = goOn(unattended, 'a', 2)
  expect(unattended.isFull('a', false)).toBe(true)
  expect(unattended.isFull('b', false)).toBe(false)
  goOn(unattended, 'a', 3)
  expect(unattended.count).toBe(5)
  for (const release of goOn(unattended, 'b', 2)) release()
  first?.()
  first?.()
  expect(unattended.count).toBe(4)
  expect(unattended.isFull('a', false)).toBe(true)
})

test('what a client made may be fetched while its calls go on, up to twice as many', () => {
  const unattended = new Unattended({ maxPerClient: 2 })
  goOn(unattended, 'a', 3)
  expect(unattended.isFull('a', true)).toBe(false)
  const [fetch] = goOn(unattended, 'a', 1)
  expect(unattended.isFull('a', true)).toBe(true)
  fetch?.()
  expect(unattended.isFull('a', true)).toBe(false)
})

test('ten clients that use all places keep no other client from one, and only those above their share wait', () => {
  const unattended = new Unattended({ maxInAll: 1_000, maxPerClient: 100, minPerClient: 10 })
  const releases = Array.from({ length: 10 }, (_, client) => goOn(unattended, `client ${client}`, 100))
  expect(unattended.isFull('client 0', false)).toBe(true)
  expect(unattended.isFull('other', false)).toBe(false)
  goOn(unattended, 'other', 5)
  expect(unattended.isFull('other', false)).toBe(false)
  for (const release of releases[0] ?? []) release()
  expect(unattended.isFull('client 0', false)).toBe(false)
})

test('where many clients share the places, none is refused for a few calls', () => {
  const unattended = new Unattended({ maxInAll: 1_000, minPerClient: 10 })
  for (let client = 0; client < 1_000; client += 1) goOn(unattended, `client ${client}`, 1)
  expect(unattended.isFull('client 0', false)).toBe(false)
  goOn(unattended, 'client 0', 9)
  expect(unattended.isFull('client 0', false)).toBe(false)
  goOn(unattended, 'client 0', 1)
  expect(unattended.isFull('client 0', false)).toBe(true)
})

test('a call that goes on too long is stopped once, and has given its place back by then', async () => {
  const unattended = new Unattended()
  let stops = 0
  const release = await new Promise<() => void>((resolve) => {
    const admitted = unattended.admit('a', 1, () => {
      stops += 1
      expect(unattended.count).toBe(0)
      resolve(admitted)
    })
  })
  release()
  expect(stops).toBe(1)
})

test('a process that stops waits for none longer than it may, neither for those there nor for those to come', async () => {
  const unattended = new Unattended({ stoppingMs: 1 })
  const stopped: string[] = []
  unattended.admit('a', 60_000, () => stopped.push('there'))
  unattended.admit('a', null, () => stopped.push('without an end'))
  unattended.beginStop()
  unattended.admit('a', null, () => stopped.push('to come'))
  await unattended.idle()
  expect(stopped).toEqual(['there', 'without an end', 'to come'])
})

test('with no unattended call there is nothing to wait for', async () => {
  await new Unattended().idle()
})
