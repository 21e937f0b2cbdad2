import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { UNKNOWN_MODEL } from '../../../src/domain/model-name.ts'
import { seeded } from '../../../src/standalone/prove/random.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { addCalls } from '../../../src/usage/calls/add-calls.ts'
import { type ColumnForm, FIELD_COLUMNS } from '../../../src/usage/calls/call-columns.ts'
import { addCallDay } from '../../../src/usage/calls/call-partitions.ts'
import { type CallScope, selectCalls } from '../../../src/usage/calls/own-calls.ts'
import { OTHER_MODELS_TOTAL } from '../../../src/usage/total-by-day.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aRecord } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(() => emptyTables(ledger.pool, ['call_rows', 'call_kinds']))

const add = (records: readonly CallRecord[]) =>
  inTransaction(ledger.pool, (session) => addCalls(session, records))
const aCall = (fields: Partial<CallRecord> = {}) => aRecord({ callId: randomUUID(), ...fields })

async function kinds(): Promise<number> {
  const { rows } = await ledger.pool.query('select count(*)::int as kinds from tallygate.call_kinds')
  return rows[0].kinds
}

/** What of each call the view says, in the order of the calls. */
async function stored(records: readonly CallRecord[]): Promise<unknown[]> {
  const { rows } = await ledger.pool.query(
    `select client_id, requested_model, reported_model, path, service_tier, usage_raw, axes, status from tallygate.calls
     where call_id = any($1) order by array_position($1, call_id)`,
    [records.map(({ callId }) => callId)],
  )
  return rows
}

const expected = (records: readonly CallRecord[]) =>
  records.map((record) => ({
    client_id: record.clientId,
    requested_model: record.requestedModel,
    reported_model: record.reportedModel,
    path: record.path,
    service_tier: record.serviceTier ?? null,
    usage_raw: record.usageRaw,
    axes: record.axes ?? null,
    status: record.status,
  }))

test('calls that differ in nothing but figures are of one kind, over batches', async () => {
  const usageRaw = (tokens: number) => `{"prompt_tokens":${tokens},"completion_tokens":1}`
  const calls = [1, 20, 300].map((tokens) => aCall({ usageRaw: usageRaw(tokens) }))
  await add(calls.slice(0, 2))
  await add(calls.slice(2))
  expect(await kinds()).toBe(1)
  expect(await stored(calls)).toEqual(expected(calls))
})

test('nothing, an empty text, and a text that looks like either are three things', async () => {
  const calls = [null, '', '-', '=', '\u0001'].flatMap((requestedModel) =>
    [null, '', '-', '='].map((reportedModel) => aCall({ requestedModel, reportedModel })),
  )
  await add(calls)
  expect(await kinds()).toBe(calls.length)
  expect(await stored(calls)).toEqual(expected(calls))
})

test.each([
  UNKNOWN_MODEL,
  OTHER_MODELS_TOTAL,
])('names that are totalled as %s, and paths that name an object, make no kinds', async (model) => {
  const calls = Array.from({ length: 300 }, (_, at) =>
    aCall({
      model,
      requestedModel: `made-up-${at}`,
      reportedModel: at % 2 === 0 ? null : `made-up-${at}`,
      path: `/v1/responses/resp_0123456789abcdef${at}`,
    }),
  )
  await add(calls)
  expect(await kinds()).toBe(1)
  expect(await stored(calls)).toEqual(expected(calls))
})

test('a call that has nothing of its own takes nothing from one of its kind that has', async () => {
  const withOwn = aCall({ usageRaw: '{"#":7}' })
  const without = aCall({ usageRaw: null })
  await add([without, withOwn])
  const again = [withOwn, without].map((call) => ({ ...call, callId: randomUUID() }))
  await add(again)
  expect(await kinds()).toBe(1)
  expect(await stored([without, withOwn, ...again])).toEqual(expected([without, withOwn, ...again]))
})

