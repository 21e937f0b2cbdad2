import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { leaseName, workersName } from '../../src/domain/redis/redis-names.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import { Leases } from '../../workers/shards/leases.ts'
import { quiet } from '../rollup/records.ts'
import { patienceMs } from '../support/patience.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'

let keys: TestPrefix
let redis: Redis
let prefix: string
let streams: string[]
let number = 0

beforeAll(async () => {
  keys = testRedisPrefix()
  redis = openRedis(keys.redisUrl, { name: 'test leases', whenAway: 'fail', silenceMs: 5_000, log: quiet })
  await untilReady(redis, patienceMs())
})
afterAll(async () => {
  redis.disconnect()
  await keys.drop()
})
beforeEach(() => {
  prefix = `${keys.prefix}${number++}:`
  streams = ['calls', 'calls:1', 'calls:2', 'calls:3'].map((name) => `${prefix}${name}`)
})

const newLeases = (worker: string) => new Leases(redis, prefix, worker)

/** A second of each of these workers' lives: gives back what is not theirs, takes what is. */
async function live(workers: readonly Leases[], of = streams): Promise<void> {
  for (const worker of workers) {
    await worker.renew(of)
    for (const stream of of) {
      if (worker.holds(stream)) continue
      await worker.release(stream)
      await worker.take(stream)
    }
  }
}

const held = (worker: Leases) => streams.filter((stream) => worker.holds(stream)).length
const holders = (workers: readonly Leases[]) =>
  streams.map((stream) => workers.filter((worker) => worker.holds(stream)).length)

test.each([
  [1, [4]],
  [2, [2, 2]],
  [3, [1, 1, 2]],
  [4, [1, 1, 1, 1]],
  [5, [0, 1, 1, 1, 1]],
])('%i workers share four shards evenly, and none has two readers', async (count, shares) => {
  const workers = Array.from({ length: count }, (_, worker) => newLeases(`worker ${worker}`))
  await live(workers)
  await live(workers)
  await live(workers)
  expect(workers.map(held).sort()).toEqual(shares)
  expect(holders(workers)).toEqual([1, 1, 1, 1])
})

test('a worker that died while the clock of Redis was ahead, as of a master before a failover, is dealt nothing', async () => {
  const inAnHourMs = Date.now() + 3_600_000
  await redis.zadd(workersName(prefix), inAnHourMs, '0 dead')
  const worker = newLeases('a')
  await live([worker])
  expect(held(worker)).toBe(4)
})

test('a worker that comes is dealt its share, and one that ends leaves all of its own at once', async () => {
  const [first, second] = [newLeases('a'), newLeases('b')]
  await live([first])
  expect(held(first)).toBe(4)
  await live([second, first, second])
  expect([held(first), held(second)]).toEqual([2, 2])
  await second.close()
  await live([first])
  expect(held(first)).toBe(4)
})

test('a worker takes no lease that another holds', async () => {
  const [stream = ''] = streams
  const worker = newLeases('a')
  await redis.set(leaseName(prefix, stream), 'another', 'PX', 60_000)
  await live([worker])
  expect([worker.holds(stream), held(worker)]).toEqual([false, 3])
  await redis.del(leaseName(prefix, stream))
  await live([worker])
  expect(held(worker)).toBe(4)
})

test('a lease that another took, as after a loss in Redis, is held no longer', async () => {
  const [stream = ''] = streams
  const worker = newLeases('a')
  await live([worker])
  await redis.set(leaseName(prefix, stream), 'another', 'PX', 60_000)
  await worker.renew(streams)
  expect(worker.holds(stream)).toBe(false)
})

test('a lease that Redis lost is simply taken again', async () => {
  const worker = newLeases('a')
  await live([worker])
  await redis.del(workersName(prefix), ...streams.map((stream) => leaseName(prefix, stream)))
  await worker.renew(streams)
  expect(held(worker)).toBe(4)
  expect(await redis.get(leaseName(prefix, streams[0] ?? ''))).toBe('a')
})

test('a shard that its owner fails to count is taken by another, and not given back at once', async () => {
  const [stream = ''] = streams
  const [owner, other] = [newLeases('a'), newLeases('b')]
  await live([owner, other, owner, other])
  expect(owner.holds(stream)).toBe(true)
  await owner.failed(stream)
  await expect
    .poll(
      async () => {
        // It runs, and says so, or the shard would be dealt to the other.
        await owner.renew(streams)
        await other.renew(streams)
        return await other.take(stream)
      },
      { interval: 100 },
    )
    .toBe(true)
  await live([owner, other])
  expect([owner.holds(stream), other.holds(stream)]).toEqual([false, true])
})

test('a worker that failed leaves the shard alone for a moment, then takes it again', async () => {
  const [stream = ''] = streams
  const worker = newLeases('a')
  await live([worker])
  await worker.failed(stream)
  expect(await worker.take(stream)).toBe(false)
  await expect.poll(() => worker.take(stream), { interval: 20 }).toBe(true)
})
