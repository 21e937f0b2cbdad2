import { expect, test } from 'vitest'
import { SentIds } from '../../../src/ledger/shipping/sent-ids.ts'

test('an entry is found by its sequence, a gap marker by any that it stands for', () => {
  const ids = new SentIds()
  ids.add(1, 'a')
  ids.add(5, 'void')
  ids.add(6, 'b')
  expect([1, 2, 5, 6, 7].map((sequence) => ids.find(sequence))).toEqual([
    { sequence: 1, id: 'a' },
    { sequence: 5, id: 'void' },
    { sequence: 5, id: 'void' },
    { sequence: 6, id: 'b' },
    null,
  ])
})

test('what is committed is dropped, what follows is still found, over many thousands', () => {
  const ids = new SentIds()
  for (let sequence = 1; sequence <= 50_000; sequence++) {
    ids.add(sequence, `${sequence}-0`)
    if (sequence > 100) ids.dropThrough(sequence - 100)
    expect(ids.find(Math.max(sequence - 50, 1))?.id).toBe(`${Math.max(sequence - 50, 1)}-0`)
  }
  ids.clear()
  expect(ids.find(50_000)).toBeNull()
})
