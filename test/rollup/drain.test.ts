import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { offsetsName } from '../../src/domain/redis/redis-names.ts'
import { encodeEntry, serialiseGapMarker, serialiseRecord } from '../../src/ledger/entry.ts'
import { createDrain, type Drain } from '../../src/rollup/drain/drain.ts'
import { createGapCheck } from '../../src/rollup/drain/gap-check.ts'
import type { RolledUp, RollUp } from '../../src/rollup/rolled-up.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { patienceMs } from '../support/patience.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { append, aRecord, newProducer, quiet } from './records.ts'

let ledger: LedgerDatabase
let keys: TestPrefix
let redis: Redis
/** A connection of its own, for what is appended while a drain blocks on the other one. */
let writer: Redis
let stream: string
let producer: string
let streamNumber = 0

const connect = () =>
  openRedis(keys.redisUrl, { name: 'test drain', whenAway: 'fail', silenceMs: 5_000, log: quiet })

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  keys = testRedisPrefix()
  redis = connect()
  writer = connect()
  await Promise.all([untilReady(redis, patienceMs()), untilReady(writer, patienceMs())])
})
afterAll(async () => {
  redis.disconnect()
  writer.disconnect()
  await keys.drop()
  await ledger.drop()
})
beforeEach(async () => {
  await emptyTables(ledger.pool, ['daily_usage', 'call_rows', 'ledger_gaps', 'dead_letters'])
  stream = `${keys.prefix}calls:${streamNumber++}`
  producer = newProducer()
})

const never = new AbortController().signal
const records = (count: number) => Array.from({ length: count }, () => aRecord())
const offsetsKey = (stream: string) => offsetsName(keys.prefix, stream)

/** A slot that a busy machine does not fill; a drain that leaves entries waiting lasts to its end. */
const LONG_SLOT_MS = 10_000
const WAITING = { slotMs: 1_000 }

function newDrain(
  options: { rollUp?: RollUp; batch?: number; patienceMs?: number; slotMs?: number } = {},
): Drain {
  const { rollUp = ledger.rollUp, batch = 100, patienceMs = 600_000, slotMs = LONG_SLOT_MS } = options
  const gapCheck = createGapCheck({ patienceMs })
  return createDrain({
    rollUp,
    gapCheck,
    offsetsKey,
    batch,
    blockMs: 20,
    slotMs,
    lingerMs: 5,
  })
}

test('a gap that was recorded is made known, though the drain fails before its end', async () => {
  await writer.xadd(stream, '*', ...encodeEntry(producer, 3, serialiseGapMarker(1, 3, 'journal_pruned')))
  await append(redis, stream, producer, 4, records(1))
  const refusing = new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'pipeline') {
        return () => {
          throw new Error('Redis has gone')
        }
      }
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const known: RolledUp[] = []
  const drain = createDrain({
    rollUp: ledger.rollUp,
    gapCheck: createGapCheck(),
    offsetsKey,
    blockMs: 20,
    onCommitted: (of, rolledUp) => of === stream && known.push(rolledUp),
  })
  await expect(drain(stream, refusing, never)).rejects.toThrow('Redis has gone')
  expect(known.flatMap(({ gaps }) => gaps)).toMatchObject([{ producer, from: 1, to: 3 }])
})

test('a drain counts everything, publishes the committed offsets and leaves an empty stream', async () => {
  await append(redis, stream, producer, 1, records(950))
  expect(await newDrain()(stream, redis, never)).toMatchObject({ end: 'idle', counted: 950 })
  expect(await ledger.counts()).toMatchObject({ requests: 950, calls: 950 })
  expect(await redis.xlen(stream)).toBe(0)
  expect(await redis.hget(offsetsKey(stream), producer)).toBe('950')
})

test('nothing leaves the stream before it is committed', async () => {
  await append(redis, stream, producer, 1, records(20))
  const failing: RollUp = async () => {
    throw new Error('Postgres is away')
  }
  await expect(newDrain({ rollUp: failing })(stream, redis, never)).rejects.toThrow('Postgres is away')
  expect(await redis.xlen(stream)).toBe(20)
})

test('entries left in the stream after their commit are dropped by the next drain, not counted', async () => {
  await append(redis, stream, producer, 1, records(20))
  const entries = await redis.xrange(stream, '-', '+')
  await newDrain()(stream, redis, never)
  for (const [, fields] of entries) await redis.xadd(stream, '*', ...fields)
  expect(await newDrain()(stream, redis, never)).toMatchObject({ counted: 0 })
  expect(await redis.xlen(stream)).toBe(0)
  expect(await ledger.counts()).toMatchObject({ requests: 20 })
})

test('entries behind a gap stay, others are counted past them, and they count when the gap is filled', async () => {
  const other = newProducer()
  await append(redis, stream, producer, 4, records(300))
  await append(redis, stream, other, 1, records(300))
  expect(await newDrain(WAITING)(stream, redis, never)).toMatchObject({ counted: 300, waiting: 300 })
  expect(await redis.xlen(stream)).toBe(300)

  await append(redis, stream, producer, 1, records(3))
  expect(await newDrain()(stream, redis, never)).toMatchObject({ counted: 303, waiting: 0 })
  expect(await redis.xlen(stream)).toBe(0)
  expect(await ledger.committedOffset(producer)).toBe(303)
})

