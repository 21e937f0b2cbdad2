import { expect, test } from 'vitest'
import { FairQueue } from '../../src/lib/fair-queue.ts'

function queueOf(items: readonly (readonly [clientId: string, item: string])[]): FairQueue<string> {
  const queue = new FairQueue<string>()
  for (const [clientId, item] of items) queue.push(clientId, item, item.length)
  return queue
}

function drain(queue: FairQueue<string>): string[] {
  const items: string[] = []
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item)
  return items
}

test('clients are served in turn, each in the order of its own', () => {
  const queue = queueOf([
    ['a', 'a1'],
    ['a', 'a2'],
    ['a', 'a3'],
    ['b', 'b1'],
    ['c', 'c1'],
    ['c', 'c2'],
  ])
  expect(queue.shift()).toBe('a1')
  queue.push('d', 'd1', 2)
  queue.push('b', 'b2', 2)
  expect(drain(queue)).toEqual(['b1', 'c1', 'a2', 'd1', 'b2', 'c2', 'a3'])
  expect([queue.length, queue.bytes]).toEqual([0, 0])
})

test('what waits is given in items and bytes, of one client and of all', () => {
  const queue = queueOf([
    ['a', 'four'],
    ['b', 'sixsix'],
    ['a', 'x'],
  ])
  expect([queue.length, queue.bytes]).toEqual([3, 11])
  expect(queue.waitingOf('a')).toEqual({ length: 2, bytes: 5 })
  expect(queue.waitingOf('nobody')).toEqual({ length: 0, bytes: 0 })
  queue.shift()
  expect([queue.length, queue.bytes]).toEqual([2, 7])
})

test('the newest goes first from the client with most, in items or in bytes', () => {
  const queue = queueOf([
    ['many', 'm1'],
    ['large', 'l1 is long'],
    ['many', 'm2'],
    ['many', 'm3'],
    ['large', 'l2 is long'],
  ])
  expect([queue.popFromLongest(), queue.popFromLargest(), queue.popFromLargest()]).toEqual([
    'm3',
    'l2 is long',
    'l1 is long',
  ])
  expect(drain(queue)).toEqual(['m1', 'm2'])
  expect([queue.popFromLongest(), queue.popFromLargest(), queue.length, queue.bytes]).toEqual([
    undefined,
    undefined,
    0,
    0,
  ])
})
