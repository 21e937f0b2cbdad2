import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { queuePrefix } from '../../../src/domain/redis/redis-names.ts'
import type { Random } from '../../../src/standalone/prove/random.ts'
import { entriesOf } from '../dead-gateway.ts'
import { type Fault, NotNow } from '../fault.ts'
import { withFrozenWorkers } from '../frozen-workers.ts'
import { connect, withRedis } from '../with-redis.ts'
import type { World } from '../world.ts'
import { endPolitely, pickRunning } from './processes.ts'

const FROZEN_MS = 5_000
const WORKERS_FROZEN_MS = 2_000
const APPEND_ONLY = 'appendonlydir'

/** A Redis that ends, hangs, loses its data, or is replaced by another one. */
export const redisFaults: readonly Fault[] = [
  {
    name: 'redis restart',
    part: 'redis',
    async inject({ redis }, random) {
      await redis.kill()
      await delay(random.between(0, 1_500))
      await redis.start()
    },
  },
  {
    name: 'redis frozen',
    part: 'redis',
    async inject({ redis }) {
      redis.freeze()
      await delay(FROZEN_MS)
      redis.thaw()
    },
  },
  {
    name: 'redis FLUSHALL',
    part: 'redis',
    async inject(world) {
      await withRedis(world, (redis) => redis.flushall())
    },
  },
  {
    name: 'redis loses the last second',
    part: 'redis',
    async inject({ redis }, random) {
      const [now, before] = [join(redis.folder, APPEND_ONLY), join(redis.folder, 'a-second-ago')]
      await cp(now, before, { recursive: true, preserveTimestamps: true })
      await delay(random.between(500, 1_500))
      await redis.kill()
      await rm(now, { recursive: true, force: true })
      await rename(before, now)
      await redis.start()
    },
  },
  {
    name: 'redis replaced by an empty one',
    part: 'redis',
    async inject({ redis }) {
      await redis.kill()
      await rm(join(redis.folder, APPEND_ONLY), { recursive: true, force: true })
      await redis.start()
    },
  },
  {
    name: 'redis loses what a stopped gateway left',
    part: 'redis',
    alone: true,
    inject: loseWhatIsLeft,
  },
  {
    name: 'the same job twice at once',
    part: 'redis',
    async inject({ redis, streams }) {
      const connection = connect(redis.url)
      const queue = new Queue('jobs', { connection, prefix: queuePrefix('tallygate:') })
      queue.on('error', () => {}) // the adding fails, and tells
      try {
        const jobs = streams.map((subject) => ({
          name: 'roll-up',
          data: { subject },
          opts: { removeOnComplete: true },
        }))
        for (let times = 0; times < 5; times += 1) {
          await queue.addBulk([...jobs, ...jobs, ...jobs, ...jobs])
          await delay(200)
        }
      } catch {
        throw new NotNow('Redis does not answer')
      } finally {
        await queue.close().catch(() => {})
        connection.disconnect()
      }
    },
  },
]

/**
 * While the workers are stopped, a gateway stops gracefully. Then Redis loses all that it shipped and that is
 * not counted yet.
 */
async function loseWhatIsLeft(world: World, random: Random): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  try {
    await withFrozenWorkers(world, async () => {
      await delay(WORKERS_FROZEN_MS)
      const producers = gateway.takers().flatMap((taker) => taker.producers)
      await endPolitely(gateway)
      const left = await Promise.all(producers.map((producer) => entriesOf(world, producer)))
      await withRedis(world, (redis) => redis.flushall())
      if (left.flat().length === 0) throw new NotNow('everything was counted')
    })
  } finally {
    await gateway.start()
  }
}
