import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  readGaps,
  readMarks,
  registerStream,
  selectLedgerStatus,
  selectStreams,
} from '../../src/store/ledger-state.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../workers/ledger-database.ts'
import { aCandidate, aStranger, aVoid, newProducer } from '../workers/records.ts'

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase(1)
})
afterAll(() => ledger.drop())

test('marks, gaps, streams and what could not be counted are told as they were committed', async () => {
  const [one, two] = [newProducer(), newProducer()]
  await registerStream(ledger.pool, 'b')
  await registerStream(ledger.pool, 'a')
  await registerStream(ledger.pool, 'a')
  await ledger.rollUp('a', [aCandidate(one, 1), aVoid(one, 2, 6), aCandidate(one, 7), aStranger(one, 8)])
  await ledger.rollUp('a', [aCandidate(one, 4)])
  await ledger.rollUp('b', [aCandidate(two, 1)])

  expect(await selectStreams(ledger.pool)).toEqual(['a', 'b'])
  expect(await readMarks(ledger.pool, [one, two, newProducer()])).toEqual(
    new Map([
      [one, 8],
      [two, 1],
    ]),
  )
  expect(await readGaps(ledger.pool, one)).toEqual([
    { from: 2, to: 3 },
    { from: 5, to: 6 },
  ])
  expect(await readGaps(ledger.pool, two)).toEqual([])
  const status = await selectLedgerStatus(ledger.pool)
  expect(status).toMatchObject({
    streams: ['a', 'b'],
    producerCount: 2,
    gapCount: 2,
    missingRecords: 4n,
    deadLetters: 1,
  })
  expect(status.producers.map(({ producer, mark }) => [producer, mark])).toEqual([
    [two, 1],
    [one, 8],
  ])
  expect(status.gaps).toMatchObject([
    { producer: one, from: 2, to: 3, reason: 'journal_pruned' },
    { producer: one, from: 5, to: 6, reason: 'journal_pruned' },
  ])
})
