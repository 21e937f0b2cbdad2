import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { BILLED_UNITS, countsBy, NO_USAGE, TOKEN_CLASSES } from '../../../src/call/usage.ts'
import { addCredit, addEntries } from '../../../src/corrections/adjustments.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { retryDeadLetter } from '../../../src/rollup/retry-dead-letter.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { keyFrom } from '../../../src/usage/daily-key.ts'
import { memberOf } from '../../../src/usage/events/call-event.ts'
import { readEvents } from '../../../src/usage/events/read-events.ts'
import { Outbox, type OutboxOptions } from '../../../src/usage/outbox/outbox.ts'
import {
  discardOutbox,
  holdOutbox,
  leaveOutbox,
  measureOutbox,
  pruneSkipped,
  selectOutboxState,
} from '../../../src/usage/outbox/outbox-state.ts'
import {
  addPages,
  deletePages,
  type KeyedEvent,
  selectPages,
  truncateOutbox,
  unpackPage,
} from '../../../src/usage/outbox/outbox-table.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aForeignEntry, aRecord, newProducer, quiet } from '../../rollup/records.ts'
import { busyness } from '../../support/patience.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

const STREAM = 'test:calls'
const UNLIMITED = 2 ** 40
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
    'adjustment_entries',
    'call_rows',
    'producers',
    'ledger_gaps',
    'dead_letters',
    'responses_seen',
    'objects',
    'call_outbox',
    'call_outbox_state',
    'call_outbox_skipped',
  ])
})

function rollUpInto(options: Partial<OutboxOptions> = {}, retentionDays = 35) {
  return createRollUp({
    pool: ledger.pool,
    callDays: createCallDays(ledger.pool, retentionDays, quiet),
    otherSinks: [new Outbox({ maxBytes: UNLIMITED, ...options })],
  })
}

const batchOf = (records: readonly CallRecord[], first = 1) =>
  records.map((record, index) => aCandidate(producer, first + index, record))

/** All that waits, in the order in which it would be sent. */
async function waiting(): Promise<KeyedEvent[]> {
  const pages = await selectPages(ledger.pool, '0', UNLIMITED)
  return (await Promise.all(pages.map(({ body }) => unpackPage(body)))).flat()
}

/** The events of these days as `usage export` has them. */
async function exported(from: string, to: string): Promise<string[]> {
  const events: string[] = []
  for await (const { rows } of readEvents(ledger.pool, { from, to, clientId: null })) events.push(...rows)
  return events
}

const idsOf = (events: readonly KeyedEvent[]) => events.map(({ event }) => JSON.parse(event).id)

test('each counted call waits for Kafka as the very event that the export has, under its client’s id', async () => {
  const acme = await createClient(ledger.pool, 'acme "of" the\ttests \\')
  const now = Date.now()
  const making = aRecord({
    clientId: acme?.id ?? '',
    model: 'gpt-4o',
    usage: NO_USAGE,
    usageSource: 'none',
    costPico: null,
    priceId: null,
    unpricedReason: 'billed_later',
    responseId: 'resp_1',
    responseUse: 'created',
    objects: [{ id: 'resp_1', kind: 'response', is: 'created', job: true }],
  })
  const records = [
    aRecord({ clientId: acme?.id ?? '', answerId: 'chatcmpl-1' }),
    aRecord({ clientId: 'cli_gone', outcome: 'interrupted', status: null, latencyUs: null, ttftUs: null }),
    aRecord({ arrivedAtMs: now - 86_400_000, model: 'naïve "model"\u2028', costPico: '1', priceId: null }),
    aRecord({
      usage: NO_USAGE,
      usageSource: 'none',
      costPico: null,
      priceId: null,
      unpricedReason: 'no_price',
    }),
    making,
  ]
  const rollUp = rollUpInto()
  await rollUp(STREAM, batchOf(records))
  const fetching = aRecord({
    clientId: 'cli_b',
    keyId: 'key_b',
    responseId: 'resp_1',
    responseUse: 'fetched',
  })
  await rollUp(STREAM, batchOf([fetching], records.length + 1))

  const today = utcDayOf(now)
  const events = await waiting()
  expect(events.map(({ event }) => event).sort()).toEqual((await exported(addDays(today, -2), today)).sort())
  // The fetch is a request of its own, what it reported a settlement, and the job unpriced no longer.
  expect(events).toHaveLength(records.length + 3)
  for (const { key, event } of events) expect(JSON.parse(event).subject).toBe(key)
  expect(
    events.map(({ event }) => JSON.parse(event)).filter(({ type }) => type !== 'tallygate.call'),
  ).toMatchObject([
    { type: 'tallygate.adjustment', data: { kind: 'settled', call_id: making.callId, day: today } },
  ])
  const settlements = events.filter(({ event }) => JSON.parse(event).data.settles === making.callId)
  expect(settlements.map(({ event }) => JSON.parse(event).data)).toMatchObject([
    { told_by: fetching.callId, input_tokens: 100, output_tokens: 20 },
  ])
})

