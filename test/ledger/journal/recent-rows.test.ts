import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { JournalRow } from '../../../src/ledger/journal/journal.ts'
import { RecentRows } from '../../../src/ledger/journal/segments/log-records.ts'

const row = (sequence: number, body = 'x') => ({ sequence, bytesTotal: sequence, body })
const sequences = (rows: readonly { sequence: number }[]) => rows.map(({ sequence }) => sequence)

test('rows are given from the one asked for, to the limits', () => {
  const recent = new RecentRows()
  for (let sequence = 5; sequence <= 20; sequence++) recent.add(row(sequence, 'x'.repeat(10)))
  expect(sequences(recent.after(4, 3, 1_000))).toEqual([5, 6, 7])
  expect(sequences(recent.after(18, 10, 1_000))).toEqual([19, 20])
  expect(sequences(recent.after(10, 10, 25))).toEqual([11, 12])
  expect(sequences(recent.after(10, 10, 1))).toEqual([11])
  expect(recent.after(20, 10, 1_000)).toEqual([])
})

test('nothing is given when the first row asked for is not here', () => {
  const recent = new RecentRows()
  expect(recent.after(0, 10, 1_000)).toEqual([])
  for (let sequence = 5; sequence <= 20; sequence++) recent.add(row(sequence))
  expect(recent.after(3, 10, 1_000)).toEqual([])
  recent.dropThrough(10)
  expect(recent.after(9, 10, 1_000)).toEqual([])
  expect(sequences(recent.after(10, 2, 1_000))).toEqual([11, 12])
})

test('memory is bounded: the oldest rows go first', () => {
  const recent = new RecentRows()
  const body = 'x'.repeat(100_000)
  for (let sequence = 1; sequence <= 1_000; sequence++) recent.add(row(sequence, body))
  expect(recent.after(900, 1, 1_000_000)).toEqual([])
  expect(sequences(recent.after(990, 100, 10_000_000))).toHaveLength(10)
})

test('a row that was dropped is held no longer, although later ones still are', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const recent = new RecentRows()
  const held: WeakRef<JournalRow>[] = []
  for (let sequence = 1; sequence <= 20; sequence++) {
    const added = row(sequence)
    held.push(new WeakRef(added))
    recent.add(added)
  }
  recent.dropThrough(15)
  // A weak reference keeps its row until the turn in which it was made is over.
  await nextTurn()
  collectGarbage()
  const alive = held.flatMap((reference) => reference.deref() ?? [])
  expect(sequences(alive)).toEqual([16, 17, 18, 19, 20])
  expect(sequences(recent.after(15, 10, 1_000))).toEqual([16, 17, 18, 19, 20])
})
