import { parseRedisUrl, type RedisAddress } from '../../domain/redis/redis-url.ts'
import { type Logger, SILENT_LOG } from '../../lib/logger.ts'
import { repeat } from '../../lib/repeat.ts'
import { type Redis, withRedis } from '../connection/redis.ts'
import { type RedisMemory, readRedisMemory } from '../connection/redis-state.ts'
import { type Refusals, tryCommands } from './redis-rights.ts'

/** Why nothing can be counted over this Redis, however long it is waited. */
export interface RedisProblem {
  /** The fault, as the end of a sentence that begins with REDIS_URL. */
  readonly what: string
  readonly mend: string
  /** Its memory is full: it still answers, and deletes. */
  readonly isFull?: true
}

/**
 * Connects as gateways and workers do, and finds what cannot work: another kind of server than REDIS_URL says, a
 * replica, a user without the rights, a server that takes no writes or evicts data.
 *
 * @returns `null`: nothing was found.
 * @throws When Redis does not answer within `limitMs`: it may be away for a while.
 */
export async function probeRedis(
  url: string,
  redisPrefix: string,
  limitMs: number,
): Promise<RedisProblem | null> {
  const { address } = parseRedisUrl(url)
  if (address === null) return null
  try {
    return await withRedis(url, limitMs, SILENT_LOG, async (redis) => {
      return (await findWrongServer(redis, address)) ?? explain(await tryCommands(redis, redisPrefix))
    })
  } catch (error) {
    const problem = explainConnection(String(error), address)
    if (problem !== null) return problem
    throw error
  }
}

const FORMS = {
  cluster: 'write redis-cluster://host:port,host:port',
  sentinels: 'write redis-sentinel://host:port,host:port/0#master',
  server: 'write redis://host:port',
} as const

/** HELLO is answered for every user, and by every kind of server. */
async function findWrongServer(redis: Redis, address: RedisAddress): Promise<RedisProblem | null> {
  const reply = await redis.call('HELLO')
  const fields = new Map<unknown, unknown>()
  if (Array.isArray(reply)) {
    for (let index = 0; index + 1 < reply.length; index += 2) fields.set(reply[index], reply[index + 1])
  }
  const mode = fields.get('mode')
  if (mode === 'sentinel') return { what: 'names a Sentinel as if it were a server', mend: FORMS.sentinels }
  if (mode === 'cluster' && address.kind !== 'cluster')
    return { what: 'names one node of a cluster as if it were a server', mend: FORMS.cluster }
  if (fields.get('role') === 'replica' && address.kind !== 'cluster')
    return {
      what: 'names a replica, which takes no writes',
      mend: 'name the master, or Sentinels that know it',
    }
  return null
}

function explain(refusals: Refusals): RedisProblem | null {
  const readOnly = refusals.has('READONLY')
  if (readOnly) return { what: 'names a server that is read-only', mend: 'name the master' }
  const commands = refusals.get('NOPERM')
  if (commands !== undefined) {
    return {
      what: `names a user who may not use ${[...new Set(commands)].sort().join(', ')} on keys or channels of REDIS_PREFIX`,
      mend: 'give the rights that docs/operations.md lists',
    }
  }
  if (refusals.has('OOM'))
    return {
      isFull: true,
      what: 'names a server whose memory is full',
      mend: 'a worker empties it of records: start one; where other data fills it, raise its maxmemory',
    }
  if (refusals.has('MISCONF'))
    return { what: 'names a server that cannot save to its disk and takes no writes', mend: 'see its log' }
  return null
}

function explainConnection(error: string, address: RedisAddress): RedisProblem | null {
  if (/WRONGPASS|NOAUTH|invalid username-password/i.test(error))
    return { what: 'has a user or password that Redis refuses', mend: 'correct it, percent-encoded' }
  if (/cluster support disabled/i.test(error) && address.kind === 'cluster')
    return { what: 'names a cluster, and the server belongs to none', mend: FORMS.server }
  if (address.kind !== 'sentinels') return null
  if (/invalid reply|no such master/i.test(error))
    return {
      what: 'names a master that the Sentinels do not know',
      mend: 'see SENTINEL MASTERS for its name',
    }
  if (/unknown command/i.test(error))
    return { what: 'names Sentinels, and a server that is none answers', mend: FORMS.server }
  return null
}

const EVERY_MS = 60_000
const ANSWER_MS = 3_000

/** Checks at the start, and then every minute, whether records can be counted over this Redis, and its memory. */
export class RedisWatch {
  readonly #options: { readonly redisUrl: string; readonly redisPrefix: string; readonly log: Logger }
  readonly #repeating: { stop(): Promise<void> }
  #problem: RedisProblem | null = null
  #memory: RedisMemory | null = null

  constructor(options: { readonly redisUrl: string; readonly redisPrefix: string; readonly log: Logger }) {
    this.#options = options
    this.#repeating = repeat(() => this.#check(), EVERY_MS)
  }

  /** The fault that was found last; `null`: nothing, or Redis has not answered yet. */
  get problem(): RedisProblem | null {
    return this.#problem
  }

  /** The answer of Redis, the last one; `null`: it has not answered yet, or does not show it to this user. */
  get memory(): RedisMemory | null {
    return this.#memory
  }

  /** Nothing is awaited: a check that is under way has no effect any more. */
  stop(): void {
    void this.#repeating.stop()
  }

  async #check(): Promise<void> {
    const { redisUrl, redisPrefix, log } = this.#options
    const before = this.#problem
    try {
      this.#problem = await probeRedis(redisUrl, redisPrefix, ANSWER_MS)
      const memory = withRedis(redisUrl, ANSWER_MS, SILENT_LOG, readRedisMemory)
      this.#memory = await memory.catch(() => this.#memory)
    } catch {
      return // It is away, which the connections in use report.
    }
    const found = this.#problem
    if (found !== null && found.what !== before?.what) {
      const said = `records wait: REDIS_URL ${found.what}; ${found.mend}`
      log.error({ event: 'redis.unusable' }, said)
    }
    if (found === null && before !== null) log.info({ event: 'redis.usable' }, 'records can be counted again')
  }
}