test('calls beyond the new kinds of a batch keep what is theirs under a kind that had none of it', async () => {
  const path = '/v1/responses/resp_0123456789abcdef'
  const bare = aCall({ path, requestedModel: null, reportedModel: null, usageRaw: null })
  const named = Array.from({ length: 100 }, (_, at) =>
    aCall({
      path,
      requestedModel: `name-${at}`,
      reportedModel: null,
      usageRaw: `{"${'x'.repeat(at)}":${at}}`,
    }),
  )
  await add([bare, ...named])
  expect(await kinds()).toBe(64)
  expect(await stored([bare, ...named])).toEqual(expected([bare, ...named]))
})

test('whatever calls have alike or apart, each is read as it was written', async () => {
  const random = seeded(20_261_123)
  const name = () => random.pick([null, '', 'a', 'a', `name-${random.below(200)}`])
  const made: CallRecord[] = []
  for (let batch = 0; batch < 6; batch += 1) {
    const calls = Array.from({ length: 400 }, () => {
      const tier = name()
      return aCall({
        clientId: random.pick(['cli_1', 'cli_1', 'cli_2']),
        model: random.pick(['gpt-4o', UNKNOWN_MODEL, OTHER_MODELS_TOTAL]),
        requestedModel: name(),
        reportedModel: name(),
        ...(tier === null ? {} : { serviceTier: tier }),
        path: random.pick(['/v1/a', '/v1/b', '/v1/a/resp_0123456789abcdef', `/v1/${random.below(90)}`]),
        usageRaw: random.pick([null, '', '{}', '{"#":1}', `{"a":${random.below(9)}}`, `{"${name()}":1.50}`]),
        axes: random.pick(['', 'user', 'user=a', `user=${name()}`, `~user=a\n-run=${random.below(200)}`]),
        status: random.pick([200, 200, 429]),
      })
    })
    await add(calls)
    made.push(...calls)
  }
  expect(await stored(made)).toEqual(expected(made))
})

test('a client that is different in every call makes few kinds at a time, and keeps no other from theirs', async () => {
  const hostile = Array.from({ length: 500 }, (_, at) =>
    aCall({
      clientId: 'cli_hostile',
      requestedModel: `name-${at}`,
      serviceTier: `tier-${at}`,
      usageRaw: `{"${'x'.repeat(at)}":${at},"#":1}`,
    }),
  )
  const other = Array.from({ length: 70 }, (_, at) => aCall({ clientId: `cli_${at}`, status: 200 + at }))
  await add([...hostile, ...other])
  expect(await kinds()).toBe(64 + 1 + 70)
  expect(await stored([...hostile, ...other])).toEqual(expected([...hostile, ...other]))
  // Those that were beyond become kinds with time, where they come again.
  await add(hostile.slice(64, 128).map((call) => ({ ...call, callId: randomUUID() })))
  expect(await kinds()).toBe(64 + 1 + 70 + 64)
})

const DIFFERENT: Readonly<Record<ColumnForm, (at: number) => unknown>> = {
  id: () => randomUUID(),
  trace: () => randomUUID().replaceAll('-', ''),
  text: (at) => `name ${at}`,
  word: () => undefined,
  time: (at) => aRecord({}).arrivedAtMs + at,
  integer: (at) => at,
  microseconds: (at) => at,
  bytes: (at) => at,
  pico: (at) => `${at}`,
  flag: (at) => at % 2 === 0,
}

test.each(
  FIELD_COLUMNS.filter(({ place }) => place !== 'kind').map(({ name, form }) => [name, form] as const),
)('calls that each have another %s are of few kinds', async (name, form) => {
  const calls = Array.from({ length: 300 }, (_, at) => aCall({ [name]: DIFFERENT[form](at) }))
  await add(calls)
  expect(await kinds()).toBeLessThanOrEqual(64 + 1)
})

test('of texts, only those of which a client has few stand in kinds alone', () => {
  const texts = FIELD_COLUMNS.filter(({ place, form }) => place === 'kind' && form === 'text')
  expect(texts.map(({ name }) => name)).toEqual([
    'clientId',
    'keyId',
    'upstream',
    'provider',
    'method',
    'model',
    'priceId',
    'unpricedReason',
  ])
})