test('an event has all columns of calls, but for its settlement, which is an event of its own', async () => {
  const acme = await createClient(ledger.pool, `acme ${newProducer()}`)
  await ledger.pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     values ('key_named', $1, 'ci', 'tg_', sha256('key_named'), 'p', 0) on conflict do nothing`,
    [acme?.id],
  )
  // As the record of a call that has all that a call may have: one of another client's job, too.
  const making = aRecord({
    clientId: acme?.id ?? '',
    keyId: 'key_named',
    requestedModel: 'gpt-4o',
    usage: NO_USAGE,
    usageSource: 'none',
    costPico: null,
    priceId: null,
    responseId: 'resp_all',
    responseUse: 'created',
    objects: [{ id: 'resp_all', kind: 'response', is: 'created', job: true }],
  })
  const fetching = aRecord({
    clientId: 'cli_b',
    keyId: 'key_b',
    responseId: 'resp_all',
    responseUse: 'fetched',
    usage: countsBy(TOKEN_CLASSES, () => 3),
    units: countsBy(BILLED_UNITS, () => 4),
    usageRaw: '{"input":3}',
    serviceTier: 'flex',
    reportedCostPico: '11',
    ownCostPico: '12',
    costDiffers: true,
    partlyUnpriced: true,
    suspect: true,
  })
  const call = aRecord({
    unpricedReason: 'no_price',
    webSocket: true,
    failedInBody: true,
    ttftUs: 1_001,
    traceId: 'a'.repeat(32),
    axes: 'user=ann\n-session=s "1"',
    requestBytes: 120,
    answerBytes: 5_000,
  })
  const rollUp = rollUpInto()
  await rollUp(STREAM, batchOf([making]))
  await rollUp(STREAM, batchOf([fetching, call], 2))
  const events = (await waiting()).map(({ event }) => JSON.parse(event))
  const members = new Set(
    events.flatMap(({ type, data }) => (type === 'tallygate.call' ? Object.keys(data) : [])),
  )
  const { rows } = await ledger.pool.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'calls'`,
  )
  const missing = rows.map(({ name }) => memberOf(name)).filter((name) => !members.has(name))
  // `day` follows from `time`; three are `id`, `time` and `subject`.
  expect(missing.sort()).toEqual(['arrived_at', 'call_id', 'client_id', 'day', 'settled'])
  expect(events.find(({ data }) => data.settles === making.callId)).toMatchObject({
    subject: acme?.id,
    data: {
      event_version: 2,
      key: 'ci',
      reported_cost_usd: '0.000000000011',
      pages: 4,
      video_input_tokens: 3,
    },
  })
  expect(events.find(({ id }) => id === call.callId).data).toMatchObject({
    latency_ms: 1.5,
    ttft_ms: 1.001,
    axes: { user: 'ann', session: 's "1"' },
  })
})

test('a correction waits for Kafka as what its entry comes to, later ones behind it, where a worker sends', async () => {
  const { pool } = ledger
  const today = utcDayOf(Date.now())
  const credit = { clientId: 'cli_a', day: today, model: null, pico: -5n, who: 'ann', why: 'goodwill "2"' }
  await addCredit(pool, credit)
  expect(await waiting()).toEqual([])
  await holdOutbox(pool, 'a worker')
  const { adjustmentId } = await addCredit(pool, { ...credit, pico: 7n })
  const [first] = (await waiting()).map(({ event }) => JSON.parse(event))
  expect(first).toMatchObject({
    type: 'tallygate.adjustment',
    subject: 'cli_a',
    data: {
      event_version: 2,
      kind: 'credit',
      adjustment_id: adjustmentId,
      client: 'cli_a',
      day: today,
      model: '(adjustment)',
      adjusted_usd: '0.000000000007',
      priced_calls: 0,
      who: 'ann',
      why: 'goodwill "2"',
    },
  })
  const { rows } = await pool.query('select * from tallygate.adjustment_entries where adjustment_id = $1', [
    adjustmentId,
  ])
  const key = keyFrom(rows[0])
  await inTransaction(pool, (session) =>
    addEntries(session, adjustmentId, [{ key, pico: 3n, pricedCalls: 2n }]),
  )
  const events = (await waiting()).map(({ event }) => event)
  const second = JSON.parse(events[1] ?? '')
  expect(second.data).toEqual({ ...first.data, adjusted_usd: '0.00000000001', priced_calls: 2 })
  expect(second.id).not.toBe(first.id)
  expect(second.time > first.time).toBe(true)
  // The export has how each of them stands now, the one from before Kafka too.
  const exportedNow = await exported(today, today)
  expect(exportedNow).toHaveLength(2)
  expect(exportedNow[1]).toBe(events[1])
  await expect(
    inTransaction(pool, async (session) => {
      await addEntries(session, adjustmentId, [{ key, pico: 1n, pricedCalls: 0n }])
      throw new Error('rolled back')
    }),
  ).rejects.toThrow('rolled back')
  expect(await waiting()).toHaveLength(2)
})

