import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/call/usage.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { rounds } from '../support/rounds.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aForeignEntry, aGapMarker, aRecord, newProducer, quiet } from './records.ts'

const STREAM = 'test:calls'
let ledger: LedgerDatabase
let producer: string

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  producer = newProducer()
  await emptyTables(ledger.pool, [
    'daily_usage',
    'call_rows',
    'producers',
    'ledger_gaps',
    'dead_letters',
    'responses_seen',
    'response_collisions',
    'prices',
  ])
})

const run = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => aCandidate(producer, first + index))

test('a batch is in the totals and in calls, and the committed offset stands behind it', async () => {
  const result = await ledger.rollUp(STREAM, run(1, 50))
  expect(result).toMatchObject({ kind: 'done', counted: 50, waiting: [] })
  expect(result.settled).toHaveLength(50)
  expect(await ledger.counts()).toMatchObject({ requests: 50, inputTokens: 5_000, calls: 50 })
  expect((await ledger.counts()).costPico).toBe(50n * 450_000_000n)
  expect(await ledger.committedOffset(producer)).toBe(50)
})

test('an entry that comes twice counts once: in one batch, in the next, and after others', async () => {
  const first = run(1, 10)
  await ledger.rollUp(STREAM, [...first, ...first])
  const again = await ledger.rollUp(STREAM, [...first, ...run(11, 12)])
  expect(again.settled).toHaveLength(12)
  await ledger.rollUp(STREAM, first)
  expect(await ledger.counts()).toMatchObject({ requests: 12, calls: 12 })
})

test('workers that race for the same entries, many times over, count them once', async () => {
  for (let round = 0; round < 25; round += 1) {
    const batch = run(round * 40 + 1, round * 40 + 40)
    const results = await Promise.all([1, 2, 3, 4].map(() => ledger.rollUp(STREAM, batch)))
    expect(results.filter(({ counted }) => counted > 0)).toHaveLength(1)
    for (const result of results) expect(result.kind === 'busy' || result.settled.length === 40).toBe(true)
  }
  expect(await ledger.counts()).toMatchObject({ requests: 1_000, calls: 1_000 })
})

test('were the lock of the shard to fail, the rows of the producers still keep two from counting the same', async () => {
  for (let round = 0; round < 10; round += 1) {
    const batch = run(round * 40 + 1, round * 40 + 40)
    await Promise.all(['a', 'b', 'c'].map((shard) => ledger.rollUp(shard, batch)))
  }
  expect(await ledger.counts()).toMatchObject({ requests: 400, calls: 400 })
})

test('entries behind a gap wait, and count when it is filled', async () => {
  const behind = await ledger.rollUp(STREAM, [...run(1, 3), ...run(6, 8)])
  expect(behind.waiting.map(({ sequence }) => sequence)).toEqual([6, 7, 8])
  expect(behind.settled).toHaveLength(3)
  expect(await ledger.committedOffset(producer)).toBe(3)
  await ledger.rollUp(STREAM, [...behind.waiting, ...run(4, 5)])
  expect(await ledger.counts()).toMatchObject({ requests: 8, missing: 0 })
})

test('a gap marker moves the committed offset, and what is missing is recorded in the same transaction', async () => {
  const result = await ledger.rollUp(STREAM, [...run(1, 3), aGapMarker(producer, 4, 9), ...run(10, 11)])
  expect(result.gaps).toMatchObject([{ producer, from: 4, to: 9, reason: 'journal_pruned' }])
  expect(await ledger.counts()).toMatchObject({ requests: 5, missing: 6 })
  expect(await ledger.committedOffset(producer)).toBe(11)
})

