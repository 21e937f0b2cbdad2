import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { offsetsName } from '../../src/domain/redis/redis-names.ts'
import { createDrain, type Drain } from '../../src/rollup/drain/drain.ts'
import { createGapCheck } from '../../src/rollup/drain/gap-check.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { rounds } from '../support/rounds.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { append, aRecord, newProducer, quiet } from './records.ts'

/** Fixed in the usual run; another one repeats a failure or looks further. */
const SEED = Number(process.env.LEDGER_SEED ?? 20_261)
const RUNS = rounds({ short: 6, long: 25 })
const WORKERS = 3

let ledger: LedgerDatabase
let keys: TestPrefix
let redis: Redis
/** For the test's own queries: the connections of `ledger` are cut. */
let admin: Postgres
let workers: { readonly redis: Redis; readonly drain: Drain }[]
let streamNumber = 0

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  admin = openPostgres(ledger.url, {
    max: 2,
    statementTimeoutMs: 10_000,
    applicationName: 'test admin',
    log: quiet,
  })
  keys = testRedisPrefix()
  const open = () =>
    openRedis(keys.redisUrl, { name: 'test worker', whenAway: 'fail', silenceMs: 5_000, log: quiet })
  redis = open()
  workers = Array.from({ length: WORKERS }, () => ({
    redis: open(),
    drain: createDrain({
      rollUp: ledger.rollUp,
      gapCheck: createGapCheck(),
      offsetsKey: (stream) => offsetsName(keys.prefix, stream),
      batch: 7,
      blockMs: 1,
      slotMs: 50,
      lingerMs: 1,
    }),
  }))
  await Promise.all([redis, ...workers.map((worker) => worker.redis)].map((it) => untilReady(it, 5_000)))
})
afterAll(async () => {
  for (const connection of [redis, ...workers.map((worker) => worker.redis)]) connection.disconnect()
  await keys.drop()
  await admin.end()
  await ledger.drop()
})

/** What may happen next to one of the producers, the stream, or the workers. */
type Step =
  | { readonly kind: 'send'; readonly producer: number; readonly count: number }
  | { readonly kind: 'rewind'; readonly producer: number; readonly by: number }
  | { readonly kind: 'skip'; readonly producer: number; readonly count: number }
  | { readonly kind: 'drain' }
  | { readonly kind: 'forget' }
  | { readonly kind: 'cut' }

const producerNumber = fc.integer({ min: 0, max: 2 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      producer: producerNumber,
      count: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rewind' as const),
      producer: producerNumber,
      by: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('skip' as const),
      producer: producerNumber,
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ kind: 'drain' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'forget' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const }) },
)

const MODELS = ['a', 'b', 'c']
const JOURNAL = 60

interface Producer {
  readonly id: string
  readonly journal: readonly CallRecord[]
  sent: number
}

test(`over ${RUNS} random schedules with three producers and workers the totals equal what the producers wrote`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      await emptyTables(admin, ['daily_usage', 'call_rows'])
      const stream = `${keys.prefix}calls:${streamNumber++}`
      const producers = [0, 1, 2].map(
        (number): Producer => ({
          id: newProducer(),
          journal: Array.from({ length: JOURNAL }, (_, index) =>
            aRecord({
              clientId: `cli_${number}`,
              model: MODELS[index % 3] ?? '',
              costPico: `${index * 7 + number}`,
            }),
          ),
          sent: 0,
        }),
      )
      const running = new Set<Promise<unknown>>()
      for (const next of steps) {
        await take(next, stream, producers, running)
        await setImmediate()
      }
      await Promise.all(running)
      // In the end every producer finds out what was lost and sends it again, and a worker drains.
      for (const { id, journal } of producers) await append(redis, stream, id, 1, journal)
      await expect
        .poll(async () => {
          await drainOnce(0, stream)
          return await redis.xlen(stream)
        })
        .toBe(0)

      const expected = producers.flatMap(({ journal }) => journal)
      const { rows } = await admin.query(
        `select client_id, model, sum(requests)::int as requests, sum(cost_pico) as cost
         from tallygate.daily_usage group by 1, 2 order by 1, 2`,
      )
      expect(rows).toEqual(totalsOf(expected))
      const calls = await admin.query('select count(*)::int as calls from tallygate.calls')
      expect(calls.rows).toEqual([{ calls: expected.length }])
    }),
    { seed: SEED, numRuns: RUNS, endOnFailure: true },
  )
})

async function take(
  next: Step,
  stream: string,
  producers: readonly Producer[],
  running: Set<Promise<unknown>>,
): Promise<void> {
  switch (next.kind) {
    case 'send':
    case 'skip': {
      const producer = producers[next.producer]
      if (producer === undefined) return
      const { id, journal, sent } = producer
      producer.sent = Math.min(JOURNAL, sent + next.count)
      // Skipped: sent, and lost on the way or in Redis.
      if (next.kind === 'send') await append(redis, stream, id, sent + 1, journal.slice(sent, producer.sent))
      return
    }
    case 'rewind': {
      const producer = producers[next.producer]
      if (producer !== undefined) producer.sent = Math.max(0, producer.sent - next.by)
      return
    }
    case 'drain': {
      const drained = Promise.all(workers.map((_, index) => drainOnce(index, stream)))
      running.add(drained)
      drained.finally(() => running.delete(drained))
      return
    }
    case 'forget':
      await redis.del(stream)
      return
    case 'cut':
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'test roll-up' and datname = current_database()`,
      )
      return
    default:
      next satisfies never
  }
}

/** The next drain repeats one that failed because it was cut. */
async function drainOnce(worker: number, stream: string): Promise<void> {
  const own = workers[worker]
  await own?.drain(stream, own.redis, new AbortController().signal).catch(() => {})
}

function totalsOf(records: readonly CallRecord[]) {
  const groups = Map.groupBy(records, ({ clientId, model }) => `${clientId} ${model}`)
  return [...groups.keys()].sort().map((key) => {
    const group = groups.get(key) ?? []
    return {
      client_id: group[0]?.clientId,
      model: group[0]?.model,
      requests: group.length,
      cost: String(group.reduce((sum, { costPico }) => sum + BigInt(costPico ?? 0), 0n)),
    }
  })
}
