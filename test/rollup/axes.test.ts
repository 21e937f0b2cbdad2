import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseAxes } from '../../src/call/axes.ts'
import type { CallRecord } from '../../src/call/call-record.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { eraseValue } from '../../src/corrections/erase-value.ts'
import { AXES_CHAPTER, listAxes } from '../../src/corrections/operations/axes.ts'
import { rebuildDay } from '../../src/corrections/rebuild.ts'
import { reprice } from '../../src/corrections/reprice.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { addDays, type UtcDay, utcDayOf } from '../../src/domain/utc-day.ts'
import { addCallDays, createCallDays } from '../../src/rollup/call-days.ts'
import { createCountingMemory } from '../../src/rollup/count-records.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import type { RollUp } from '../../src/rollup/rolled-up.ts'
import { dropCallDay } from '../../src/usage/calls/call-partitions.ts'
import { AXIS_COLUMNS } from '../../src/usage/export/export-columns.ts'
import { readLines } from '../../src/usage/export/export-rows.ts'
import { readReport } from '../../src/usage/report/read-report.ts'
import type { ReportGroup, ReportQuery } from '../../src/usage/report/report-query.ts'
import { orderTo } from '../corrections/repricing-order.ts'
import { rounds } from '../support/rounds.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from './records.ts'

const STREAM = 'test:calls'
/** Values that have totals of their own. */
const LIMIT = 3
const TODAY = utcDayOf(Date.now())
const DAYS = [addDays(TODAY, -2), addDays(TODAY, -1)] as const
const EVER = { fromDay: DAYS[0], toDay: TODAY }

let ledger: LedgerDatabase
let rollUp: RollUp

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  const { pool } = ledger
  await emptyTables(pool, [
    ...['daily_usage', 'call_rows', 'call_kinds', 'producers', 'prices', 'adjustments', 'catalogs'],
    ...['axes', 'axis_usage', 'daily_latency', 'summarised_days', 'verified_days'],
  ])
  // A test drops the calls of a day.
  await addCallDays(pool, 3)
  const callDays = createCallDays(pool, 3, quiet)
  rollUp = createRollUp({ pool, callDays, memory: createCountingMemory(LIMIT) })
})

interface Sums {
  readonly requests: number
  readonly unpriced: number
  readonly costPico: bigint
}

async function sumsBy(groupBy: readonly ReportGroup[], filters: ReportQuery['filters'] = []) {
  const query: ReportQuery = {
    ...{ period: EVER, before: null, groupBy, filters, interval: 'day', top: 50 },
    ...{ sort: 'cost', order: 'desc', search: null, limit: 1_000, after: null },
  }
  const answer = await readReport(ledger.pool, query, () => false)
  if (answer.kind === 'same') throw new Error('it is asked for the first time')
  return answer.report
}

async function byValue(axis: string): Promise<ReadonlyMap<string, Sums>> {
  const { rows } = await sumsBy([`axis:${axis}`, 'client'])
  return new Map(
    rows.map(({ names, now: { requests, unpriced, costPico } }) => [
      names.map(({ id }) => id).join(' '),
      { requests: Number(requests), unpriced: Number(unpriced), costPico },
    ]),
  )
}

/** Every axis adds up to the whole, as totals and on each day, and nothing differs from its calls. */
async function checkWhole(): Promise<void> {
  const { totals } = await sumsBy([])
  for (const axis of ['user', 'team', 'session', 'unheard-of'] as const) {
    const { rows, series } = await sumsBy([`axis:${axis}`])
    for (const field of ['requests', 'costPico', 'unpriced', 'errors', 'inputTokens', 'estimated'] as const) {
      expect(
        rows.reduce((sum, { now }) => sum + now[field], 0n),
        `${axis} ${field}`,
      ).toBe(totals.now[field])
    }
    expect(series?.other.every(({ costPico, requests }) => costPico === 0n && requests === 0n)).toBe(true)
  }
  expect(await differences()).toEqual([])
}

/** The records have a price that is not known. */
async function differences() {
  const verified = await verifyLedger(ledger.pool, '2000-01-01')
  return verified.differences.filter(({ against }) => against !== 'price')
}

const COSTS = [null, '1', '450000000'] as const
const call = fc.record({
  clientId: fc.constantFrom('cli_a', 'cli_b'),
  day: fc.constantFrom(...DAYS),
  user: fc.option(fc.constantFrom('ann', 'bob', 'cy', 'dee', 'eve', '(x) =y')),
  team: fc.option(fc.constantFrom('red', 'blue'), { freq: 2 }),
  session: fc.option(fc.constantFrom('s1', 's2')),
  costPico: fc.constantFrom(...COSTS),
  model: fc.constantFrom('our-model', 'another'),
  status: fc.constantFrom(200, 500),
})