test('a gap that was given up is passed over, and filled when its records come after all', async () => {
  await ledger.rollUp(STREAM, run(1, 3))
  const overdueGaps = new Map([[producer, [{ from: 4, to: 9 }]]])
  const passed = await ledger.rollUp(STREAM, run(10, 12), overdueGaps)
  expect(passed.gaps).toMatchObject([{ from: 4, to: 9, reason: 'producer_lost' }])
  expect(await ledger.counts()).toMatchObject({ requests: 6, missing: 6 })

  await ledger.rollUp(STREAM, run(6, 7))
  expect(await ledger.counts()).toMatchObject({ requests: 8, missing: 4 })
  await ledger.rollUp(STREAM, [...run(4, 9), ...run(6, 7)])
  expect(await ledger.counts()).toMatchObject({ requests: 12, missing: 0, calls: 12 })
  const { rows } = await ledger.pool.query(
    `select sum(to_seq - from_seq + 1)::int as filled from tallygate.ledger_gaps where filled_at is not null`,
  )
  expect(rows[0]).toEqual({ filled: 6 })
  expect(await ledger.committedOffset(producer)).toBe(12)
})

test('an entry that Postgres refuses becomes one dead letter, and its neighbours count', async () => {
  const poison = aCandidate(producer, 18, aRecord({ path: '/v1/\0' }))
  const result = await ledger.rollUp(STREAM, [...run(1, 17), poison, ...run(19, 40)])
  expect(result).toMatchObject({ kind: 'done', counted: 39, deadLetters: 1 })
  expect(result.settled).toHaveLength(40)
  expect(await ledger.counts()).toMatchObject({ requests: 39, calls: 39, deadLetters: 1 })
  expect(await ledger.committedOffset(producer)).toBe(40)
  const { rows } = await ledger.pool.query('select sequence, sqlstate, body from tallygate.dead_letters')
  expect(rows).toEqual([{ sequence: '18', sqlstate: '22P05', body: poison.body }])
})

test('several poisoned entries of several producers each stand alone', async () => {
  const other = newProducer()
  const bad = aRecord({ clientId: randomBytes(9_000).toString('base64') })
  const batch = [
    ...run(1, 20),
    aCandidate(producer, 21, bad),
    aCandidate(other, 1, bad),
    aCandidate(other, 2),
    aCandidate(other, 3, bad),
  ]
  expect(await ledger.rollUp(STREAM, batch)).toMatchObject({ counted: 21, deadLetters: 3 })
  expect(await ledger.committedOffset(other)).toBe(3)
  expect(await ledger.committedOffset(producer)).toBe(21)
})

test('a body that is not a record, or an invalid gap marker, becomes a dead letter and stops no other', async () => {
  const body = 'not JSON \0 \ud800'
  await ledger.rollUp(STREAM, [...run(1, 2), aForeignEntry(producer, 3, body), ...run(4, 5)])
  expect(await ledger.counts()).toMatchObject({ requests: 4, deadLetters: 1 })
  const { rows } = await ledger.pool.query('select sequence, sqlstate, body from tallygate.dead_letters')
  expect(rows).toEqual([{ sequence: '3', sqlstate: null, body: 'not JSON \ufffd \ufffd' }])
})

test('a commit whose answer is lost is not counted again', async () => {
  const batch = run(1, 30)
  const rollUp = createRollUp({
    pool: losingAnswerOf(/^commit/, ledger.pool),
    callDays: createCallDays(ledger.pool, 35, quiet),
  })
  await expect(rollUp(STREAM, batch)).rejects.toThrow('the connection broke')
  expect(await ledger.counts()).toMatchObject({ requests: 30 })
  const again = await ledger.rollUp(STREAM, batch)
  expect(again.counted).toBe(0)
  expect(again.settled).toHaveLength(30)
  expect(await ledger.counts()).toMatchObject({ requests: 30, calls: 30 })
})

