import { gatewayChannel, limitsName, limitsSinceName } from '../../domain/redis/redis-names.ts'
import { DeadlineError } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/repeat.ts'
import { openRedis, type Redis } from '../../store/connection/redis.ts'
import { confirmMaster } from '../../store/connection/redis-client.ts'
import { REPORTED_FIELD, TOKEN_FIELD } from './known-gateways.ts'
import type { ExchangeReply, ExchangeRequest, KeptSince, LimitStore } from './limit-store.ts'

/** A Redis that is slower counts as away. Calls with room in their share do not wait for it. */
const ANSWER_LIMIT_MS = 2_000
const LOG_EVERY_MIN_MS = 10_000
const LOG_EVERY_MAX_MS = 600_000

/**
 * Compares the token and, only where it is the one that the gateway knows, writes. All that it decides is that: sums
 * are the gateways' own, in integers that Lua has not got.
 */
const EXCHANGE = `
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
if (redis.call('HGET', KEYS[1], '${TOKEN_FIELD}') or '') ~= ARGV[1] then
  return {0, ms, redis.call('HGETALL', KEYS[1])}
end
for at = 5, #ARGV - 1, 2 do
  if ARGV[at + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[at])
  else redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
end
redis.call('HSET', KEYS[1], '${REPORTED_FIELD}' .. ARGV[3], string.format('%.0f', ms), '${TOKEN_FIELD}', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, ms, {}}`

/** Says since when Redis keeps anything: since this was asked first, after it was emptied. */
const KEPT_SINCE = `
local now = redis.call('TIME')
local ms = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
local began = redis.call('GET', KEYS[1]) or ms
if began == ms then redis.call('SET', KEYS[1], ms) end
return {tonumber(began), tonumber(ms)}`

export interface RedisLimitStoreOptions {
  readonly redisUrl: string
  readonly redisPrefix: string
  readonly log: Logger
  /** The connection is there, or there again. */
  readonly onConnected: () => void
}

/** The subjects' hashes in Redis, over a connection of its own. */
export class RedisLimitStore implements LimitStore {
  readonly #redis: Redis
  readonly #redisPrefix: string
  readonly #log: Logger
  readonly #awayLog = atMostEvery(LOG_EVERY_MIN_MS, LOG_EVERY_MAX_MS)

  constructor({ redisUrl, redisPrefix, log, onConnected }: RedisLimitStoreOptions) {
    this.#redisPrefix = redisPrefix
    this.#log = log
    this.#redis = openRedis(redisUrl, { name: 'tallygate limits', whenAway: 'fail', silenceMs: 2_000, log })
    this.#redis.on('ready', onConnected)
  }

  async exchange({
    name,
    keepMs,
    token,
    newToken,
    gatewayId,
    writes,
  }: ExchangeRequest): Promise<ExchangeReply> {
    const key = limitsName(this.#redisPrefix, name)
    try {
      const answer = this.#redis.eval(EXCHANGE, 1, key, token, newToken, gatewayId, `${keepMs}`, ...writes)
      const reply = replyFrom(await inTime(answer))
      if (this.#awayLog.reopen())
        this.#log.info({ event: 'limits.shared_again' }, 'gateways share limits by Redis again')
      return reply
    } catch (error) {
      if (this.#awayLog.passes())
        this.#log.warn(
          { event: 'limits.not_shared', err: error },
          'Redis does not answer in time; this gateway goes on with its share of the limits',
        )
      throw error
    }
  }

  async keptSince(): Promise<KeptSince> {
    await confirmMaster(this.#redis)
    const answer = await inTime(this.#redis.eval(KEPT_SINCE, 1, limitsSinceName(this.#redisPrefix)))
    const [beganMs, nowMs] = Array.isArray(answer) ? answer.map(Number) : []
    if (beganMs === undefined || nowMs === undefined) throw new Error('no clear answer')
    return { beganMs, ageMs: Math.max(0, nowMs - beganMs) }
  }

  /** Which of these gateways hear nothing any more, as their process has ended. Of a cluster that is not known. */
  async findDeaf(gatewayIds: readonly string[]): Promise<readonly string[]> {
    if (this.#redis.isCluster) return []
    const hearing = await inTime(
      Promise.all(gatewayIds.map((id) => this.#redis.publish(gatewayChannel(this.#redisPrefix, id), '?'))),
    )
    return gatewayIds.filter((_, at) => hearing[at] === 0)
  }

  close(): void {
    this.#redis.disconnect()
  }
}

/** The answer, or a rejection once the server was silent for too long, and not this process. */
async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const { promise, reject } = Promise.withResolvers<never>()
  const expire = () => reject(new DeadlineError(`no answer in ${ANSWER_LIMIT_MS} ms`))
  // After a pause the timer fires first, though the answer may have come meanwhile: it is read in this turn.
  const timer = setTimeout(() => setImmediate(expire), ANSWER_LIMIT_MS)
  try {
    return await Promise.race([answer, promise])
  } finally {
    clearTimeout(timer)
  }
}

function replyFrom(answer: unknown): ExchangeReply {
  if (!Array.isArray(answer)) throw new Error('no clear answer')
  const [taken, redisMs, all]: unknown[] = answer
  const fields = new Map<string, string>()
  if (Array.isArray(all))
    for (let at = 0; at + 1 < all.length; at += 2) fields.set(String(all[at]), String(all[at + 1]))
  return { isTaken: taken === 1, fields, redisMs: Number(redisMs) }
}
