import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord, JobUse } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { rebuildDay } from '../../src/corrections/rebuild.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { parseRecord, serialiseRecord } from '../../src/ledger/entry.ts'
import { buildLinearPrice } from '../../src/pricing/price.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createCountingMemory } from '../../src/rollup/count-records.ts'
import { createModelLimit } from '../../src/rollup/model-limit.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import type { RollUp } from '../../src/rollup/rolled-up.ts'
import { inTransaction, type Postgres } from '../../src/store/connection/postgres.ts'
import { pruneResponses } from '../../src/usage/calls/response-collisions.ts'
import { selectUnpricedUse } from '../../src/usage/unpriced-use.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from './records.ts'

const DAY_MS = 86_400_000
const NOW = Date.now()
const YESTERDAY = utcDayOf(NOW - DAY_MS)
const TODAY = utcDayOf(NOW)
/** It has a fee by the request, which a job has too. */
const PRICE = buildLinearPrice({
  basis: 'linear',
  source: 'test',
  provider: 'openai',
  model: 'gpt-4o',
  from: null,
  context: null,
  hours: null,
  serviceTier: 'batch',
  serviceTierPriced: true,
  factor: '1',
  variant: null,
  rates: { input: 3_000_000n, output: 5_000_000n, request: 50_000_000n },
})
/** Of 100 and 20 tokens, as `aRecord` has them. */
const COST = 450_000_000
const PRICED = { priceId: PRICE.id, costPico: `${COST}`, price: PRICE.json }

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
    'responses_seen',
    'objects',
    'adjustments',
    'adjustment_entries',
    'repricing_rules',
    'prices',
    'axes',
    'axis_usage',
  ])
})

/** The call that submits a job: unpriced until the job tells what it used. */
function submitting(id: string, changes: Partial<CallRecord> = {}): CallRecord {
  return aRecord({
    arrivedAtMs: NOW - DAY_MS,
    path: '/v1/batches',
    requestedModel: null,
    reportedModel: null,
    model: '(none)',
    usageSource: 'none',
    usage: NO_USAGE,
    usageRaw: null,
    costPico: null,
    priceId: null,
    unpricedReason: 'billed_later',
    responseId: id,
    responseUse: 'created',
    objects: [{ id, kind: 'batch', is: 'created', job: true }],
    ...changes,
  })
}

/** Another client's call that tells what the job used. */
function fetching(id: string, changes: Partial<CallRecord> = {}): CallRecord {
  return aRecord({
    arrivedAtMs: NOW,
    clientId: 'cli_b',
    keyId: 'key_b',
    method: 'GET',
    path: `/v1/batches/${id}`,
    requestedModel: null,
    responseId: id,
    responseUse: 'fetched',
    ...PRICED,
    ...changes,
  })
}

/** What a call tells of one model in a job. */
function use(id: string, changes: Partial<JobUse> = {}): JobUse {
  return {
    id,
    reportedModel: 'gpt-4o-2024-08-06',
    model: 'gpt-4o-2024-08-06',
    usageSource: 'reported',
    usage: { ...NO_USAGE, inputTokens: 100, outputTokens: 20 },
    units: NO_UNITS,
    usageRaw: null,
    ...PRICED,
    ...changes,
  }
}

/** A call that tells of several jobs, or of one by several models: a list, a file. */
function reporting(jobs: readonly JobUse[], changes: Partial<CallRecord> = {}): CallRecord {
  return fetching('', {
    path: '/v1/batches',
    responseId: null,
    responseUse: undefined,
    usageSource: 'none',
    usage: NO_USAGE,
    usageRaw: null,
    costPico: '0',
    priceId: null,
    jobs,
    ...changes,
  })
}

async function rollUp(records: readonly CallRecord[], by: RollUp = ledger.rollUp, shard = 'test:calls') {
  const producer = newProducer()
  const batch = records.map((record, index) => aCandidate(producer, index + 1, record))
  await by(shard, batch)
  return batch
}

async function totals() {
  const { rows } = await ledger.pool.query(
    `select day, client_id as client, key_id as key, model, requests::int, coalesce(settlements, 0)::int as settlements,
       unpriced::int, coalesce(without_figures, 0)::int as silent, input_tokens::int as input, cost_pico::float8 as cost
     from tallygate.daily_usage where requests <> 0 or settlements <> 0 or unpriced <> 0
     order by day, client_id, model, price_id`,
  )
  return rows
}