test('two transactions that find the same kind missing make it once, and neither loses a call', async () => {
  const calls = Array.from({ length: 40 }, (_, at) => aCall({ status: 200 + (at % 20) }))
  await Promise.all([add(calls.slice(0, 20)), add(calls.slice(20).toReversed())])
  expect(await kinds()).toBe(20)
  expect(await stored(calls)).toEqual(expected(calls))
})

test('a client that is given another name has it from the next batch on, and past calls keep theirs', async () => {
  await ledger.pool.query(
    `insert into tallygate.clients (id, name, version) values ('cli_renamed', 'before', 0)
     on conflict (id) do update set name = 'before'`,
  )
  const names = async () =>
    (await ledger.pool.query('select client from tallygate.calls order by arrived_at, call_id')).rows.map(
      ({ client }) => client,
    )
  const call = (arrivedAtMs: number) => aCall({ clientId: 'cli_renamed', arrivedAtMs })
  const { arrivedAtMs } = aRecord({})
  await add([call(arrivedAtMs)])
  await ledger.pool.query(`update tallygate.clients set name = 'after' where id = 'cli_renamed'`)
  await add([call(arrivedAtMs + 1)])
  expect(await names()).toEqual(['before', 'after'])
})

test('a rolled-back transaction leaves no kind that a later one could miss', async () => {
  const call = aCall()
  await expect(
    inTransaction(ledger.pool, async (session) => {
      await addCalls(session, [call])
      throw new Error('cut')
    }),
  ).rejects.toThrow('cut')
  await add([call])
  expect(await stored([call])).toEqual(expected([call]))
})

test('a batch of many kinds does not read those of all days', async () => {
  await ledger.pool.query(
    `insert into tallygate.call_kinds (day, hash, client_id, client, key_id, upstream, provider, model, method, outcome,
       usage_source, failed_in_body, web_socket, partly_unpriced)
     select current_date - i % 35, md5(i::text)::uuid, '', '', '', '', '', '', '', '', '', false, false, false
     from generate_series(1, 20000) i`,
  )
  await ledger.pool.query('analyze tallygate.call_kinds')
  const calls = Array.from({ length: 1000 }, (_, at) => aCall({ clientId: `cli_${at}` }))
  const scans = await inTransaction(ledger.pool, async (session) => {
    const readWhole = async (): Promise<number> => {
      const { rows } = await session.query(
        `select seq_scan::int as scans from pg_stat_xact_user_tables where relname = 'call_kinds'`,
      )
      return rows[0].scans
    }
    const before = await readWhole()
    await addCalls(session, calls)
    return (await readWhole()) - before
  })
  expect(scans).toBe(0)
  expect(await stored(calls)).toEqual(expected(calls))
})

test('a list of calls has those of an upstream, those that reports count as errors, or those since a time', async () => {
  const arrivedAtMs = Date.parse('2026-11-20T12:00:00Z')
  const fine = aCall({ arrivedAtMs, upstream: 'one', status: 200 })
  const refused = aCall({ arrivedAtMs: arrivedAtMs - 1, upstream: 'two', status: 429 })
  const broken = aCall({ arrivedAtMs: arrivedAtMs + 1, upstream: 'one', status: 200, failedInBody: true })
  await inTransaction(ledger.pool, (session) => addCallDay(session, '2026-11-20'))
  await add([fine, refused, broken])
  const listed = async (asked: Partial<CallScope>) => {
    const calls = await selectCalls(ledger.pool, {
      ...{ clientId: null, keyId: null, model: null, upstream: null, hasFailed: false, since: null },
      ...{ fromDay: '2026-11-20', toDay: '2026-11-20', before: null, rows: 10 },
      ...asked,
    })
    return new Set(calls.map(({ call_id: id }) => id))
  }
  expect(await listed({ upstream: 'two' })).toEqual(new Set([refused.callId]))
  expect(await listed({ hasFailed: true })).toEqual(new Set([refused.callId, broken.callId]))
  expect(await listed({ hasFailed: true, upstream: 'one' })).toEqual(new Set([broken.callId]))
  expect(await listed({ since: new Date(arrivedAtMs) })).toEqual(new Set([fine.callId, broken.callId]))
})
