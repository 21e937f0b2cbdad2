import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { selectRequestProof } from '../../src/corrections/verify-part.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { readCommittedOffsets } from '../../src/store/ledger/committed-offsets.ts'
import { FOLD_DAYS, foldProducers } from '../../src/store/ledger/folded-producers.ts'
import { selectLedgerStatus } from '../../src/store/ledger/ledger-status.ts'
import { run } from '../cli/command-line.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, newProducer } from '../rollup/records.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(() =>
  emptyTables(ledger.pool, [
    'daily_usage',
    'call_rows',
    'producers',
    'folded_sums',
    'folded_producers',
    'ledger_gaps',
  ]),
)

/** Counts so many calls of a new producer, which has not moved for so many days since. */
async function counted(calls: number, daysAgo: number, stream = 'calls'): Promise<string> {
  const producer = newProducer()
  await ledger.rollUp(
    stream,
    Array.from({ length: calls }, (_, at) => aCandidate(producer, at + 1)),
  )
  await ledger.pool.query(
    `update tallygate.producers set moved_at = now() - make_interval(days => $2) where id = $1`,
    [producer, daysAgo],
  )
  return producer
}

const proof = async () => {
  const { counted: byOffsets, totals } = await selectRequestProof(ledger.pool)
  return [Number(byOffsets), Number(totals)]
}
const rows = async (table: string) =>
  (await ledger.pool.query(`select * from tallygate.${table} order by 1`)).rows

test('producers of long ago become one row a stream, and the books stay whole', async () => {
  const old = [await counted(2, FOLD_DAYS + 1), await counted(3, FOLD_DAYS + 30)]
  await counted(1, FOLD_DAYS + 1, 'calls:1')
  const young = await counted(4, FOLD_DAYS - 1)
  expect(await foldProducers(ledger.pool, FOLD_DAYS)).toBe(3)
  expect(await rows('producers')).toMatchObject([{ id: young }])
  expect(await rows('folded_sums')).toMatchObject([
    { stream: 'calls', producers: '2', committed: '5' },
    { stream: 'calls:1', producers: '1', committed: '1' },
  ])
  expect(await proof()).toEqual([10, 10])
  expect((await selectLedgerStatus(ledger.pool)).producerCount).toBe(4)
  expect(await readCommittedOffsets(ledger.pool, [...old, young, 'odd'])).toEqual(
    new Map([
      [old[0], 2],
      [old[1], 3],
      [young, 4],
    ]),
  )
  expect(await foldProducers(ledger.pool, 1)).toBe(0)
})

test('a journal that turns up after its producer was folded is counted from where it was, each record once', async () => {
  const producer = await counted(2, FOLD_DAYS + 1)
  await counted(7, FOLD_DAYS + 1)
  await foldProducers(ledger.pool, FOLD_DAYS)
  await ledger.rollUp(
    'calls',
    [1, 2, 3].map((sequence) => aCandidate(producer, sequence)),
  )
  expect(await ledger.committedOffset(producer)).toBe(3)
  expect(await rows('folded_sums')).toMatchObject([{ producers: '1', committed: '7' }])
  expect(await rows('folded_producers')).toHaveLength(1)
  expect((await ledger.counts()).requests).toBe(10)
  expect(await proof()).toEqual([10, 10])
  await ledger.pool.query(`update tallygate.producers set moved_at = now() - interval '99 days'`)
  expect(await foldProducers(ledger.pool, FOLD_DAYS)).toBe(1)
  expect(await rows('folded_sums')).toMatchObject([{ producers: '2', committed: '10' }])
})

test('a journal that turns up while its producer is being folded is counted once', async () => {
  const producer = await counted(2, FOLD_DAYS + 1)
  const session = await ledger.pool.connect()
  try {
    await session.query('begin')
    expect(await foldProducers(session as unknown as Postgres, FOLD_DAYS)).toBe(1)
    const rolledUp = ledger.rollUp(
      'calls',
      [1, 2, 3].map((sequence) => aCandidate(producer, sequence)),
    )
    await expect
      .poll(async () => {
        const { rowCount } = await ledger.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rowCount
      })
      .toBe(1)
    await session.query('commit')
    await rolledUp
  } finally {
    session.release()
  }
  expect(await ledger.committedOffset(producer)).toBe(3)
  expect((await ledger.counts()).requests).toBe(3)
  expect(await proof()).toEqual([3, 3])
})

test('producers prune says how many it folded', async () => {
  await counted(1, FOLD_DAYS + 1)
  const env = { DATABASE_URL: ledger.url }
  expect(await run(env, 'producers', 'prune')).toMatchObject({
    code: 0,
    out: `Folded 1 producers that have not moved for ${FOLD_DAYS} days.\n`,
  })
  expect((await run(env, 'producers', 'prune')).out).toBe(`No producer has rested for ${FOLD_DAYS} days.\n`)
})