async function expectSound() {
  const { proof, differences, notChecked } = await verifyLedger(ledger.pool, '2020-01-01')
  expect(differences).toEqual([])
  expect(notChecked.filter(({ calls }) => calls > 0n)).toEqual([])
  expect(proof.totals).toBe(proof.counted)
}

const SUBMITTED = {
  day: YESTERDAY,
  client: 'cli_a',
  key: 'key_a',
  model: '(none)',
  requests: 1,
  settlements: 0,
  silent: 0,
  unpriced: 0,
  input: 0,
  cost: 0,
}
const USED = {
  day: YESTERDAY,
  client: 'cli_a',
  key: 'key_a',
  model: 'gpt-4o-2024-08-06',
  requests: 0,
  settlements: 1,
  silent: 0,
  unpriced: 0,
  input: 100,
  cost: COST,
}
const FETCHED = {
  day: TODAY,
  client: 'cli_b',
  key: 'key_b',
  model: 'gpt-4o-2024-08-06',
  requests: 1,
  settlements: 0,
  silent: 0,
  unpriced: 0,
  input: 0,
  cost: 0,
}

test('a job is unpriced until a call tells what it used: then that is its submitter’s on its day, and no request', async () => {
  await rollUp([submitting('batch_1')])
  expect(await totals()).toEqual([{ ...SUBMITTED, unpriced: 1, silent: 1 }])
  expect(await selectUnpricedUse(ledger.pool, YESTERDAY)).toMatchObject([
    { reason: 'billed_later', calls: 1n },
  ])
  await expectSound()

  await rollUp([fetching('batch_1')])
  expect(await totals()).toEqual([SUBMITTED, USED, FETCHED])
  expect(await selectUnpricedUse(ledger.pool, YESTERDAY)).toEqual([])
  await expectSound()
})

test('a job is unpriced in the totals of its submitter’s value, until it is priced there', async () => {
  const values = async () => {
    const { rows } = await ledger.pool.query(
      `select v.value, u.requests::int, u.settlements::int, u.unpriced::int, u.cost_pico::float8 as cost
       from tallygate.axis_usage u join tallygate.axis_values v on v.id = u.value_id order by v.value`,
    )
    return rows
  }
  const submitted = { value: 'ann', requests: 1, settlements: null, unpriced: 1, cost: null }
  await rollUp([submitting('batch_1', { axes: 'user=ann' })])
  expect(await values()).toEqual([submitted])

  await rollUp([fetching('batch_1', { axes: 'user=bob' })])
  const fetched = { value: 'bob', requests: 1, settlements: null, unpriced: null, cost: null }
  expect(await values()).toEqual([{ ...submitted, settlements: 1, unpriced: null, cost: COST }, fetched])
  await expectSound()
})

test('a settlement names the call that it settles and the call that reported it', async () => {
  const [made, reporting] = [submitting('batch_1'), fetching('batch_1')]
  await rollUp([made, reporting])
  const { rows } = await ledger.pool.query(
    'select call_id, settles, told_by, settled, fetched_by_client_id as by from tallygate.calls order by told_by nulls first, settled desc',
  )
  expect(rows).toEqual([
    { call_id: made.callId, settles: null, told_by: null, settled: true, by: null },
    { call_id: reporting.callId, settles: null, told_by: null, settled: false, by: null },
    {
      call_id: expect.any(String),
      settles: made.callId,
      told_by: reporting.callId,
      settled: false,
      by: 'cli_b',
    },
  ])
})

test('a use without a price makes its submitter’s call no cheaper: it is unpriced for that reason', async () => {
  await rollUp([submitting('batch_1')])
  await rollUp([fetching('batch_1', { costPico: null, priceId: null, unpricedReason: 'no_price' })])
  expect(await totals()).toEqual([SUBMITTED, { ...USED, unpriced: 1, cost: 0 }, FETCHED])
  expect(await selectUnpricedUse(ledger.pool, YESTERDAY)).toMatchObject([{ reason: 'no_price', calls: 1n }])
  await expectSound()
})

test('the same records again, and again by another fetch, count nothing more', async () => {
  const batch = await rollUp([submitting('batch_1'), fetching('batch_1')])
  const before = await totals()
  await ledger.rollUp('test:calls', batch)
  expect(await totals()).toEqual(before)
  await rollUp([fetching('batch_1')])
  expect(await totals()).toEqual([SUBMITTED, USED, { ...FETCHED, requests: 2 }])
  await expectSound()
})