test('a correction goes to Kafka however long no worker has sent, until Kafka is turned off', async () => {
  const { pool } = ledger
  const day = utcDayOf(Date.now())
  const credit = { clientId: 'cli_a', day, model: null, pico: -5n, who: 'ann', why: 'goodwill' }
  await holdOutbox(pool, 'a worker')
  await pool.query(`update tallygate.call_outbox_state set held_until = now() - interval '9 days'`)
  await addCredit(pool, credit)
  expect(await waiting()).toHaveLength(1)
  expect(await discardOutbox(pool)).toEqual({ waitingCalls: 1, skippedCalls: 0 })
  await addCredit(pool, credit)
  expect(await waiting()).toEqual([])
})

test('without Kafka nothing is written for it, not even a row of state', async () => {
  await ledger.rollUp(STREAM, batchOf([aRecord(), aRecord()]))
  expect(await ledger.counts()).toMatchObject({ requests: 2 })
  expect(await waiting()).toEqual([])
  expect(await selectOutboxState(ledger.pool)).toBeNull()
})

test('where no call is kept in Postgres, all of them go to Kafka', async () => {
  const records = [aRecord(), aRecord({ arrivedAtMs: Date.now() - 100 * 86_400_000 })]
  await rollUpInto({}, 0)(STREAM, batchOf(records))
  expect(await ledger.counts()).toMatchObject({ requests: 2, calls: 0 })
  expect(idsOf(await waiting())).toEqual(records.map(({ callId }) => callId))
})

test('what comes twice waits once, and what is rolled back does not wait', async () => {
  const rollUp = rollUpInto()
  const batch = batchOf([aRecord(), aRecord()])
  await rollUp(STREAM, [...batch, ...batch])
  await rollUp(STREAM, batch)
  expect(await waiting()).toHaveLength(2)
  const poison = aCandidate(producer, 3, aRecord({ path: '/v1/\0' }))
  await rollUp(STREAM, [poison, aCandidate(producer, 4)])
  expect(await waiting()).toHaveLength(3)
  expect(await ledger.counts()).toMatchObject({ requests: 3, deadLetters: 1 })
})

test('a dead letter that is counted after all goes to Kafka where a worker sends to it', async () => {
  await rollUpInto()(STREAM, [
    aCandidate(producer, 1, aRecord({ path: '/v1/\0' })),
    aForeignEntry(producer, 2),
  ])
  await rollUpInto()(STREAM, [aCandidate(producer, 3, aRecord({ path: '/v1/\0' }))])
  expect(await retryDeadLetter(ledger.pool, producer, 1)).toMatchObject({ kind: 'counted' })
  expect(await waiting()).toEqual([])
  await holdOutbox(ledger.pool, 'a worker')
  expect(await retryDeadLetter(ledger.pool, producer, 3)).toMatchObject({ kind: 'counted' })
  expect(await waiting()).toHaveLength(1)
})

test('pages are in the order of their calls, at most 1,000 a page, and small beside their events', async () => {
  const records = Array.from({ length: 2_500 }, () => aRecord())
  await rollUpInto()(STREAM, batchOf(records))
  const pages = await selectPages(ledger.pool, '0', UNLIMITED)
  expect(pages.map(({ events }) => events)).toEqual([1_000, 1_000, 500])
  const events = await waiting()
  expect(idsOf(events)).toEqual(records.map(({ callId }) => callId))
  const bytes = pages.reduce((sum, { body }) => sum + body.length, 0)
  const raw = events.reduce((sum, { event }) => sum + event.length, 0)
  expect(bytes).toBeLessThan(raw / 4)
})

test('a page that commits after a later one is read all the same', async () => {
  const { pool } = ledger
  const page = (events: number) => ({ events, body: Buffer.from('x') })
  const late = await pool.connect()
  try {
    await late.query('begin')
    await addPages(late, [page(1)])
    await inTransaction(pool, (session) => addPages(session, [page(2), page(3)]))
    const [first, second] = await selectPages(pool, '0', 5)
    expect([first?.events, second?.events]).toEqual([2, 3])
    expect(await selectPages(pool, first?.id ?? '', 5)).toMatchObject([{ events: 3 }])
    await late.query('commit')
    expect((await selectPages(pool, '0', 3)).map(({ events }) => events)).toEqual([1, 2])
    // One that is larger than the limit is read alone.
    await deletePages(
      pool,
      (await selectPages(pool, '0', 3)).map(({ id }) => id),
    )
    expect((await selectPages(pool, '0', 1)).map(({ events }) => events)).toEqual([3])
  } finally {
    late.release()
  }
})

