import type { Redis } from '../../../store/connection/redis.ts'
import { readRedisState, readStreamBacklog } from '../../../store/connection/redis-state.ts'
import { COUNTING_LATE_MS } from '../../../store/ledger/counting-late.ts'
import { type Finding, failure, ok, warning } from '../../finding.ts'

/** The first release that both Redis clients in use support. */
const OLDEST = [6, 2] as const

/** Checks the version of Redis, its persistence and its eviction policy. */
export async function checkRedis(redis: Redis): Promise<Finding> {
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

/** Checks that no record waits in these streams for too long. */
export async function checkBacklog(redis: Redis, streams: readonly string[]): Promise<Finding> {
  const backlogs = await Promise.all(streams.map((stream) => readStreamBacklog(redis, stream)))
  const entries = backlogs.reduce((sum, backlog) => sum + backlog.entries, 0)
  const oldestMs = Math.max(0, ...backlogs.map((backlog) => backlog.oldestMs))
  const detail = `${entries} records wait to be rolled up, the oldest for ${Math.ceil(oldestMs / 1000)} s`
  if (oldestMs < COUNTING_LATE_MS)
    return ok('backlog', entries === 0 ? 'no record waits to be rolled up' : detail)
  return failure(
    'backlog',
    detail,
    'start a worker (npm run worker), or see why it does not keep up in its log',
  )
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
}
