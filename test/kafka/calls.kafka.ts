import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { leaseName } from '../../src/domain/redis/redis-names.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { readEvents } from '../../src/usage/events/read-events.ts'
import { selectOutboxState } from '../../src/usage/outbox/outbox-state.ts'
import { append, aRecord, newProducer } from '../rollup/records.ts'
import { type TestProcess, workerProcess } from '../support/processes.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { type KafkaBroker, startKafka } from './support/broker.ts'
import { openClickHouse } from './support/clickhouse.ts'

let kafka: KafkaBroker
let upstream: TestUpstream
let stack: TestStack
let redis: Redis
let workers: TestProcess[]

beforeAll(async () => {
  ;[kafka, upstream] = await Promise.all([startKafka(), startUpstream()])
})
afterAll(async () => {
  await kafka?.stop()
  await upstream?.close()
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()))
  redis.disconnect()
  await stack.stop()
})

/** A gateway in this process, and workers of their own that send to the topic. */
async function start(
  topic: string,
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  await kafka.createTopic(topic, 6)
  stack = await startStack(upstream.url, { workers: false, env })
  redis = new Redis(stack.env.REDIS_URL ?? '')
  const ofWorkers = {
    ...stack.env,
    LOG_LEVEL: 'fatal',
    CALLS_KAFKA_BROKERS: kafka.address,
    CALLS_KAFKA_TOPIC: topic,
  }
  workers = Array.from({ length: processes }, (_, index) => workerProcess(`worker ${index}`, ofWorkers))
  await Promise.all(workers.map((worker) => worker.start()))
}

/** One call through the gateway; its id. */
async function call(client: TestClient): Promise<string> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.arrayBuffer()
  return answer.headers.get('x-tallygate-call-id') ?? ''
}

/** Without any progress for so long, counting or sending has stopped; a busy machine only makes it slow. */
const STOPPED_MS = 90_000

/** Until so many calls are counted and none of them waits. */
async function allSent(counted: number): Promise<void> {
  let before = ''
  let movedAtMs = performance.now()
  for (;;) {
    const { rows } = await stack.pool.query(
      `select (select coalesce(sum(requests + coalesce(settlements, 0)), 0)::int from tallygate.daily_usage) as counted,
         (select count(*)::int from tallygate.call_outbox) as waiting`,
    )
    if (rows[0].counted === counted && rows[0].waiting === 0) return
    const now = JSON.stringify(rows[0])
    if (now !== before) movedAtMs = performance.now()
    before = now
    if (performance.now() - movedAtMs > STOPPED_MS)
      throw new Error(`nothing moves: ${now}, counted should be ${counted}; ${await leftNow()}`)
    await delay(200)
  }
}

/** Who could count and send, and what is left for them. */
async function leftNow(): Promise<string> {
  const stream = `${stack.redisPrefix}calls`
  const [entries, lease] = [await redis.xlen(stream), await redis.get(leaseName(stack.redisPrefix, stream))]
  const outbox = await selectOutboxState(stack.pool)
  const ended = workers.flatMap(({ name, ended }) => (ended === null ? [] : [`${name} ended: ${ended}`]))
  return `${entries} entries on the stream, its lease ${lease ?? 'free'}; outbox ${JSON.stringify(outbox)}; ${ended.join(', ') || 'all workers run'}`
}

async function sentCalls(): Promise<number> {
  return (await selectOutboxState(stack.pool))?.sentCalls ?? 0
}

/** The events of all calls that Postgres has and of corrections, as the export writes them. */
async function exported(): Promise<string[]> {
  const lines: string[] = []
  for await (const { rows } of readEvents(stack.pool, days())) lines.push(...rows)
  return lines
}

function days() {
  const today = utcDayOf(Date.now())
  return { from: addDays(today, -3), to: addDays(today, 1), clientId: null }
}

const CLIENTS = 7

/** Records of each kind: calls, calls that a crash cut, a batch that is submitted and later reported. */
function recordsOf(count: number): CallRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const clientId = `cli_${index % CLIENTS}`
    const batch = `batch_${Math.floor(index / 10)}-${randomUUID()}`
    if (index % 10 === 3)
      return aRecord({ clientId, outcome: 'interrupted', status: null, latencyUs: null, ttftUs: null })
    if (index % 10 === 5)
      return aRecord({
        clientId,
        path: '/v1/batches',
        model: '(none)',
        usage: NO_USAGE,
        usageSource: 'none',
        costPico: null,
        priceId: null,
        unpricedReason: 'billed_later',
        responseId: batch,
        responseUse: 'created',
        objects: [{ id: batch, kind: 'batch', is: 'created', job: true }],
      })
    return aRecord({ clientId })
  })
}

/** A call that reports what the batch used. */
function reporting({ responseId }: CallRecord): CallRecord {
  return aRecord({ clientId: 'cli_fetching', method: 'GET', responseId, responseUse: 'fetched' })
}

