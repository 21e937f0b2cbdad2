import { spawn } from 'node:child_process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { rebuildDay } from '../../src/corrections/rebuild.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { lockDays } from '../../src/store/connection/advisory-locks.ts'
import { splitDay } from '../../src/usage/calls/call-partitions.ts'
import { summarise } from '../../src/usage/summaries/summarise.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'

const TODAY = utcDayOf(Date.now())
const DAY = addDays(TODAY, -2)
/** So small that a few calls are many parts. */
const TINY = { calls: 7, rows: 3 }
const ORDER = { day: DAY, who: 'ann', why: 'test' }

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyTables(ledger.pool, [
    'daily_usage',
    'daily_latency',
    'call_rows',
    'producers',
    'prices',
    'adjustments',
    'adjustment_entries',
    'verified_days',
    'summarised_days',
    'summarised_months',
  ])
})

/** Calls of many clients and models on `DAY`. */
async function countCalls(calls: number): Promise<void> {
  const producer = newProducer()
  const batch = Array.from({ length: calls }, (_, index) =>
    aCandidate(
      producer,
      index + 1,
      aRecord({
        arrivedAtMs: Date.parse(`${DAY}T12:00:00Z`) + index,
        clientId: `cli_${index % 11}`,
        keyId: `key_${index % 5}`,
        model: `model-${index % 3}`,
        latencyUs: index * 1_000,
        costPico: null,
        priceId: null,
        unpricedReason: 'no_price',
      }),
    ),
  )
  await ledger.rollUp('test:calls', batch)
}

/** All that a rebuild may change. */
async function totals(): Promise<unknown> {
  const rows = await ledger.pool.query(
    'select * from tallygate.daily_usage order by day, client_id, key_id, model, upstream, price_id',
  )
  const latencies = await ledger.pool.query('select * from tallygate.daily_latency order by 1, 2, 3')
  return [rows.rows, latencies.rows]
}

async function falsify(): Promise<void> {
  await ledger.pool.query(`update tallygate.daily_usage set input_tokens = input_tokens + 1`)
  await ledger.pool.query(`delete from tallygate.daily_usage where client_id = 'cli_3'`)
  await ledger.pool.query(
    `update tallygate.daily_latency set buckets = buckets + 1 where client_id = 'cli_4'`,
  )
  await ledger.pool.query(
    `update tallygate.daily_latency set first_bytes = first_bytes + 1 where client_id = 'cli_5'`,
  )
}

async function audit(): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await ledger.pool.query('select * from tallygate.adjustments order by id')
  return rows
}

test('a day has as many parts as its calls or its rows need', () => {
  expect(splitDay(DAY, { calls: 0n, rows: 0n }, TINY)).toEqual([{ day: DAY, parts: 1, part: 0 }])
  expect(splitDay(DAY, { calls: 8n, rows: 0n }, TINY)).toHaveLength(2)
  expect(splitDay(DAY, { calls: 8n, rows: 10n }, TINY)).toHaveLength(4)
})

test('in parts, verify names what it names in one, and says how far it has come', async () => {
  await countCalls(200)
  await falsify()
  const whole = await verifyLedger(ledger.pool, DAY)
  const compared: number[] = []
  const inParts = await verifyLedger(ledger.pool, DAY, {
    partSize: TINY,
    onProgress: (_day, done) => compared.push(done),
  })
  const ofCalls = ({ differences }: typeof whole) => differences.filter(({ against }) => against === 'calls')
  expect(ofCalls(whole).length).toBeGreaterThan(100)
  expect(new Set(ofCalls(inParts))).toEqual(new Set(ofCalls(whole)))
  expect(inParts).toMatchObject({ rows: whole.rows, calls: 200n, daysFromCalls: whole.daysFromCalls })
  expect(compared.length).toBeGreaterThan(20)
  expect(compared).toEqual(compared.toSorted((a, b) => a - b))
  expect(compared.at(-1)).toBe(200 + whole.rows)
})

test('a rebuild in parts gives the totals of before, as one adjustment', async () => {
  await countCalls(200)
  const right = await totals()
  await falsify()
  expect(await rebuildDay(ledger.pool, ORDER, { partSize: TINY })).toMatchObject({
    kind: 'rebuilt',
    calls: 200n,
  })
  expect(await totals()).toEqual(right)
  expect(await audit()).toMatchObject([{ kind: 'rebuild', who: 'ann', scope: { day: DAY } }])
  expect(await rebuildDay(ledger.pool, ORDER, { partSize: TINY })).toEqual({ kind: 'unchanged', calls: 200n })
  expect(await audit()).toHaveLength(1)
})