test('a gap that is filled while a drain waits for more is counted by that same drain', async () => {
  await append(redis, stream, producer, 2, records(5))
  const drained = newDrain()(stream, redis, never)
  await append(writer, stream, producer, 1, records(1))
  expect(await drained).toMatchObject({ counted: 6, waiting: 0 })
})

test('a producer sends everything again after a loss: each record counts once', async () => {
  const all = records(500)
  await append(redis, stream, producer, 1, all.slice(0, 100))
  await newDrain()(stream, redis, never)
  await append(redis, stream, producer, 201, all.slice(200))
  await append(redis, stream, producer, 51, all.slice(50))
  expect(await newDrain()(stream, redis, never)).toMatchObject({ counted: 400, waiting: 0 })
  expect(await redis.xlen(stream)).toBe(0)
  expect(await ledger.counts()).toMatchObject({ requests: 500, calls: 500 })
})

test('damaged entries are deleted, not counted, and what follows waits for the original', async () => {
  await append(redis, stream, producer, 1, records(2))
  const damaged = encodeEntry(producer, 3, serialiseRecord(aRecord()))
  damaged[9] = `${damaged[9]} `
  await redis.xadd(stream, '*', ...damaged)
  await redis.xadd(stream, '*', 'some', 'thing')
  await append(redis, stream, producer, 4, records(1))
  expect(await newDrain(WAITING)(stream, redis, never)).toMatchObject({ counted: 2, corrupt: 2, waiting: 1 })
  expect(await redis.xlen(stream)).toBe(1)
  await append(redis, stream, producer, 3, records(1))
  expect(await newDrain()(stream, redis, never)).toMatchObject({ counted: 2 })
})

test('a stream with an entry of a later version is left alone', async () => {
  await append(redis, stream, producer, 1, records(2))
  await redis.xadd(stream, '*', ...newerEntry(producer, 3, '{}'))
  expect(await newDrain()(stream, redis, never)).toMatchObject({ end: 'newer', counted: 0 })
  expect(await redis.xlen(stream)).toBe(3)
  expect(await ledger.counts()).toMatchObject({ requests: 0 })
})

test('a gap marker closes a gap at once', async () => {
  await append(redis, stream, producer, 8, records(2))
  await redis.xadd(stream, '*', ...encodeEntry(producer, 7, serialiseGapMarker(1, 7, 'journal_pruned')))
  const drained = await newDrain()(stream, redis, never)
  expect(drained).toMatchObject({ counted: 2, waiting: 0 })
  expect(drained.gaps).toMatchObject([{ from: 1, to: 7, reason: 'journal_pruned' }])
  expect(await redis.xlen(stream)).toBe(0)
})

test('a producer that stands before gaps for too long is counted run by run, and every gap is recorded', async () => {
  await append(redis, stream, producer, 30, records(5))
  await append(redis, stream, producer, 10, records(5))
  await append(redis, stream, producer, 50, records(350))
  const drain = newDrain({ patienceMs: 50, batch: 100 })
  const first = await drain(stream, redis, never)
  const second = await drain(stream, redis, never)
  expect(first.counted + second.counted).toBe(360)
  expect([...first.gaps, ...second.gaps]).toMatchObject([
    { from: 1, to: 9, reason: 'producer_lost' },
    { from: 15, to: 29, reason: 'producer_lost' },
    { from: 35, to: 49, reason: 'producer_lost' },
  ])
  expect(await redis.xlen(stream)).toBe(0)
  expect(await ledger.counts()).toMatchObject({ requests: 360, missing: 9 + 15 + 15 })

  await append(redis, stream, producer, 1, records(9))
  expect(await drain(stream, redis, never)).toMatchObject({ counted: 9 })
  expect(await ledger.counts()).toMatchObject({ requests: 369, missing: 30 })
})

test('a drain ends when its slot is over although entries keep coming', async () => {
  const stop = new AbortController()
  const writing = (async () => {
    for (let sequence = 1; !stop.signal.aborted; sequence += 1) {
      await append(writer, stream, producer, sequence, records(1))
    }
  })()
  expect(await newDrain({ slotMs: 300 })(stream, redis, never)).toMatchObject({ end: 'slot' })
  stop.abort()
  await writing
})

test('a drain that is asked to stop ends at once, also while it waits', async () => {
  const connection = connect()
  await untilReady(connection, patienceMs())
  const stop = new AbortController()
  const drain = createDrain({
    rollUp: ledger.rollUp,
    gapCheck: createGapCheck(),
    offsetsKey,
    blockMs: 60_000,
  })
  const drained = drain(stream, connection, stop.signal)
  await expect.poll(() => redis.client('LIST')).toContain('cmd=xread')
  stop.abort()
  expect(await drained).toMatchObject({ end: 'stopped' })
})

/** An entry as a later release would write it; only the form of the envelope is the same. */
function newerEntry(producer: string, sequence: number, body: string): string[] {
  const checksum = crc32(body, crc32(`${producer}:${sequence}:2:`))
  return ['p', producer, 's', `${sequence}`, 'v', '2', 'c', checksum.toString(16).padStart(8, '0'), 'r', body]
}
