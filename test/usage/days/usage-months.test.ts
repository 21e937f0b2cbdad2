import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { addUsageMonths, ensureUsageMonths } from '../../../src/usage/days/usage-days.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(() => emptyTables(ledger.pool, ['daily_usage', 'daily_latency', 'call_rows']))

async function rollUpOn(days: readonly string[], shard = 'test:calls') {
  const producer = newProducer()
  const batch = days.map((day, index) =>
    aCandidate(producer, index + 1, aRecord({ arrivedAtMs: Date.parse(`${day}T12:00:00Z`) })),
  )
  return await ledger.rollUp(shard, batch)
}

async function monthsOf(table: string): Promise<readonly string[]> {
  const { rows } = await ledger.pool.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass order by 1`,
    [`tallygate.${table}`],
  )
  return rows.map(({ name }) => name.slice(-6))
}

test('calls of any day are counted, however late their journal or wrong its clock', async () => {
  const days = ['1970-01-01', '2001-02-28', '2024-02-29', '2024-03-01', '2099-12-31', '9999-12-31']
  expect(await rollUpOn(days)).toMatchObject({ kind: 'done', counted: days.length, deadLetters: 0 })
  const { rows } = await ledger.pool.query(
    'select day, requests::int, (select count(*)::int from tallygate.daily_latency l where l.day = u.day) as latencies from tallygate.daily_usage u order by day',
  )
  expect(rows).toEqual(days.map((day) => ({ day, requests: 1, latencies: 1 })))
  expect(await monthsOf('daily_latency')).toEqual(await monthsOf('daily_usage'))
})

test('this month and the next have partitions before anything is counted, and making them again changes nothing', async () => {
  const monthsFrom = (at: string) =>
    ledger.pool.query<{ name: string }>(
      `select to_char(${at} at time zone 'UTC' + ahead, 'YYYYMM') as name
     from unnest(array['0 months', '1 month']::interval[]) ahead`,
    )
  // The migration's clock need not be the one that the test runs by.
  const { rows: migrated } = await monthsFrom('(select max(run_on)::timestamptz from tallygate.migrations)')
  expect(await monthsOf('daily_usage')).toEqual(expect.arrayContaining(migrated.map(({ name }) => name)))
  await addUsageMonths(ledger.pool)
  const before = await monthsOf('daily_usage')
  const { rows: now } = await monthsFrom('now()')
  expect(before).toEqual(expect.arrayContaining(now.map(({ name }) => name)))
  await Promise.all([addUsageMonths(ledger.pool), addUsageMonths(ledger.pool)])
  expect(await monthsOf('daily_usage')).toEqual(before)
})

test('workers that need the same month at once make it once, and all count', async () => {
  const shards = Array.from({ length: 6 }, (_, shard) => `test:${shard}`)
  const done = await Promise.all(shards.map((shard) => rollUpOn(['2012-06-01', '2013-07-02'], shard)))
  for (const one of done) expect(one).toMatchObject({ kind: 'done', counted: 2, deadLetters: 0 })
  const { rows } = await ledger.pool.query('select sum(requests)::int as requests from tallygate.daily_usage')
  expect(rows).toEqual([{ requests: 12 }])
})

test('while a month is being made, the calls of others are counted', async () => {
  const today = new Date().toISOString().slice(0, 10)
  await inTransaction(ledger.pool, async (session) => {
    await ensureUsageMonths(session, ['2015-05-05'])
    expect(await rollUpOn([today])).toMatchObject({ kind: 'done', counted: 1 })
  })
  expect(await monthsOf('daily_usage')).toContain('201505')
})

test('a month that a restored database has no more is made again', async () => {
  await rollUpOn(['2016-06-06'])
  await ledger.pool.query('drop table tallygate.daily_usage_201606, tallygate.daily_latency_201606')
  expect(await rollUpOn(['2016-06-07'])).toMatchObject({ kind: 'done', counted: 1, deadLetters: 0 })
  await ledger.pool.query('drop table tallygate.daily_latency_201606')
  expect(await rollUpOn(['2016-06-08'])).toMatchObject({ kind: 'done', counted: 1, deadLetters: 0 })
})

test('a transaction that is rolled back leaves no month behind, and the next one makes it', async () => {
  const rolledBack = inTransaction(ledger.pool, async (session) => {
    await ensureUsageMonths(session, ['2017-07-07'])
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  expect(await monthsOf('daily_usage')).not.toContain('201707')
  expect(await rollUpOn(['2017-07-07'])).toMatchObject({ kind: 'done', counted: 1 })
})
