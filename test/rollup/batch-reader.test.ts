import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { offsetsName } from '../../src/domain/redis/redis-names.ts'
import { encodeEntry, serialiseRecord, tagDatabase } from '../../src/ledger/entry.ts'
import { BatchReader } from '../../src/rollup/drain/batch-reader.ts'
import { createDrain, type Drain } from '../../src/rollup/drain/drain.ts'
import { createGapCheck } from '../../src/rollup/drain/gap-check.ts'
import type { Candidate, RolledUp, RollUp } from '../../src/rollup/rolled-up.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { patienceMs } from '../support/patience.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'
import { append, aRecord, newProducer, quiet } from './records.ts'

let keys: TestPrefix
let redis: Redis
let writer: Redis
let stream: string
let producer: string
let streamNumber = 0

const connect = () =>
  openRedis(keys.redisUrl, { name: 'test batches', whenAway: 'fail', silenceMs: 5_000, log: quiet })
const never = new AbortController().signal
const records = (count: number) => Array.from({ length: count }, () => aRecord())
const newReader = (databaseId: string | null = null, signal = never) =>
  new BatchReader(redis, stream, databaseId, signal)

beforeAll(async () => {
  keys = testRedisPrefix()
  redis = connect()
  writer = connect()
  await Promise.all([untilReady(redis, patienceMs()), untilReady(writer, patienceMs())])
})
afterAll(async () => {
  redis.disconnect()
  writer.disconnect()
  await keys.drop()
})
beforeEach(() => {
  vi.restoreAllMocks()
  stream = `${keys.prefix}calls:${streamNumber++}`
  producer = newProducer()
})

const sequencesIn = ({ candidates }: { candidates: readonly { sequence: number }[] }) =>
  candidates.map(({ sequence }) => sequence)
const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

test('batches follow each other without a gap or an entry twice, and the last one says that it is', async () => {
  await append(redis, stream, producer, 1, records(25))
  const reader = newReader()
  const [first, second, third] = [
    await reader.read(10, 0),
    await reader.read(10, 0),
    await reader.read(10, 0),
  ]
  expect([first, second, third].map(sequencesIn)).toEqual([from(1, 10), from(11, 10), from(21, 5)])
  expect([first, second, third].map(({ atTheEnd }) => atTheEnd)).toEqual([false, false, true])
  await append(redis, stream, producer, 26, records(3))
  expect(sequencesIn(await reader.read(10, 0))).toEqual([26, 27, 28])
})

test('a batch of many entries is read in several commands of 500 at most, and no further than asked', async () => {
  await append(redis, stream, producer, 1, records(1_300))
  const xread = vi.spyOn(redis, 'xread')
  const batch = await newReader().read(1_200, 0)
  expect(sequencesIn(batch)).toEqual(from(1, 1_200))
  expect(batch).toMatchObject({ entries: 1_200, atTheEnd: false })
  expect(xread.mock.calls.map(([, count]) => count)).toEqual([500, 500, 200])
})

test('a batch ends with the command that brings its text above the bound, and says that more waits', async () => {
  await append(redis, stream, producer, 1, records(1_200))
  const reader = new BatchReader(redis, stream, null, never, 1)
  const [first, second, third] = [
    await reader.read(10_000, 0),
    await reader.read(10_000, 0),
    await reader.read(10_000, 0),
  ]
  expect([first, second, third].map(({ entries }) => entries)).toEqual([500, 500, 200])
  expect([first, second, third].map(({ atTheEnd }) => atTheEnd)).toEqual([false, false, true])
})

test('after a restart it begins at the beginning, and what was being read meanwhile is dropped', async () => {
  await append(redis, stream, producer, 1, records(20))
  const reader = newReader()
  expect(sequencesIn(await reader.read(10, 0))).toEqual(from(1, 10))
  const reading = reader.read(10, 0)
  reader.restart()
  const dropped = await reading
  expect(dropped.candidates).toEqual([])
  expect(sequencesIn(await reader.read(10, 0))).toEqual(from(1, 10))
})

test('it waits for the first entry, and not for further ones', async () => {
  const reading = newReader().read(10, 5_000)
  await append(writer, stream, producer, 1, records(1))
  expect(await reading).toMatchObject({ entries: 1, atTheEnd: true })
  expect(await newReader().read(10, 20)).toMatchObject({ entries: 1 })
})

test('entries of another database are passed over, those of none are read', async () => {
  const own = encodeEntry(producer, 1, serialiseRecord(aRecord()), tagDatabase('a'))
  const other = encodeEntry(producer, 2, serialiseRecord(aRecord()), tagDatabase('b'))
  const older = encodeEntry(producer, 3, serialiseRecord(aRecord()))
  for (const entry of [own, other, older]) await redis.xadd(stream, '*', ...entry)
  const batch = await newReader('a').read(10, 0)
  expect(sequencesIn(batch)).toEqual([1, 3])
  expect(batch).toMatchObject({ entries: 3, foreign: 1 })
  expect((await newReader(null).read(10, 0)).candidates).toHaveLength(3)
})

/** @param count What stands for a transaction; it gives the committed offset. */
function newDrain(count: (batch: readonly Candidate[]) => Promise<number>, batch?: number): Drain {
  const rollUp: RollUp = async (_, entries): Promise<RolledUp> => {
    const offset = await count(entries)
    return {
      kind: 'done',
      settled: entries.map(({ id }) => id),
      waiting: [],
      committedOffsets: new Map([[producer, offset]]),
      counted: entries.length,
      deadLetters: 0,
      callsSkipped: 0,
      gaps: [],
    }
  }
  return createDrain({
    rollUp,
    gapCheck: createGapCheck(),
    offsetsKey: (of) => offsetsName(keys.prefix, of),
    ...(batch === undefined ? {} : { batch }),
    blockMs: 20,
    lingerMs: 5,
  })
}

test('of a backlog a drain takes more in one transaction than while none is there', async () => {
  await append(redis, stream, producer, 1, records(9_000))
  const sizes: number[] = []
  const drain = newDrain(async (batch) => {
    sizes.push(batch.length)
    return batch.at(-1)?.to ?? 0
  })
  expect(await drain(stream, redis, never)).toMatchObject({ end: 'idle', counted: 9_000 })
  // The second is read while the first is counted, when nothing is known yet.
  expect(sizes).toEqual([2_000, 2_000, 5_000])
})

test('in normal operation no entry is read twice, although batches are read ahead and deleted behind', async () => {
  const total = 3_000
  await append(redis, stream, producer, 1, records(1_500))
  const xread = vi.spyOn(redis, 'xread')
  let offset = 0
  const drain = newDrain(async (batch) => {
    // Amid a transaction more comes, and the next batch is read.
    if (offset < total / 2) await append(writer, stream, producer, 1_501 + offset, records(batch.length))
    offset += batch.length
    return offset
  }, 100)
  expect(await drain(stream, redis, never)).toMatchObject({ end: 'idle', counted: total })
  expect(await redis.xlen(stream)).toBe(0)
  const replies = await Promise.all(xread.mock.results.map(({ value }) => value))
  const ids = replies.flatMap((reply) => reply?.[0]?.[1].map(([id]: [string]) => id) ?? [])
  expect(ids).toHaveLength(total)
  expect(new Set(ids).size).toBe(total)
})
