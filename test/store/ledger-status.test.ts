import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'
import { readCommittedOffsets, readGaps } from '../../src/store/ledger/committed-offsets.ts'
import { readDatabaseId, registerStream, selectStreams } from '../../src/store/ledger/ledger-database.ts'
import { selectLedgerStatus } from '../../src/store/ledger/ledger-status.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aForeignEntry, aGapMarker, newProducer } from '../rollup/records.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/servers/database.ts'

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase(1)
})
afterAll(() => ledger.drop())

test('committed offsets, gaps, streams and what could not be counted are reported as they were committed', async () => {
  const [one, two] = [newProducer(), newProducer()]
  await registerStream(ledger.pool, 'b')
  await registerStream(ledger.pool, 'a')
  await registerStream(ledger.pool, 'a')
  await ledger.rollUp('a', [
    aCandidate(one, 1),
    aGapMarker(one, 2, 6),
    aCandidate(one, 7),
    aForeignEntry(one, 8),
  ])
  await ledger.rollUp('a', [aCandidate(one, 4)])
  await ledger.rollUp('b', [aCandidate(two, 1)])

  expect(await selectStreams(ledger.pool)).toEqual(['a', 'b'])
  expect(await readCommittedOffsets(ledger.pool, [one, two, newProducer()])).toEqual(
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
  expect(status.producers.map(({ producer, committedOffset }) => [producer, committedOffset])).toEqual([
    [two, 1],
    [one, 8],
  ])
  expect(status.gaps).toMatchObject([
    { producer: one, from: 2, to: 3, reason: 'journal_pruned' },
    { producer: one, from: 5, to: 6, reason: 'journal_pruned' },
  ])
})

test('copies of a database have its identity, a new one has another', async () => {
  const log = { info() {}, warn() {}, error() {} }
  const identityOf = async ({ url, drop }: TestDatabase): Promise<string | null> => {
    const pool = openPostgres(url, { max: 1, statementTimeoutMs: 5_000, applicationName: 'test', log })
    try {
      return await readDatabaseId(pool)
    } finally {
      await pool.end()
      await drop()
    }
  }
  const second = await createEmptyDatabase()
  await migrate(second.url, log)
  const identity = await readDatabaseId(ledger.pool)
  expect(identity).toMatch(/^\d{10}\.\d{6}$/)
  expect(await identityOf(await createTestDatabase())).toBe(identity)
  expect(await identityOf(second)).not.toBe(identity)
})
