import pg from 'pg'
import { createLog } from '../../../src/lib/log.ts'
import { claimLastingPort } from '../../../src/standalone/stand/lasting-port.ts'
import { type Redis, withRedis } from '../../../src/store/connection/redis.ts'
import type { Fault } from '../fault.ts'
import type { World } from '../world.ts'

const log = createLog('silent', 'test')

function inRedis<T>({ stand }: World, work: (redis: Redis) => Promise<T>): Promise<T> {
  return withRedis(stand.redis.url, 10_000, log, work)
}

async function configure(world: World, name: string, value: string): Promise<void> {
  await inRedis(world, (redis) => redis.call('config', 'set', name, value))
}

const FILLING = 'fills-redis'
const held: pg.Client[] = []
const NOWHERE = `127.0.0.1:${await claimLastingPort()}`

/** Takes every connection that there is, as a program that never closes any does. */
async function holdConnections({ stand }: World): Promise<void> {
  while (true) {
    const client = new pg.Client(stand.postgres.url)
    client.on('error', () => {})
    try {
      await client.connect()
      held.push(client)
    } catch {
      return
    }
  }
}

export const SERVER_FAULTS: readonly Fault[] = [
  {
    name: 'Redis is frozen',
    begin: async ({ stand }) => stand.redis.freeze(),
    line: 'redis',
    says: /^not reachable/,
    advice: /^start it, or correct REDIS_URL/,
    item: 'redis',
    repair: async ({ stand }) => stand.redis.thaw(),
  },
  {
    name: 'Redis evicts data',
    begin: (world) => configure(world, 'maxmemory-policy', 'allkeys-lru'),
    line: 'redis',
    says: /when memory is full it evicts data \(allkeys-lru\)/,
    advice: /^set maxmemory-policy noeviction/,
    repair: (world) => configure(world, 'maxmemory-policy', 'noeviction'),
  },
  {
    name: 'Redis has no append-only file',
    begin: (world) => configure(world, 'appendonly', 'no'),
    line: 'redis',
    says: /it keeps nothing over a restart/,
    advice: /^set appendonly yes/,
    state: 'note',
    repair: (world) => configure(world, 'appendonly', 'yes'),
  },
  {
    name: 'the memory of Redis is full',
    async begin(world) {
      await inRedis(world, async (redis) => {
        await redis.set(FILLING, 'x'.repeat(4_000_000))
        await redis.call('config', 'set', 'maxmemory', '2000000')
      })
    },
    line: 'redis',
    says: /^REDIS_URL names a server whose memory is full/,
    advice: /where other data fills it, raise its maxmemory/,
    async repair(world) {
      await configure(world, 'maxmemory', '0')
      await inRedis(world, (redis) => redis.del(FILLING))
    },
  },
  {
    name: 'PostgreSQL is frozen',
    begin: async ({ stand }) => stand.postgres.freeze(),
    line: 'postgres',
    says: /^not reachable/,
    advice: /^start it, or correct DATABASE_URL/,
    item: 'postgres',
    repair: async ({ stand }) => stand.postgres.thaw(),
  },
  {
    name: 'PostgreSQL has no connection left',
    begin: holdConnections,
    line: 'postgres',
    says: /^refuses: .*too many/,
    advice: /raise max_connections, put a pooler before it, or end what holds them/,
    async repair() {
      await Promise.all(held.splice(0).map((client) => client.end()))
    },
  },
  {
    name: 'Kafka is away',
    async begin(world) {
      await world.run({}, { CALLS_KAFKA_BROKERS: NOWHERE })
      world.meet()
    },
    line: 'kafka',
    says: /^calls do not reach Kafka: /,
    advice: /^start the brokers, or correct CALLS_KAFKA_/,
    async repair(world) {
      await world.run({}, {})
      const { exitCode, out } = await world.command('kafka', 'off')
      if (exitCode !== 0) throw new Error(out)
    },
  },
]