test('a connection that breaks at any statement leaves all of a settlement or nothing', async () => {
  const statements = [
    /responses_seen \(/,
    /objects o set settled_at/,
    /daily_usage as/,
    /call_rows \(/,
    /call_rows c set settled/,
    /set mark/,
    /^commit/,
  ]
  for (const [index, statement] of statements.entries()) {
    const id = `batch_${index}`
    await rollUp([submitting(id)])
    const producer = newProducer()
    const batch = [aCandidate(producer, 1, fetching(id))]
    const broken = createRollUp({
      pool: losingAnswerOf(statement, ledger.pool),
      callDays: createCallDays(ledger.pool, 35, quiet),
    })
    await expect(broken('test:calls', batch)).rejects.toThrow('the connection broke')
    await expect.poll(async () => (await ledger.rollUp('test:calls', batch)).kind).toBe('done')
    const jobs = index + 1
    expect(await totals()).toEqual([
      { ...SUBMITTED, requests: jobs },
      { ...USED, settlements: jobs, input: 100 * jobs, cost: COST * jobs },
      { ...FETCHED, requests: jobs },
    ])
  }
  await expectSound()
})

test('fetches of the same jobs in several shards at once settle each once', async () => {
  const ids = Array.from({ length: 30 }, (_, index) => `batch_${index}`)
  await rollUp(ids.map((id) => submitting(id)))
  await Promise.all([
    rollUp(
      ids.map((id) => fetching(id)),
      ledger.rollUp,
      'shard 1',
    ),
    rollUp(
      ids.toReversed().map((id) => fetching(id)),
      ledger.rollUp,
      'shard 2',
    ),
    rollUp([reporting(ids.map((id) => use(id)))], ledger.rollUp, 'shard 3'),
  ])
  const rows = await totals()
  expect(rows.slice(0, 2)).toEqual([
    { ...SUBMITTED, requests: 30 },
    { ...USED, settlements: 30, input: 3_000, cost: 30 * COST },
  ])
  expect(rows.slice(2).reduce((sum, { requests }) => sum + requests, 0)).toBe(61)
  await expectSound()
})

test('a fetch that was counted before its submission stays its fetcher’s, and nothing of the job is missing', async () => {
  await rollUp([fetching('batch_1')])
  await rollUp([submitting('batch_1')])
  expect(await totals()).toEqual([SUBMITTED, { ...FETCHED, input: 100, cost: COST }])
  await rollUp([fetching('batch_1')])
  expect((await totals()).map(({ input }) => input)).toEqual([0, 0, 100])
  await expectSound()
})

test('what no client of ours submitted is its fetcher’s, on the day of the fetch', async () => {
  await rollUp([fetching('batch_8'), reporting([use('batch_9')])])
  expect(await totals()).toEqual([FETCHED, { ...FETCHED, settlements: 1, input: 200, cost: 2 * COST }])
  await expectSound()
})

test('a submission whose calls are no longer kept is settled in the totals all the same', async () => {
  const longAgo = NOW - 60 * DAY_MS
  await rollUp([submitting('batch_1', { arrivedAtMs: longAgo })])
  await rollUp([fetching('batch_1')])
  const day = utcDayOf(longAgo)
  expect(await totals()).toEqual([{ ...SUBMITTED, day }, { ...USED, day }, FETCHED])
  await expectSound()
})

test('a job that failed used nothing; the cost of one that ended and reported nothing is still missing', async () => {
  await rollUp([submitting('batch_1'), submitting('batch_2')])
  const ended = (id: string, failed?: true) =>
    reporting([], { jobs: undefined, objects: [{ id, kind: 'batch', is: 'ended', job: true, failed }] })
  await rollUp([ended('batch_1', true), ended('batch_2')])
  expect((await totals())[0]).toEqual({ ...SUBMITTED, requests: 2, unpriced: 1, silent: 1 })
  await rollUp([fetching('batch_2')])
  expect((await totals())[0]).toEqual({ ...SUBMITTED, requests: 2 })
  await expectSound()
})

test('a list settles each of its jobs, and one that was reported before by itself not again', async () => {
  await rollUp([submitting('batch_1'), submitting('batch_2'), submitting('batch_3')])
  await rollUp([fetching('batch_2')])
  const list = reporting([use('batch_1'), use('batch_2'), use('batch_3')])
  await rollUp([list, reporting(list.jobs ?? [])])
  await rollUp([fetching('batch_1')])
  expect((await totals()).slice(0, 2)).toEqual([
    { ...SUBMITTED, requests: 3 },
    { ...USED, settlements: 3, input: 300, cost: 3 * COST },
  ])
  await expectSound()
})

test('a job of several models has a settlement for each', async () => {
  await rollUp([submitting('batch_1')])
  const other = use('batch_1', {
    model: 'gpt-x',
    reportedModel: 'gpt-x',
    costPico: null,
    priceId: null,
    unpricedReason: 'no_price',
  })
  await rollUp([reporting([use('batch_1'), other])])
  expect((await totals()).slice(0, 3)).toEqual([
    SUBMITTED,
    USED,
    { ...USED, model: 'gpt-x', unpriced: 1, cost: 0 },
  ])
  await expectSound()
})

test('a file that a job left tells for the job, once for both; any other file tells nothing', async () => {
  const file = (id: string) => reporting([use(id, { isFile: true })], { path: `/v1/files/${id}/content` })
  const left = (job: string, id: string) =>
    reporting([], {
      jobs: undefined,
      objects: [
        { id: job, kind: 'batch', is: 'ended', job: true },
        { id, kind: 'file', is: 'created', job: false, leftBy: job },
      ],
    })
  await rollUp([submitting('batch_1'), submitting('batch_2')])
  await rollUp([left('batch_1', 'file-out1'), left('batch_2', 'file-out2')])
  // They have ended, and wait for a call to read what they used.
  expect((await totals())[0]).toMatchObject({ unpriced: 2 })
  await rollUp([file('file-out1'), file('file-mine')])
  await rollUp([file('FILE-out1'), fetching('batch_1'), fetching('batch_2'), file('file-out2')])
  expect((await totals()).slice(0, 2)).toEqual([
    { ...SUBMITTED, requests: 2 },
    { ...USED, settlements: 2, input: 200, cost: 2 * COST },
  ])
  await expectSound()
})

test('beyond the models of a client and day a submission is settled where it is totalled', async () => {
  const memory = { ...createCountingMemory(), modelLimit: createModelLimit(1) }
  const limited = createRollUp({
    pool: ledger.pool,
    callDays: createCallDays(ledger.pool, 35, quiet),
    memory,
  })
  await rollUp(
    [aRecord({ ...PRICED, arrivedAtMs: NOW - DAY_MS, model: 'first' }), submitting('batch_1')],
    limited,
  )
  await rollUp([fetching('batch_1')], limited)
  await rollUp([submitting('batch_2'), fetching('batch_2')], limited)
  expect(await totals()).toMatchObject([
    { model: '(other)', requests: 2, unpriced: 0, silent: 0 },
    { model: '(other)', settlements: 2, cost: 2 * COST },
    { model: 'first' },
    { client: 'cli_b', requests: 2 },
  ])
  await expectSound()
})

test('a day’s totals are rebuilt from its calls with what was settled', async () => {
  await rollUp([submitting('batch_1'), submitting('batch_2')])
  await rollUp([fetching('batch_1')])
  const before = await totals()
  await ledger.pool.query(
    `update tallygate.daily_usage set unpriced = unpriced + 1, input_tokens = 5, cost_pico = 1 where day = $1`,
    [YESTERDAY],
  )
  const order = { day: YESTERDAY, who: 'op', why: 'test' }
  expect(await rebuildDay(ledger.pool, order)).toMatchObject({ kind: 'rebuilt' })
  expect(await totals()).toEqual(before)
  await expectSound()
})

test('a job that is listed for as long as its provider keeps it counts once, whichever client submitted it', async () => {
  await rollUp([submitting('batch_Ours'), submitting('batch_Deleted')])
  const list = reporting([use('batch_Ours'), use('batch_Theirs'), use('batch_Deleted')])
  await rollUp([list])
  const before = await totals()
  const prune = () => inTransaction(ledger.pool, (session) => pruneResponses(session, 40))
  const later = (days: number) =>
    ledger.pool.query('update tallygate.responses_seen set seen_at = seen_at - make_interval(days => $1)', [
      days,
    ])
  // Listed every month: what is still reported is not pruned.
  for (let month = 0; month < 3; month += 1) {
    await later(30)
    await prune()
    await rollUp([{ ...list, callId: randomUUID() }])
  }
  expect((await totals()).map(({ settlements, input }) => [settlements, input])).toEqual(
    before.map(({ settlements, input }) => [settlements, input]),
  )
  // Not reported for long: a job of ours is known while its object is.
  await later(100)
  await prune()
  await rollUp([reporting([use('batch_Ours')]), fetching('batch_Deleted')])
  expect((await totals()).slice(0, 2)).toEqual([
    { ...SUBMITTED, requests: 2 },
    { ...USED, settlements: 2, input: 200, cost: 2 * COST },
  ])
  await expectSound()
})

test('a second call that claims a job’s id changes nothing of where the first is totalled', async () => {
  const limited = createRollUp({
    pool: ledger.pool,
    callDays: createCallDays(ledger.pool, 35, quiet),
    memory: { ...createCountingMemory(), modelLimit: createModelLimit(1) },
  })
  await rollUp([submitting('batch_1')])
  const other = { clientId: 'cli_b', keyId: 'key_b' }
  await rollUp([aRecord({ ...PRICED, ...other, arrivedAtMs: NOW - DAY_MS, model: 'first' })], limited)
  await rollUp([submitting('batch_1', other)], limited)
  await rollUp([fetching('batch_1')])
  const rows = await totals()
  expect(rows.slice(0, 2)).toEqual([SUBMITTED, USED])
  expect(rows.filter(({ client }) => client === 'cli_b')).toMatchObject([
    { model: '(other)', unpriced: 1 },
    { model: 'first' },
    {},
  ])
  await expectSound()
})

test.each([
  'after the job',
  'with the job',
])('an answer made %s under the id of a job does not free it', async (when) => {
  const job = submitting('resp_1', {
    path: '/v1/responses',
    objects: [{ id: 'resp_1', kind: 'response', is: 'created', job: true }],
  })
  // Some servers let clients choose ids.
  const made = aRecord({
    ...PRICED,
    arrivedAtMs: NOW - DAY_MS,
    path: '/v1/responses',
    model: 'small',
    responseId: 'resp_1',
    responseUse: 'created',
    objects: [{ id: 'resp_1', kind: 'response', is: 'created', job: false }],
  })
  if (when === 'with the job') await rollUp([job, made])
  else for (const record of [job, made]) await rollUp([record])
  await rollUp([fetching('resp_1')])
  await rollUp([fetching('resp_1')])
  expect(await totals()).toEqual([
    SUBMITTED,
    USED,
    { ...USED, model: 'small', requests: 1, settlements: 0 },
    { ...FETCHED, requests: 2 },
  ])
  await expectSound()
})

test('a rebuilt day has no figures left of settlements that no call is kept of, though a client was credited', async () => {
  await rollUp([submitting('batch_1')])
  await rollUp([fetching('batch_1')])
  for (const model of ['gpt-4o', 'gpt-5']) {
    const credit = { clientId: 'cli_a', day: YESTERDAY, model, pico: -5n, who: 'op', why: 'test' }
    await addCredit(ledger.pool, credit)
  }
  await ledger.pool.query(
    `update tallygate.daily_usage set settlements = 1, reported = 1 where model = 'gpt-4o'`,
  )
  await ledger.pool.query(
    `update tallygate.daily_usage set settlements = 0 where day = $1 and key_id <> '' and settlements = 1`,
    [YESTERDAY],
  )
  await ledger.pool.query(`update tallygate.daily_usage set unpriced = -1 where model = 'gpt-5'`)
  expect(await rebuildDay(ledger.pool, { day: YESTERDAY, who: 'op', why: 'test' })).toMatchObject({
    kind: 'rebuilt',
  })
  await expectSound()
})

test('what a record tells of jobs comes back from its entry as it was', () => {
  const record = reporting([
    use('batch_1', { serviceTier: 'batch', partlyUnpriced: true }),
    use('file-1', { isFile: true, costPico: null, priceId: null, unpricedReason: 'no_price' }),
  ])
  expect(parseRecord(serialiseRecord(record))).toMatchObject(
    JSON.parse(JSON.stringify({ jobs: record.jobs })),
  )
  const text = serialiseRecord({ ...record, callId: randomUUID() })
  expect(parseRecord(text.replace('"id":"batch_1"', '"id":7'))).toBeNull()
  expect(parseRecord(text.replace('"inputTokens":100', '"inputTokens":-1'))).toBeNull()
})

/** The pool, but with every connection the answer to a statement of this form is lost. */
function losingAnswerOf(form: RegExp, pool: Postgres): Postgres {
  return new Proxy(pool, {
    get(target, name) {
      if (name !== 'connect') return Reflect.get(target, name, target)
      return async () => {
        const session = await target.connect()
        return new Proxy(session, {
          get(inner, key) {
            const value: unknown = Reflect.get(inner, key, inner)
            if (typeof value !== 'function') return value
            if (key !== 'query') return value.bind(inner)
            return async (statement: string, ...rest: unknown[]) => {
              const result: unknown = await Reflect.apply(value, inner, [statement, ...rest])
              if (form.test(statement)) throw new Error('the connection broke')
              return result
            }
          },
        })
      }
    },
  })
}