test('a rebuild that kill -9 cuts leaves each part right or as it was, and another one ends it', async () => {
  await countCalls(200)
  const right = await totals()
  await falsify()
  const { rows: false0 } = await ledger.pool.query('select count(*)::int as count from tallygate.daily_usage')
  const script = `
    import { rebuildDay } from './src/corrections/rebuild.ts'
    import { openPostgres } from './src/store/connection/postgres.ts'
    const log = { info() {}, warn() {}, error() {} }
    const pool = openPostgres(process.env.URL, { max: 1, statementTimeoutMs: 9000, applicationName: 'cut', log })
    let parts = 0
    const onProgress = () => (parts += 1) === 9 && process.kill(process.pid, 'SIGKILL')
    await rebuildDay(pool, ${JSON.stringify(ORDER)}, { partSize: ${JSON.stringify(TINY)}, onProgress })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, URL: ledger.url },
    stdio: 'ignore',
  })
  expect(await new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))).toBe(
    'SIGKILL',
  )
  const { differences } = await verifyLedger(ledger.pool, DAY)
  expect(differences.length).toBeGreaterThan(0)
  expect(false0[0].count).toBeGreaterThan(0)
  const [cut] = await audit()
  expect(cut).toMatchObject({ kind: 'rebuild', who: 'ann' })

  expect(await rebuildDay(ledger.pool, ORDER, { partSize: TINY })).toMatchObject({ kind: 'rebuilt' })
  expect(await totals()).toEqual(right)
  expect(await audit()).toHaveLength(2)
})

test('roll-ups of other days go on while a part is rebuilt, and those of its day come after', async () => {
  await countCalls(60)
  const today = newProducer()
  const late = newProducer()
  const entry = (producer: string, day: string) =>
    aCandidate(producer, 1, aRecord({ arrivedAtMs: Date.parse(`${day}T12:00:00Z`) }))
  const blocker = await ledger.pool.connect()
  try {
    await blocker.query('begin')
    // What a part of a rebuild holds.
    await lockDays(blocker, [DAY])
    expect(await ledger.rollUp('test:today', [entry(today, TODAY)])).toMatchObject({ kind: 'done' })
    expect(await ledger.rollUp('test:late', [entry(late, DAY)])).toMatchObject({ kind: 'busy' })
  } finally {
    await blocker.query('rollback')
    blocker.release()
  }
  expect(await ledger.rollUp('test:late', [entry(late, DAY)])).toMatchObject({ kind: 'done' })
})

test('what was found right is not looked at again until something is written to its day', async () => {
  await countCalls(50)
  await ledger.pool.query(
    `insert into tallygate.prices (price_id, definition) values ('x', '{}') on conflict do nothing`,
  )
  await summarise(ledger.pool, 30_000)
  const check = async () => {
    const { unchangedDays, ...others } = await verifyLedger(ledger.pool, DAY, { changedOnly: true })
    // Days without calls are right, too.
    return { ...others, unchangedDays: unchangedDays.filter((day) => day === DAY) }
  }
  expect(await check()).toMatchObject({ unchangedDays: [], calls: 50n, differences: [] })
  expect(await check()).toMatchObject({ unchangedDays: [DAY], calls: 0n })
  // All of it on demand.
  expect(await verifyLedger(ledger.pool, DAY)).toMatchObject({ unchangedDays: [], calls: 50n })

  await countCalls(10)
  expect(await check()).toMatchObject({ unchangedDays: [], calls: 60n })
  // Not summed up again yet: nothing says what was verified.
  expect(await check()).toMatchObject({ unchangedDays: [], calls: 60n })
  await summarise(ledger.pool, 30_000)
  await check()
  expect(await check()).toMatchObject({ unchangedDays: [DAY] })

  // What went round our writers is found within a week.
  await ledger.pool.query(
    `update tallygate.daily_usage set requests = requests + 1 where client_id = 'cli_1'`,
  )
  expect(await check()).toMatchObject({ unchangedDays: [DAY], differences: [] })
  await ledger.pool.query(`update tallygate.verified_days set verified_at = now() - interval '8 days'`)
  expect((await check()).differences.length).toBeGreaterThan(0)
})
