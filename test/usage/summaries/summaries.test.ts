import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import type { UsageGroup } from '../../../src/usage/dimensions.ts'
import { selectModelsInUse } from '../../../src/usage/operations/price-checks.ts'
import { type GroupedScope, selectUsageSummary } from '../../../src/usage/query/select-usage.ts'
import { USAGE_GROUPS } from '../../../src/usage/query/usage-query.ts'
import { closeDay, closeMonth, summarise } from '../../../src/usage/summaries/summarise.ts'
import { ALL_REQUESTS } from '../../../src/usage/summaries/summarised.ts'
import { selectSummaryDifferences } from '../../../src/usage/summaries/summary-differences.ts'
import { selectUnpricedUse } from '../../../src/usage/unpriced-use.ts'
import { type LedgerDatabase, NO_LIMIT_MS, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'
import { rounds } from '../../support/rounds.ts'
import { openTestPool } from '../../support/servers/database.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'
import { emptyUsage } from './empty-usage.ts'
import { selectPlainUsage } from './plain-usage.ts'
import { addRecords, client, DAYS, day, FIRST_DAY, record, step, take } from './random-usage.ts'

/** Fixed in the usual run; another one repeats a failure or looks further. */
const SEED = Number(process.env.SUMMARIES_SEED ?? 4_711)
const RUNS = rounds({ short: 2, long: 12 })
/** Of a seed that is given a smaller failure is looked for: that takes minutes, and goes on when its test has timed out. */
const endOnFailure = process.env.SUMMARIES_SEED === undefined

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 0)`)
  await ledger.pool.query(
    `insert into tallygate.prices (price_id, definition) values ('in part', '{"unpriced": ["images"]}'), ('whole', '{}')`,
  )
})
afterAll(() => ledger.drop())
beforeEach(() => emptyUsage(ledger.pool))

const add = (records: readonly CallRecord[]) => addRecords(ledger, records)

const scope: fc.Arbitrary<GroupedScope> = fc
  .record({
    clientId: fc.option(client),
    one: day,
    other: day,
    groupBy: fc.uniqueArray(fc.constantFrom<UsageGroup>(...USAGE_GROUPS), { maxLength: 3 }),
  })
  .map(({ one, other, ...rest }) => ({
    ...rest,
    fromDay: one < other ? one : other,
    toDay: one < other ? other : one,
  }))

async function expectRight(scopes: readonly GroupedScope[]): Promise<void> {
  for (const scope of scopes) {
    expect(await selectUsageSummary(ledger.pool, scope), JSON.stringify(scope)).toEqual(
      await selectPlainUsage(ledger.pool, scope),
    )
  }
}

const EVERYTHING = { clientId: null, fromDay: FIRST_DAY, toDay: addDays(FIRST_DAY, DAYS - 1) }

test('answers are those of daily_usage, whatever is summed up and written in between', async () => {
  let fromSums = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.array(scope, { minLength: 1, maxLength: 4 })), {
        minLength: 2,
        maxLength: 8,
      }),
      async (steps) => {
        await emptyUsage(ledger.pool)
        for (const [step, scopes] of steps) {
          await take(ledger, step)
          await expectRight([
            ...scopes,
            { ...EVERYTHING, groupBy: [] },
            { ...EVERYTHING, groupBy: ['client', 'key', 'model'] },
          ])
        }
        const { rows } = await ledger.pool.query(
          'select count(*) from tallygate.summarised_days where closed_at is not null',
        )
        fromSums += Number(rows[0].count)
      },
    ),
    { seed: SEED, numRuns: RUNS, endOnFailure },
  )
  expect(fromSums).toBeGreaterThan(0)
})

test('a day that is written again is read from daily_usage until it is summed up again', async () => {
  const one = aRecord({ arrivedAtMs: Date.parse('2026-02-10T12:00:00Z') })
  await add([one])
  expect(await summarise(ledger.pool, NO_LIMIT_MS)).toMatchObject({ months: ['2026-02-01'] })
  await add([{ ...one, callId: aRecord().callId, model: 'another' }])
  const { rows } = await ledger.pool.query(
    `select (select count(*) from tallygate.summarised_days where day = '2026-02-10') as days,
       (select count(*) from tallygate.summarised_months) as months`,
  )
  expect(rows).toEqual([{ days: '0', months: '0' }])
  await expectRight([{ ...EVERYTHING, groupBy: ['model'] }])
  expect(await summarise(ledger.pool, NO_LIMIT_MS)).toMatchObject({
    days: ['2026-02-10'],
    months: ['2026-02-01'],
  })
  await expectRight([{ ...EVERYTHING, groupBy: ['model'] }])
})

test('a definition that comes after the day was summed up says which of its calls were priced in part', async () => {
  const arrivedAtMs = Date.parse('2026-02-10T12:00:00Z')
  await add([aRecord({ arrivedAtMs, priceId: 'late' })])
  await summarise(ledger.pool, NO_LIMIT_MS)
  const byModel = { ...EVERYTHING, groupBy: ['model' as const] }
  expect(await selectUsageSummary(ledger.pool, byModel)).toMatchObject([{ partlyUnpriced: 0n }])
  await add([
    aRecord({
      arrivedAtMs: Date.parse('2026-03-01T12:00:00Z'),
      priceId: 'late',
      price: '{"unpriced":["images"]}',
    }),
  ])
  expect(await selectUsageSummary(ledger.pool, { ...byModel, toDay: '2026-02-28' })).toMatchObject([
    { partlyUnpriced: 1n },
  ])
})

test('today is not summed up, nor yesterday until half an hour after its end', async () => {
  await add([aRecord()])
  const { rows } = await ledger.pool.query(
    `select (now() at time zone 'UTC' - interval '30 minutes')::date::text as after_last`,
  )
  const { days } = await summarise(ledger.pool, NO_LIMIT_MS)
  expect(days.every((day) => day < rows[0].after_last)).toBe(true)
})

test('a day or month whose sums take longer than other statements may is summed up all the same', async () => {
  await add([aRecord({ arrivedAtMs: Date.parse('2026-02-10T12:00:00Z') })])
  await ledger.pool.query(
    `create function tallygate.be_slow() returns trigger language plpgsql as
     $$ begin perform pg_sleep(0.5); return null; end $$`,
  )
  for (const table of ['usage_days_by_key', 'usage_months_by_key'])
    await ledger.pool.query(
      `create trigger slow after insert on tallygate.${table} execute function tallygate.be_slow()`,
    )
  const impatient = openTestPool(ledger.url, { statementTimeoutMs: 300 })
  try {
    expect(await closeDay(impatient, '2026-02-10')).toBe(true)
    await ledger.pool.query(
      `insert into tallygate.summarised_days (day, closed_at, unpriced_rows, form)
       select day, now(), 0, 2 from generate_series('2026-02-01'::date, '2026-02-28', '1 day') day on conflict do nothing`,
    )
    expect(await closeMonth(impatient, '2026-02-01')).toBe(true)
  } finally {
    await impatient.end()
    await ledger.pool.query('drop function tallygate.be_slow() cascade')
  }
})

test('sums that are not those of their rows are named, with what they should be', async () => {
  await add([aRecord({ arrivedAtMs: Date.parse('2026-02-28T12:00:00Z') })])
  await summarise(ledger.pool, NO_LIMIT_MS)
  const differences = () =>
    inTransaction(ledger.pool, (session) => selectSummaryDifferences(session, '2026-02-28'))
  expect(await differences()).toEqual([])
  await ledger.pool.query('update tallygate.usage_days_by_client set input_tokens = 99')
  await ledger.pool.query('delete from tallygate.usage_months_by_key_model')
  expect(await differences()).toContainEqual({
    table: 'usage_days_by_client',
    day: '2026-02-28',
    key: { client_id: 'cli_a' },
    column: 'input_tokens',
    stored: '99',
    recomputed: '100',
  })
  expect(await differences()).toContainEqual({
    table: 'usage_months_by_key_model',
    day: '2026-02-01',
    key: { client_id: 'cli_a', key_id: 'key_a', model: 'gpt-4o-2024-08-06' },
    column: 'requests',
    stored: null,
    recomputed: '1',
  })
})

test('rows without a cost that are not those of the day are named', async () => {
  await add([aRecord({ arrivedAtMs: Date.parse('2026-03-05T12:00:00Z'), costPico: null, priceId: null })])
  await summarise(ledger.pool, NO_LIMIT_MS)
  const differences = () =>
    inTransaction(ledger.pool, (session) => selectSummaryDifferences(session, '2026-03-05'))
  expect(await differences()).toEqual([])
  await ledger.pool.query('update tallygate.usage_days_unpriced set output_tokens = 7')
  expect(await differences()).toEqual([
    {
      table: 'usage_days_unpriced',
      day: '2026-03-05',
      key: expect.objectContaining({ client_id: 'cli_a', day: '2026-03-05', price_id: '' }),
      column: 'output_tokens',
      stored: '7',
      recomputed: '20',
    },
  ])
  await ledger.pool.query('delete from tallygate.usage_days_unpriced')
  expect((await differences()).map(({ stored }) => stored)).toContain(null)
})

test('a day that a release without rows of unpriced calls has summed up is open until it is done again', async () => {
  const day = addDays(utcDayOf(Date.now()), -3)
  const arrivedAtMs = Date.parse(`${day}T12:00:00Z`)
  await add([aRecord({ arrivedAtMs, costPico: null, priceId: null })])
  await summarise(ledger.pool, NO_LIMIT_MS)
  const before = await selectUnpricedUse(ledger.pool, day)
  expect(before.map(({ calls }) => calls)).toEqual([1n])
  // As that release leaves it.
  await emptyTables(ledger.pool, ['usage_days_unpriced'])
  await ledger.pool.query('update tallygate.summarised_days set unpriced_rows = null where day = $1', [day])
  expect(await selectUnpricedUse(ledger.pool, day)).toEqual(before)
  expect((await summarise(ledger.pool, NO_LIMIT_MS)).days).toEqual([day])
  expect(await selectUnpricedUse(ledger.pool, day)).toEqual(before)
})

test('what has no cost, the models in use and all requests are the same from sums as from rows', async () => {
  const kept = await openLedgerDatabase(10)
  const today = utcDayOf(Date.now())
  const lately = fc
    .integer({ min: 0, max: 40 })
    .map((days) => Date.parse(`${addDays(today, -days)}T00:00:01Z`))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(record, lately), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 0, max: 40 }),
      async (drawn, days) => {
        await emptyUsage(kept.pool)
        await emptyTables(kept.pool, ['call_rows'])
        const producer = newProducer()
        const records = drawn.map(([record, arrivedAtMs]) => ({
          ...record,
          arrivedAtMs,
          callId: aRecord().callId,
        }))
        await kept.rollUp(
          'test',
          records.map((record, index) => aCandidate(producer, index + 1, record)),
        )
        const fromDay = addDays(today, -days)
        const ask = async () => [
          await selectUnpricedUse(kept.pool, fromDay),
          await selectUnpricedUse(kept.pool, fromDay, 4n),
          await selectModelsInUse(kept.pool, fromDay),
          (await kept.pool.query(`select ${ALL_REQUESTS} as requests`)).rows,
        ]
        const fromRows = await ask()
        expect(fromRows[3]).toEqual([{ requests: `${records.length}` }])
        await summarise(kept.pool, NO_LIMIT_MS)
        expect(await ask()).toEqual(fromRows)
        // A day of the sums is written again.
        await kept.rollUp('test', [
          aCandidate(
            newProducer(),
            1,
            aRecord({ arrivedAtMs: records[0]?.arrivedAtMs ?? 0, costPico: null, priceId: null }),
          ),
        ])
        const afterwards = await ask()
        await emptyTables(kept.pool, ['summarised_days', 'summarised_months'])
        expect(await ask()).toEqual(afterwards)
      },
    ),
    { seed: SEED, numRuns: RUNS, endOnFailure },
  )
  await kept.drop()
})