test('a connection that breaks at any statement leaves all of a batch or nothing, and the next run counts it', async () => {
  const statements = [
    /^begin/,
    /pg_try_advisory/,
    /producers \(id/,
    /for update/,
    /daily_usage as/,
    /select w.place/,
    /call_kinds \(/,
    /call_rows \(/,
    /set mark/,
  ]
  for (const [index, statement] of statements.entries()) {
    // A producer and a kind that are new each time: rows are made for them.
    const own = newProducer()
    const record = () => aRecord({ path: `/v1/${index}` })
    const batch = Array.from({ length: 10 }, (_, at) => aCandidate(own, at + 1, record()))
    const rollUp = createRollUp({
      pool: losingAnswerOf(statement, ledger.pool),
      callDays: createCallDays(ledger.pool, 35, quiet),
    })
    await expect(rollUp(STREAM, batch)).rejects.toThrow('the connection broke')
    await expect.poll(async () => (await ledger.rollUp(STREAM, batch)).kind).toBe('done')
    expect(await ledger.counts()).toMatchObject({ requests: (index + 1) * 10, calls: (index + 1) * 10 })
  }
})

const FETCH = { method: 'GET', path: '/v1/responses/resp_1', responseUse: 'fetched' } as const
const CREATE = { method: 'POST', path: '/v1/responses', responseUse: 'created' } as const

test('a response made in the background counts at its first fetch, whichever client fetches it again', async () => {
  const response = { ...FETCH, responseId: 'resp_1' }
  const queued = aRecord({
    ...CREATE,
    responseId: 'resp_1',
    usageSource: 'none',
    usage: NO_USAGE,
    costPico: null,
    priceId: null,
    unpricedReason: 'billed_later',
  })
  await ledger.rollUp(STREAM, [
    aCandidate(producer, 1, queued),
    aCandidate(producer, 2, aRecord(response)),
    aCandidate(producer, 3, aRecord(response)),
  ])
  await ledger.rollUp('test:calls:1', [
    aCandidate(newProducer(), 1, aRecord({ ...response, clientId: 'cli_b' })),
  ])
  await ledger.rollUp(STREAM, [aCandidate(producer, 4, aRecord({ ...response, upstream: 'azure' }))])
  expect(await ledger.counts()).toMatchObject({ requests: 5, inputTokens: 200, costPico: 900_000_000n })
  const { rows } = await ledger.pool.query('select sum(input_tokens)::int as tokens from tallygate.calls')
  expect(rows[0]).toEqual({ tokens: 200 })
})

test('fetches of a response that its creation counted count nothing, in whatever order they come', async () => {
  const create = aRecord({ ...CREATE, responseId: 'resp_1' })
  const fetch = aRecord({ ...FETCH, responseId: 'resp_1' })
  await ledger.rollUp(STREAM, [aCandidate(producer, 1, fetch), aCandidate(producer, 2, create)])
  await ledger.rollUp(STREAM, [aCandidate(producer, 3, fetch), aCandidate(producer, 4, fetch)])
  expect(await ledger.counts()).toMatchObject({ requests: 4, inputTokens: 100, costPico: 450_000_000n })
  expect(await collisions()).toEqual([])
})

test('a creation that was cut and estimated leaves what its fetch reports to count, once, and estimates count once', async () => {
  const estimated = (use: typeof FETCH | typeof CREATE, responseId: string) =>
    aRecord({ ...use, responseId, usageSource: 'estimated' })
  const reported = aRecord({ ...FETCH, responseId: 'resp_1' })
  await ledger.rollUp(STREAM, [
    aCandidate(producer, 1, estimated(CREATE, 'resp_1')),
    aCandidate(producer, 2, reported),
    aCandidate(producer, 3, reported),
    // Cut again and again: it was estimated, and was reported.
    aCandidate(producer, 4, estimated(FETCH, 'resp_1')),
  ])
  await ledger.rollUp(STREAM, [aCandidate(producer, 5, estimated(FETCH, 'resp_1'))])
  expect(await ledger.counts()).toMatchObject({ requests: 5, inputTokens: 200, costPico: 900_000_000n })

  // Nothing but cut fetches: one estimate, until a client reads it to its end.
  await ledger.rollUp(STREAM, [aCandidate(producer, 6, estimated(FETCH, 'resp_2'))])
  await ledger.rollUp(STREAM, [aCandidate(producer, 7, estimated(FETCH, 'resp_2'))])
  expect(await ledger.counts()).toMatchObject({ requests: 7, inputTokens: 300 })

  // One that was reported first is not estimated behind it.
  await ledger.rollUp(STREAM, [aCandidate(producer, 8, aRecord({ ...CREATE, responseId: 'resp_3' }))])
  await ledger.rollUp(STREAM, [aCandidate(producer, 9, estimated(FETCH, 'resp_3'))])
  expect(await ledger.counts()).toMatchObject({ requests: 9, inputTokens: 400 })
})

test('the id by which an answer names itself is kept with its call and makes no call count less or more', async () => {
  const named = (changes: object = {}) => aRecord({ answerId: 'chatcmpl-123', ...changes })
  await ledger.rollUp(STREAM, [aCandidate(producer, 1, named()), aCandidate(producer, 2, named())])
  await ledger.rollUp(STREAM, [
    aCandidate(producer, 3, named({ method: 'GET', path: '/v1/chat/completions/chatcmpl-123' })),
    // It is one that a fetch may claim, too: that was not claimed by calls that only name it.
    aCandidate(producer, 4, aRecord({ ...FETCH, responseId: 'chatcmpl-123' })),
    aCandidate(producer, 5, aRecord({ ...FETCH, responseId: 'chatcmpl-123' })),
  ])
  expect(await ledger.counts()).toMatchObject({ requests: 5, inputTokens: 400, costPico: 1_800_000_000n })
  expect(await collisions()).toEqual([])
  const { rows } = await ledger.pool.query(
    'select response_id, count(*)::int from tallygate.calls group by 1',
  )
  expect(rows).toEqual([{ response_id: 'chatcmpl-123', count: 5 }])
})

test('10,000 calls that make a response under one id are 10,000 calls with their whole cost', async () => {
  const calls = 10_000
  for (let first = 0; first < calls; first += 500) {
    await ledger.rollUp(
      STREAM,
      Array.from({ length: 500 }, (_, index) =>
        aCandidate(producer, first + index + 1, aRecord({ ...CREATE, responseId: 'resp_mine' })),
      ),
    )
  }
  const counted = await ledger.counts()
  expect(counted).toMatchObject({ requests: calls, calls, inputTokens: calls * 100 })
  expect(counted.costPico).toBe(BigInt(calls) * 450_000_000n)
  expect(await collisions()).toEqual([{ upstream: 'openai', calls: calls - 1 }])
})

const MANY = rounds({ short: 32_000, long: 100_000 })

test(`none of ${MANY} calls with ids of one in a million is lost`, async () => {
  const calls = MANY
  const batch = 4_000
  // Ollama's ids are `resp_` and a number below 999,999: of 100,000 some 5,000 come twice, of a third of it a ninth.
  let seed = 1
  const nextId = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return `resp_${seed % 999_999}`
  }
  const template = aCandidate(producer, 1, aRecord(CREATE))
  const ids = new Set<string>()
  for (let first = 0; first < calls; first += batch) {
    const candidates = Array.from({ length: batch }, (_, index) => {
      const responseId = nextId()
      ids.add(responseId)
      const sequence = first + index + 1
      const record = aRecord({ ...CREATE, responseId, usageRaw: null })
      return { ...template, id: `2-${sequence}`, sequence, from: sequence, to: sequence, record }
    })
    await ledger.rollUp(STREAM, candidates)
  }
  expect(ids.size).toBeLessThan(calls - calls ** 2 / 2_500_000)
  const counted = await ledger.counts()
  expect(counted).toMatchObject({ requests: calls, calls, inputTokens: calls * 100 })
  expect(counted.costPico).toBe(BigInt(calls) * 450_000_000n)
  expect(await collisions()).toEqual([{ upstream: 'openai', calls: calls - ids.size }])
})

test('a record of an earlier release is a fetch by its method or the path that it cancels at', async () => {
  const old = (changes: object) => aRecord({ responseId: 'resp_1', ...changes })
  await ledger.rollUp(STREAM, [
    aCandidate(producer, 1, old({ path: '/v1/responses' })),
    aCandidate(producer, 2, old({ path: '/v1/responses' })),
    aCandidate(producer, 3, old({ method: 'GET', path: '/v1/responses/resp_1' })),
    aCandidate(producer, 4, old({ path: '/v1/responses/resp_1/cancel' })),
  ])
  expect(await ledger.counts()).toMatchObject({ requests: 4, inputTokens: 200 })
})

async function collisions() {
  const { rows } = await ledger.pool.query(
    'select upstream, sum(calls)::int as calls from tallygate.response_collisions group by upstream',
  )
  return rows
}

const named = (count: number, from: number) =>
  Array.from({ length: count }, (_, index) =>
    aRecord({ model: `model-${from + index}`, requestedModel: 'x' }),
  )

async function modelsOfClients() {
  const { rows } = await ledger.pool.query(
    `select client_id, count(distinct model)::int as models, sum(requests)::int as requests,
       (sum(requests) filter (where model = '(other)'))::int as other
     from tallygate.daily_usage group by client_id order by client_id`,
  )
  return rows
}

test('a client has at most 500 models a day of its own, the rest is (other), also when it comes to another shard', async () => {
  const shards = ['a', 'b'].map((shard) => ({ shard, id: newProducer() }))
  for (let round = 0; round < 3; round += 1) {
    for (const [index, { shard, id }] of shards.entries()) {
      const records = named(200, round * 400 + index * 200)
      await ledger.rollUp(
        shard,
        records.map((record, at) => aCandidate(id, round * 200 + at + 1, record)),
      )
    }
  }
  await ledger.rollUp('c', [aCandidate(producer, 1, aRecord({ clientId: 'cli_b', model: 'model-9999' }))])
  expect(await modelsOfClients()).toEqual([
    { client_id: 'cli_a', models: 501, requests: 1_200, other: 700 },
    { client_id: 'cli_b', models: 1, requests: 1, other: null },
  ])
})

test('shards that count one client at the same moment bring in at most 500 models each, and then none', async () => {
  const shards = ['a', 'b', 'c'].map((shard) => ({ shard, id: newProducer() }))
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(
      shards.map(({ shard, id }, index) =>
        ledger.rollUp(
          shard,
          named(400, round * 1_200 + index * 400).map((record, at) =>
            aCandidate(id, round * 400 + at + 1, record),
          ),
        ),
      ),
    )
  }
  const [row] = await modelsOfClients()
  expect(row).toMatchObject({ requests: 3_600 })
  expect(row.models).toBeLessThanOrEqual(3 * 500 + 1)
  const before = row.models
  await ledger.rollUp('a', [aCandidate(shards[0]?.id ?? '', 1_201, aRecord({ model: 'one-more' }))])
  expect((await modelsOfClients())[0]).toMatchObject({ models: before, requests: 3_601 })
})

test('a call of a day without partition counts and is not kept', async () => {
  const old = aRecord({ arrivedAtMs: Date.parse('2020-02-29T12:00:00Z') })
  const result = await ledger.rollUp(STREAM, [aCandidate(producer, 1, old), aCandidate(producer, 2)])
  expect(result).toMatchObject({ counted: 2, callsSkipped: 1, deadLetters: 0 })
  expect(await ledger.counts()).toMatchObject({ requests: 2, calls: 1 })
})

test('a partition dropped after it was last looked for costs a call its row, not its count', async () => {
  const day = '2026-01-05'
  await ledger.pool.query(
    `create table tallygate.call_rows_20260105 partition of tallygate.call_rows for values from ('2026-01-05') to ('2026-01-06')`,
  )
  const rollUp = createRollUp({ pool: ledger.pool, callDays: createCallDays(ledger.pool, 35, quiet) })
  const arrivedAtMs = Date.parse(`${day}T12:00:00Z`)
  await rollUp(STREAM, [aCandidate(producer, 1, aRecord({ arrivedAtMs }))])
  expect(await ledger.counts()).toMatchObject({ calls: 1 })
  await ledger.pool.query('drop table tallygate.call_rows_20260105')
  const result = await rollUp(STREAM, [
    aCandidate(producer, 2, aRecord({ arrivedAtMs })),
    aCandidate(producer, 3),
  ])
  expect(result).toMatchObject({ counted: 2, callsSkipped: 1, deadLetters: 0 })
  expect(await ledger.counts()).toMatchObject({ requests: 3, calls: 1 })
})

test("partitions that Postgres was restored to before are made again, and no call's row is lost", async () => {
  const { rows: partitions } = await ledger.pool.query(
    `select inhrelid::regclass as name from pg_inherits where inhparent = 'tallygate.call_rows'::regclass`,
  )
  expect(partitions.length).toBeGreaterThan(7)
  const callDays = createCallDays(ledger.pool, 35, quiet)
  const rollUp = createRollUp({ pool: ledger.pool, callDays })
  await rollUp(STREAM, run(1, 5))
  for (const { name } of partitions) await ledger.pool.query(`drop table ${name}`)
  expect(await rollUp(STREAM, run(6, 10))).toMatchObject({ counted: 5, callsSkipped: 0 })
  expect(await ledger.counts()).toMatchObject({ requests: 10, calls: 5 })
})

test('with a retention of no days single calls are not kept', async () => {
  const rollUp = createRollUp({ pool: ledger.pool, callDays: createCallDays(ledger.pool, 0, quiet) })
  await rollUp(STREAM, run(1, 5))
  expect(await ledger.counts()).toMatchObject({ requests: 5, calls: 0 })
})

test('a row of calls tells what was counted, and names the client', async () => {
  await ledger.pool.query(
    `insert into tallygate.clients (id, name, version) values ('cli_named', 'acme', 0) on conflict do nothing`,
  )
  const record = aRecord({
    clientId: 'cli_named',
    latencyUs: 1_234_567,
    ttftUs: 7,
    usage: { ...NO_USAGE, inputTokens: 3, outputTokens: 0 },
  })
  await ledger.rollUp(STREAM, [aCandidate(producer, 1, record)])
  const { rows } = await ledger.pool.query('select * from tallygate.calls')
  expect(rows[0]).toMatchObject({
    call_id: record.callId,
    arrived_at: new Date(record.arrivedAtMs),
    client_id: 'cli_named',
    client: 'acme',
    key_id: 'key_a',
    requested_model: 'gpt-4o',
    reported_model: 'gpt-4o-2024-08-06',
    status: 200,
    outcome: 'complete',
    usage_source: 'reported',
    input_tokens: '3',
    output_tokens: '0',
    cache_read_tokens: null,
    latency_ms: '1234.567',
    ttft_ms: '0.007',
    cost_pico: '450000000',
    usage_raw: record.usageRaw,
  })
})

test('single calls, grouped, give the totals again', async () => {
  const records = [1, 2, 3, 4, 5, 6].flatMap((index) => [
    aRecord({ model: `m${index % 3}`, costPico: index % 2 ? null : '7', priceId: index % 2 ? null : 'p' }),
    aRecord({ keyId: `key_${index % 2}`, responseId: 'resp_same' }),
  ])
  await ledger.rollUp(
    STREAM,
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
  const { rows } = await ledger.pool.query(
    `select day, client_id, key_id, model, upstream, coalesce(price_id, '') as price_id, count(*) as requests,
       coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(cost_pico), 0) as cost_pico
     from tallygate.calls group by 1, 2, 3, 4, 5, 6
     except
     select day, client_id, key_id, model, upstream, price_id, requests, input_tokens, cost_pico
     from tallygate.daily_usage`,
  )
  expect(rows).toEqual([])
})

test('the definition of a price is kept with the first record that brings it; one that is not JSON costs no record', async () => {
  const price = JSON.stringify({ input: '2500000' })
  await ledger.rollUp(STREAM, [
    aCandidate(producer, 1, aRecord({ priceId: 'p1', price })),
    aCandidate(producer, 2, aRecord({ priceId: 'p1', price: '{"input":"1"}' })),
    aCandidate(producer, 3, aRecord({ priceId: 'p2', price: '{oops' })),
  ])
  const { rows } = await ledger.pool.query('select price_id, definition from tallygate.prices')
  expect(rows).toEqual([{ price_id: 'p1', definition: { input: '2500000' } }])
  expect(await ledger.counts()).toMatchObject({ requests: 3, deadLetters: 0 })
})

/** A pool whose connections break right after the server has carried out a statement of this form. */
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
