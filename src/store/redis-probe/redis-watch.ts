import { type Logger, SILENT_LOG } from '../../lib/logger.ts'
import { repeat } from '../../lib/repeat.ts'
import { withRedis } from '../connection/redis.ts'
import { type RedisMemory, readRedisMemory } from '../connection/redis-state.ts'
import { probeRedis, type RedisProblem } from './redis-probe.ts'

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

  /** What was found last; `null`: nothing, or Redis has not answered yet. */
  get problem(): RedisProblem | null {
    return this.#problem
  }

  /** What Redis said last; `null`: it has not answered yet, or does not show it to this user. */
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
      this.#problem = await probeRedis(redisUrl, redisPrefix, ANSWER_MS, SILENT_LOG)
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