function recordOf({ day, user, team, session, costPico, ...changes }: Drawn): CallRecord {
  const lines = [
    user === null ? [] : [`user=${user}`],
    team === null ? [] : [`team=${team}`],
    session === null ? [] : [`-session=${session}`],
  ].flat()
  const cost = changes.model === 'our-model' ? null : costPico
  return aRecord({
    ...changes,
    reportedModel: changes.model,
    requestedModel: changes.model,
    arrivedAtMs: Date.parse(`${day}T12:00:00Z`),
    costPico: cost,
    priceId: cost === null ? null : 'test#none',
    unpricedReason: cost === null ? 'no_price' : undefined,
    axes: lines.length === 0 ? undefined : lines.join('\n'),
  })
}

type Drawn = typeof call extends fc.Arbitrary<infer Value> ? Value : never

/** What a plain count of the records says of a client's values on an axis. */
function modelOf(
  records: readonly CallRecord[],
  axis: string,
  costOf: (record: CallRecord) => bigint | null,
) {
  const own = new Map<string, Set<string>>()
  const sums = new Map<string, Sums>()
  for (const record of records) {
    const said = parseAxes(record.axes).find((it) => it.axis === axis)?.value ?? '(none)'
    const day = `${record.clientId} ${utcDayOf(record.arrivedAtMs)}`
    const values = own.get(day) ?? new Set()
    own.set(day, values)
    if (said !== '(none)' && values.size < LIMIT) values.add(said)
    const value = said === '(none)' || values.has(said) ? said : '(other)'
    const before = sums.get(`${value} ${record.clientId}`)
    const cost = costOf(record)
    sums.set(`${value} ${record.clientId}`, {
      requests: (before?.requests ?? 0) + 1,
      unpriced: (before?.unpriced ?? 0) + (cost === null ? 1 : 0),
      costPico: (before?.costPico ?? 0n) + (cost ?? 0n),
    })
  }
  return sums
}

function meteredCost({ costPico }: CallRecord): bigint | null {
  return costPico === null ? null : BigInt(costPico)
}

/** As metered, but for calls that a repricing has given 100 prompt tokens and 20 generated ones at these USD a million. */
function costAt([input, output]: readonly [number, number]) {
  const pico = BigInt(100 * input + 20 * output) * 1_000_000n
  return (record: CallRecord) => (record.model === 'our-model' ? pico : meteredCost(record))
}

async function count(records: readonly CallRecord[], batches: number): Promise<void> {
  const producer = newProducer()
  const entries = records.map((record, index) => aCandidate(producer, index + 1, record))
  const size = Math.ceil(entries.length / batches)
  for (let from = 0; from < entries.length; from += size) {
    const batch = entries.slice(from, from + size)
    expect(await rollUp(STREAM, batch)).toMatchObject({ kind: 'done' })
    // A batch that comes again counts nothing.
    await rollUp(STREAM, batch)
  }
}

