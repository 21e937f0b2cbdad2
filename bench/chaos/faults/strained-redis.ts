import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type Fault, NotNow } from '../fault.ts'
import { withRedis } from '../with-redis.ts'
import type { World } from '../world.ts'

/** What the streams may take beside what Redis needs for itself. */
const ROOM_BYTES = 300_000
const FULL_WITHIN_MS = 30_000
/** So long it stays full before a worker starts. */
const STAYS_FULL_MS = 3_000
const EMPTIED_WITHIN_MS = 60_000

/** Stalls shorter than any patience with Redis, and how long they go on. */
const STALL_MS = 350
const PAUSE_MS = 900
const SLOW_MS = 10_000

/** A Redis that answers, and not as it should. */
export const strainedRedisFaults: readonly Fault[] = [
  {
    name: 'redis full of our own records',
    part: 'redis',
    alone: true,
    inject: fill,
  },
  {
    name: 'redis slow',
    part: 'redis',
    async inject({ redis }) {
      const until = performance.now() + SLOW_MS
      while (performance.now() < until) {
        redis.freeze()
        await delay(STALL_MS)
        redis.thaw()
        await delay(PAUSE_MS)
      }
    },
  },
]

/** While no worker runs, calls fill Redis. It is emptied by workers that start into it, without more memory. */
async function fill(world: World): Promise<void> {
  try {
    await withRedis(world, async (redis) => {
      const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
      await Promise.all(world.workers.map((worker) => worker.kill()))
      await redis.config('SET', 'maxmemory', `${used + ROOM_BYTES}`)
      const fullBy = performance.now() + FULL_WITHIN_MS
      while (!(await isFull(redis))) {
        if (performance.now() > fullBy) throw new NotNow('too few calls came to fill it')
        await delay(100)
      }
      await delay(STAYS_FULL_MS)
      const [stream] = await fullest(redis, world.streams)
      const oldest = await oldestOf(redis, stream)
      await Promise.all(world.workers.map((worker) => worker.start()))
      const emptiedBy = performance.now() + EMPTIED_WITHIN_MS
      while ((await oldestOf(redis, stream)) === oldest) {
        if (performance.now() > emptiedBy) throw new Error('workers that started did not empty a full Redis')
        await delay(100)
      }
    })
  } finally {
    await withRedis(world, (redis) => redis.config('SET', 'maxmemory', '0'))
    await Promise.all(world.workers.map((worker) => (worker.running ? undefined : worker.start())))
  }
}

async function isFull(redis: Redis): Promise<boolean> {
  return await redis.set('chaos:one more', 'x'.repeat(1_000), 'PX', 1).then(
    () => false,
    (error) => {
      if (/\bOOM\b/.test(String(error))) return true
      throw error
    },
  )
}

async function fullest(redis: Redis, streams: readonly string[]): Promise<readonly [string, number]> {
  const lengths = await Promise.all(
    streams.map(async (stream) => [stream, await redis.xlen(stream)] as const),
  )
  const [first = ['', 0] as const] = lengths.toSorted(([, left], [, right]) => right - left)
  return first
}

/** The id of its oldest entry. */
async function oldestOf(redis: Redis, stream: string): Promise<string | undefined> {
  return (await redis.xrange(stream, '-', '+', 'COUNT', 1))[0]?.[0]
}
