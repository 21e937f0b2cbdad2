import { dead, type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import type { Redis } from '../connection/redis.ts'
import { readRedisState } from '../connection/redis-state.ts'
import { probeRedis } from '../redis-probe/redis-probe.ts'
import type { Condition, StorePorts } from './condition.ts'

/** The first release that both Redis clients in use support. */
const OLDEST = [6, 2] as const

/** Its version, its persistence and its eviction policy. */
async function checkSettings(redis: Redis): Promise<Finding> {
  const startedAtMs = performance.now()
  const state = await readRedisState(redis)
  const answer = `${state.product} ${state.version} answers in ${Math.ceil(performance.now() - startedAtMs)} ms`
  if (isOlder(state.redisVersion)) return failure('redis', answer, `use Redis ${OLDEST.join('.')} or newer`)
  if (state.evictionPolicy === null || state.appendOnly === null)
    return ok('redis', `${answer}; its settings are not shown to this user`)
  if (state.evictionPolicy !== 'noeviction') {
    const detail = `${answer}; when memory is full it evicts data (${state.evictionPolicy})`
    return failure('redis', detail, 'set maxmemory-policy noeviction')
  }
  if (!state.appendOnly) {
    return warning(
      'redis',
      `${answer}; it keeps nothing over a restart`,
      'set appendonly yes for faster recovery',
    )
  }
  return ok('redis', answer)
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
}

/** What is reported if Redis takes longer to answer. */
const SILENCE_MS = 3_000

interface RedisPorts extends StorePorts {
  /** `null`: not configured. */
  readonly redisUrl: string | null
}

async function checkRedis({ redisUrl, redisPrefix, redis }: RedisPorts): Promise<Finding> {
  if (redisUrl === null)
    return { ...warning('redis', 'not looked at', 'set REDIS_URL as the gateway has it'), isEnd: true }
  try {
    const problem = await probeRedis(redisUrl, redisPrefix, SILENCE_MS)
    if (problem === null) return await checkSettings(await redis())
    // A full one still tells what waits in it.
    return (problem.isFull ? failure : dead)('redis', `REDIS_URL ${problem.what}`, problem.mend)
  } catch (error) {
    return dead('redis', `not reachable: ${reasonOf(error)}`, 'start it, or correct REDIS_URL')
  }
}

export const REDIS: Condition<RedisPorts> = {
  name: 'redis',
  place: 'redis',
  severity: 'wrong',
  find: checkRedis,
  event: 'redis.unusable',
  readiness: { item: 'redis', lacks: ({ redisConnected, redisUsable }) => !redisConnected || !redisUsable },
  gauges: [
    {
      name: 'tallygate_redis_connected',
      help: 'Whether Redis is connected.',
      aggregator: 'min',
      read: ({ redisConnected }) => Number(redisConnected),
    },
  ],
}