test.each(
  Array.from({ length: rounds({ short: 1, long: 30 }) }, (_, index) => 4_100 + index),
)('an axis has of each value what its calls add up to, through corrections: seed %i', async (seed) => {
  const drawn = fc.sample(fc.array(call, { minLength: 40, maxLength: 80 }), { numRuns: 1, seed })[0] ?? []
  const records = drawn.map(recordOf)
  const late = Math.floor(records.length / 2)
  await count(records.slice(0, late), 3)
  expect(await byValue('user')).toEqual(modelOf(records.slice(0, late), 'user', meteredCost))
  // Without totals of their own, single calls tell.
  expect(await byValue('session')).toEqual(modelOf(records.slice(0, late), 'session', meteredCost))
  await checkWhole()

  // Calls that come later have the new price too.
  await reprice(ledger.pool, orderTo('our-model', DAYS[0]))
  await count(records.slice(late), 2)
  for (const axis of ['user', 'team'])
    expect(await byValue(axis)).toEqual(modelOf(records, axis, costAt([1, 2])))
  await checkWhole()
  await reprice(ledger.pool, orderTo('our-model', DAYS[0], ['3', '4']))
  expect(await byValue('user')).toEqual(modelOf(records, 'user', costAt([3, 4])))
  await checkWhole()

  await addCredit(ledger.pool, {
    clientId: 'cli_a',
    day: DAYS[1],
    model: null,
    pico: -7n,
    who: 'ann',
    why: 'x',
  })
  const credited = modelOf(records, 'team', costAt([3, 4])).set('(corrected) cli_a', CREDIT)
  expect(await byValue('team')).toEqual(credited)
  await checkWhole()

  await ledger.pool.query(`update tallygate.axis_usage set requests = 99, adjusted_pico = 5`)
  expect(await differences()).not.toEqual([])
  for (const day of DAYS) await rebuildDay(ledger.pool, { day, who: 'ann', why: 'test' })
  expect(await byValue('team')).toEqual(credited)
  await checkWhole()

  await eraseValue(ledger.pool, 'team', 'red', null)
  const teams = [...(await byValue('team')).keys()]
  expect(teams.filter((name) => name.startsWith('red'))).toEqual([])
  expect(teams.some((name) => name.startsWith('(erased '))).toBe(true)
  const { rows } = await ledger.pool.query(`select from tallygate.calls where axes ~ 'team=red'`)
  expect(rows).toEqual([])
  await checkWhole()

  const { totals } = await sumsBy([])
  const place = (column: string) => AXIS_COLUMNS.findIndex(({ name }) => name === column)
  let exported = { requests: 0n, pico: 0n }
  const scope = { from: DAYS[0], to: TODAY, clientId: null, axis: 'team' }
  for await (const { rows: lines } of readLines(ledger.pool, scope)) {
    for (const line of lines) {
      const { requests, pico } = exported
      exported = {
        requests: requests + BigInt(line[place('requests')] ?? '0'),
        pico: pico + BigInt(line[place('cost_usd')] ?? '0'),
      }
    }
  }
  expect(exported).toEqual({ requests: totals.now.requests, pico: totals.now.costPico })

  // What changes once the calls of a day are gone has no value.
  await dropDay(DAYS[0])
  await reprice(ledger.pool, orderTo('our-model', DAYS[0], ['5', '5']))
  await checkWhole()
})

const CREDIT: Sums = { requests: 0, unpriced: 0, costPico: -7n }

async function dropDay(day: UtcDay): Promise<void> {
  const session = await ledger.pool.connect()
  try {
    await dropCallDay(session, day)
  } finally {
    session.release()
  }
}

const erase = AXES_CHAPTER.operations.find(({ name }) => name === 'axes.erase')

test('axes that calls have values on, and those that are configured, are listed by name', async () => {
  await count([recordOf({ ...DRAWN, user: 'ann', team: 'red', session: 's1' })], 1)
  const configuredAxes = [
    { name: 'session', totals: false },
    { name: 'team', totals: true },
  ]
  expect(await listAxes.run({ pool: ledger.pool, configuredAxes } as never, {}, 'ann', {} as never)).toEqual([
    { name: 'session', totals: false },
    { name: 'team', totals: true },
    { name: 'user', totals: true },
  ])
})

test('names that totals are found by cannot be erased', async () => {
  const users = ['ann', 'bob', 'cy', 'dee', null] as const
  await count(
    users.map((user) => recordOf({ ...DRAWN, user })),
    1,
  )
  for (const value of ['(none)', '(other)', '(corrected)'])
    await expect(
      erase?.run({ pool: ledger.pool } as never, { axis: 'user', value } as never, 'ann', {} as never),
    ).rejects.toThrow('which no ( begins')
  await checkWhole()
})

const DRAWN: Drawn = {
  ...{ clientId: 'cli_a', day: DAYS[0], user: null, team: null, session: null },
  ...{ costPico: '1', model: 'another', status: 200 },
}

test('a value is erased from a job that another transaction changes meanwhile', async () => {
  const { pool } = ledger
  await pool.query(
    `insert into tallygate.objects (upstream, folded_id, id, kind, client_id, key_id, call_id, created_at, job, axes)
     values ('u', 'b', 'b', 'batch', 'cli_a', 'k', gen_random_uuid(), now(), true, 'user=ann')`,
  )
  const other = await pool.connect()
  try {
    await other.query('begin')
    await other.query('update tallygate.objects set fetch_after = now()')
    const erased = eraseValue(pool, 'user', 'ann', null)
    await expect
      .poll(async () => {
        const { rows } = await pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length
      })
      .toBeGreaterThan(0)
    await other.query('commit')
    expect(await erased).toEqual({ ids: [], calls: 1 })
  } finally {
    other.release()
  }
  const { rows } = await pool.query('select axes from tallygate.objects')
  expect(rows).toEqual([{ axes: 'user=(erased)' }])
  await pool.query('delete from tallygate.objects')
})