test('every call is in Kafka once or more with its id, none missing, through kill -9 of workers and broker', async () => {
  await start('chaos', 2)
  const acme = await stack.addClient('acme')
  const producer = newProducer()
  const stream = `${stack.redisPrefix}calls`
  const records: CallRecord[] = []
  const called: string[] = []
  const add = async (some: readonly CallRecord[]) => {
    await append(redis, stream, producer, records.length + 1, some)
    records.push(...some)
  }
  await add(recordsOf(500))
  called.push(await call(acme))

  let waitedAtKills = 0
  for (let round = 0; round < 3; round += 1) {
    await kafka.kill()
    await add(recordsOf(8_000))
    for (let calls = 0; calls < 100; calls += 10) {
      called.push(...(await Promise.all(Array.from({ length: 10 }, () => call(acme)))))
    }
    const before = await sentCalls()
    await kafka.start()
    // In the middle of what had piled up.
    await vi.waitFor(async () => expect(await sentCalls()).toBeGreaterThan(before), {
      timeout: 60_000,
      interval: 5,
    })
    // After a batch was deleted, or before, or while it is under way.
    await delay(Math.random() * 200)
    await Promise.all([...(round === 1 ? [kafka.kill()] : []), ...workers.map((worker) => worker.kill())])
    const { rows } = await stack.pool.query('select count(*)::int as n from tallygate.call_outbox')
    waitedAtKills += rows[0].n
    await Promise.all(workers.map((worker) => worker.start()))
    if (round === 1) await kafka.start()
  }
  expect(waitedAtKills).toBeGreaterThan(0)
  const batches = records.filter(({ responseUse }) => responseUse === 'created').slice(0, 50)
  await add(batches.map(reporting))
  // Each report is a request and a settlement.
  await allSent(records.length + called.length + batches.length)

  const events = await kafka.read('chaos')
  const wanted = await exported()
  // A job that has reported is unpriced no longer, which is an event too.
  expect(wanted).toHaveLength(records.length + called.length + 2 * batches.length)
  const values = new Set(events.map(({ value }) => value))
  expect(wanted.filter((line) => !values.has(line))).toEqual([])
  expect(values.size).toBe(wanted.length)
  console.log(
    `${wanted.length} to be sent, ${events.length} events, ${events.length - wanted.length} of them repeated`,
  )

  const ids = new Set([...values].map((value) => JSON.parse(value).id))
  expect([...called, ...records.map(({ callId }) => callId)].filter((id) => !ids.has(id))).toEqual([])
  const data = [...values].map((value) => JSON.parse(value).data)
  expect(data.filter(({ outcome }) => outcome === 'interrupted')).toHaveLength(2_450)
  expect(data.filter(({ settles }) => settles !== undefined)).toHaveLength(batches.length)

  // Where Java's own producer puts the client's id, and in its order.
  expect(events.filter(({ partition, usualPartition }) => partition !== usualPartition)).toEqual([])
  expect(new Set(events.map(({ contentType }) => contentType))).toEqual(
    new Set(['application/cloudevents+json; charset=UTF-8']),
  )
  const byKey = Map.groupBy(events, ({ key }) => key)
  for (let client = 0; client < CLIENTS; client += 1) {
    const came = new Set((byKey.get(`cli_${client}`) ?? []).map(({ value }) => JSON.parse(value)))
    const calls = [...came]
      .filter(({ type, data: { settles } }) => type === 'tallygate.call' && settles === undefined)
      .map(({ id }) => id)
    const order = records.filter(({ clientId }) => clientId === `cli_${client}`).map(({ callId }) => callId)
    expect([...new Set(calls)]).toEqual(order)
  }
})

test('where no call is kept in Postgres Kafka has all of them, and an answered one within seconds', async () => {
  await start('only-kafka', 1, { CALL_RETENTION_DAYS: '0' })
  const acme = await stack.addClient('acme')
  const ids = await Promise.all(Array.from({ length: 20 }, () => call(acme)))
  await allSent(ids.length)
  const { rows } = await stack.pool.query('select count(*)::int as n from tallygate.calls')
  expect(rows[0].n).toBe(0)
  const events = await kafka.read('only-kafka')
  expect(events.map(({ value }) => JSON.parse(value).id).sort()).toEqual([...ids].sort())
  expect(JSON.parse(events[0]?.value ?? '{}')).toMatchObject({
    specversion: '1.0',
    type: 'tallygate.call',
    subject: acme.id,
    data: { client: 'acme', status: 200, usage_source: 'reported' },
  })
})

test('ClickHouse has the ledger’s totals to the picodollar after kills, repeats and corrections', async () => {
  await start('clickhouse', 2)
  const producer = newProducer()
  const stream = `${stack.redisPrefix}calls`
  const records = recordsOf(6_000)
  const credit = { clientId: 'cli_1', day: utcDayOf(Date.now()), model: null, who: 'ann', why: 'goodwill' }
  const half = records.length / 2
  await append(redis, stream, producer, 1, records.slice(0, half))
  await vi.waitFor(async () => expect(await sentCalls()).toBeGreaterThan(0), { timeout: 60_000, interval: 5 })
  await addCredit(stack.pool, { ...credit, pico: -1n })
  await Promise.all([kafka.kill(), ...workers.map((worker) => worker.kill())])
  // While none sends.
  await addCredit(stack.pool, { ...credit, pico: 10n ** 20n + 3n, model: 'gpt-4o' })
  await Promise.all(workers.map((worker) => worker.start()))
  await append(redis, stream, producer, half + 1, records.slice(half))
  await Promise.all(workers.map((worker) => worker.kill()))
  await Promise.all([kafka.start(), ...workers.map((worker) => worker.start())])
  const batches = records.filter(({ responseUse }) => responseUse === 'created').slice(0, 50)
  await append(redis, stream, producer, records.length + 1, batches.map(reporting))
  await allSent(records.length + 2 * batches.length)

  const events = (await kafka.read('clickhouse')).map(({ value }) => value)
  const clickHouse = await openClickHouse()
  try {
    await clickHouse.insert(events)
    await clickHouse.insert(events)
    expect(await clickHouse.check(stack.pool, days())).toEqual([])
    const [found] = await clickHouse.query(
      `select sum(requests) as requests, toString(sum(adjusted_usd)) as adjusted from tallygate.daily`,
    )
    expect(found).toEqual({ requests: records.length + batches.length, adjusted: '100000000.000000000002' })
  } finally {
    await clickHouse.drop()
  }
})