test('one worker sends at a time, another takes over when it leaves or its time is over', async () => {
  const { pool } = ledger
  expect(await holdOutbox(pool, 'one')).toBe(true)
  expect(await holdOutbox(pool, 'two')).toBe(false)
  expect(await holdOutbox(pool, 'one')).toBe(true)
  await leaveOutbox(pool, 'two', 'not mine')
  expect(await selectOutboxState(pool)).toMatchObject({ held: true, problem: null })
  await leaveOutbox(pool, 'one', 'no broker')
  expect(await selectOutboxState(pool)).toMatchObject({ held: false, problem: 'no broker' })
  expect(await holdOutbox(pool, 'two')).toBe(true)
  await pool.query(`update tallygate.call_outbox_state set held_until = now() - interval '1 s'`)
  expect(await holdOutbox(pool, 'one')).toBe(true)
  const both = await Promise.all(Array.from({ length: 20 }, (_, index) => holdOutbox(pool, `racer ${index}`)))
  expect(both).not.toContain(true)
})

test('a full outbox never stops the count: calls are recorded by day, and sent again once there is room', async () => {
  const full: number[] = []
  const rollUp = rollUpInto({ maxBytes: 1, onFull: (calls) => full.push(calls), checkEveryMs: 0 })
  const today = utcDayOf(Date.now())
  await holdOutbox(ledger.pool, 'one')
  await rollUp(STREAM, batchOf([aRecord()]))
  await measureOutbox(ledger.pool)
  const late = aRecord({ arrivedAtMs: Date.now() - 3 * 86_400_000 })
  await rollUp(STREAM, batchOf([aRecord(), late, aRecord()], 2))
  await rollUp(STREAM, batchOf([aRecord()], 5))
  expect(await ledger.counts()).toMatchObject({ requests: 5, calls: 5 })
  expect(full).toEqual([3, 1])
  expect(await selectOutboxState(ledger.pool)).toMatchObject({
    waitingCalls: 1,
    skipped: { calls: 4, from: addDays(today, -3), to: today },
  })
  await deletePages(
    ledger.pool,
    (await selectPages(ledger.pool, '0', 1)).map(({ id }) => id),
  )
  await measureOutbox(ledger.pool)
  await rollUp(STREAM, batchOf([aRecord()], 6))
  expect(await waiting()).toHaveLength(1)
  expect(await selectOutboxState(ledger.pool)).toMatchObject({ sentCalls: 1, skipped: { calls: 4 } })
  await ledger.pool.query(
    "update tallygate.call_outbox_skipped set at = now() - interval '91 days' where day < $1",
    [today],
  )
  await pruneSkipped(ledger.pool)
  // A count for metrics must never fall.
  expect(await selectOutboxState(ledger.pool)).toMatchObject({ skipped: { calls: 3 }, allSkipped: 4 })
})

test('the disk of a long backlog is given back as soon as it is sent, even while an old snapshot is open', async () => {
  const { pool } = ledger
  const bytes = async () =>
    Number((await pool.query(`select pg_total_relation_size('tallygate.call_outbox') as n`)).rows[0].n)
  const old = await pool.connect()
  try {
    await old.query('begin isolation level repeatable read, read only')
    await old.query('select count(*) from tallygate.daily_usage')
    const body = Buffer.alloc(100_000, 7)
    await inTransaction(pool, (session) => addPages(session, Array(20).fill({ events: 1, body })))
    expect(await truncateOutbox(pool, 0)).toBe(false) // pages are left
    await deletePages(
      pool,
      (await selectPages(pool, '0', 100)).map(({ id }) => id),
    )
    expect(await bytes()).toBeGreaterThan(2_000_000)
    expect(await truncateOutbox(pool, 64 * 1024 * 1024)).toBe(false) // not worth it
    expect(await truncateOutbox(pool, 0)).toBe(true)
    expect(await bytes()).toBeLessThan(50_000)
  } finally {
    await old.query('rollback')
    old.release()
  }
})

test('giving the disk back waits for no roll-up, and no roll-up waits for it', async () => {
  const { pool } = ledger
  const writer = await pool.connect()
  try {
    await writer.query('begin')
    await addPages(writer, [{ events: 1, body: Buffer.from('x') }])
    const began = performance.now()
    expect(await truncateOutbox(pool, 0)).toBe(false)
    expect(performance.now() - began).toBeLessThan(4_000 * busyness()) // less than the time that a lock is awaited
    await writer.query('commit')
  } finally {
    writer.release()
  }
  expect(await selectPages(ledger.pool, '0', UNLIMITED)).toHaveLength(1)
})
