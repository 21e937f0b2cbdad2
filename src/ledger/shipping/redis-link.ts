import { Redis } from 'ioredis'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { ENTRY_VERSION, encodeEntry } from '../entry.ts'
import type { JournalRow } from '../journal/sqlite/journal-database.ts'
import type { SentEntry } from './sent-ids.ts'

/** A Redis that is frozen accepts connections and never answers: this long is waited for any answer. */
const ANSWER_LIMIT_MS = 2_000
const BACKOFF_MIN_MS = 50
const BACKOFF_MAX_MS = 5_000
/** A Redis that is away fails some attempts a second: one line in this time says it, then in twice, and so on. */
const LOG_EVERY_MIN_MS = 10_000
const LOG_EVERY_MAX_MS = 10 * 60_000

/**
 * Adds the entries of one batch in order and returns their ids; after one that is refused it stops, so that the
 * ids are those of a beginning of the batch. One command for all of them costs a third of one for each.
 * KEYS: stream. ARGV: producer, version, then sequence, checksum, body of each.
 */
const APPEND = `
local ids = {}
for i = 3, #ARGV, 3 do
  local id = redis.pcall('XADD', KEYS[1], '*', 'p', ARGV[1], 's', ARGV[i], 'v', ARGV[2], 'c', ARGV[i + 1], 'r', ARGV[i + 2])
  if type(id) == 'table' and id.err then
    if #ids == 0 then return id end
    break
  end
  ids[#ids + 1] = id
end
return ids`

/**
 * Which of these entries are on the stream as they were sent, 1 or 0 each. A server that lost its data, and its
 * clock some time, gives the same ids again: what the entry holds decides.
 * KEYS: stream. ARGV: producer, then id and sequence of each.
 */
const ARE_THERE = `
local present = {}
for i = 2, #ARGV, 2 do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  local fields = {}
  if entry then
    for j = 1, #entry[2], 2 do fields[entry[2][j]] = entry[2][j + 1] end
  end
  present[#present + 1] = fields['p'] == ARGV[1] and fields['s'] == ARGV[i + 1] and 1 or 0
end
return present`

/** What the shippers of a process need of Redis. Every method rejects when the answer is not clear. */
export interface StreamLink {
  /** Whether commands may be tried now. */
  readonly connected: boolean
  /**
   * Appends records of one producer to a stream, in order; the ids of those that are on it, from the first on.
   * Rejected, or shorter than asked: the rest may or may not be there.
   */
  append(
    stream: string,
    producer: string,
    rows: readonly Pick<JournalRow, 'sequence' | 'body'>[],
  ): Promise<string[]>
  /** Whether each entry of the producer is on the stream. */
  areThere(stream: string, producer: string, entries: readonly SentEntry[]): Promise<boolean[]>
  /** The producer's mark as a worker hinted it last; 0: none. */
  readHint(producer: string): Promise<number>
}

/**
 * One connection for all shippers of the process, made anew by ourselves: whatever failed on it, the answers that
 * were due count as unclear and the connection is destroyed.
 */
export class RedisLink implements StreamLink {
  readonly #url: string
  readonly #hintKey: string
  readonly #log: Logger
  readonly #onConnected: () => void
  #redis: Redis | null = null
  #connected = false
  #timer: NodeJS.Timeout | null = null
  #backoffMs = BACKOFF_MIN_MS
  /** The last line that said that Redis is away; -Infinity: it took what it was given last. */
  #loggedAtMs = Number.NEGATIVE_INFINITY
  #logEveryMs = LOG_EVERY_MIN_MS
  #closed = false

  /** Connects at once and ever again until `close`. */
  constructor(options: { redisUrl: string; redisPrefix: string; log: Logger; onConnected: () => void }) {
    this.#url = options.redisUrl
    this.#hintKey = `${options.redisPrefix}marks`
    this.#log = options.log
    this.#onConnected = options.onConnected
    void this.#connect()
  }

  get connected(): boolean {
    return this.#connected
  }

  async append(
    stream: string,
    producer: string,
    rows: readonly Pick<JournalRow, 'sequence' | 'body'>[],
  ): Promise<string[]> {
    const values: string[] = [producer, `${ENTRY_VERSION}`]
    for (const { sequence, body } of rows) {
      const [, , , number = '', , , , checksum = ''] = encodeEntry(producer, sequence, body)
      values.push(number, checksum, body)
    }
    const ids = await this.#ask((redis) => redis.eval(APPEND, 1, stream, ...values))
    if (!Array.isArray(ids)) return []
    if (ids.length > 0) this.#sayShipped()
    return ids.map(String)
  }

  async areThere(stream: string, producer: string, entries: readonly SentEntry[]): Promise<boolean[]> {
    const values = entries.flatMap(({ id, sequence }) => [id, `${sequence}`])
    const present = await this.#ask((redis) => redis.eval(ARE_THERE, 1, stream, producer, ...values))
    if (!Array.isArray(present) || present.length !== entries.length) throw new Error('no clear answer')
    return present.map((one) => one === 1)
  }

  async readHint(producer: string): Promise<number> {
    const hint = Number(await this.#ask((redis) => redis.hget(this.#hintKey, producer)))
    return Number.isSafeInteger(hint) ? hint : 0
  }

  close(): void {
    this.#closed = true
    this.#connected = false
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#redis?.disconnect()
  }

  async #ask<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = this.#redis
    if (redis === null || !this.#connected) throw new Error('not connected to Redis')
    try {
      return await withinDeadline(command(redis), ANSWER_LIMIT_MS)
    } catch (error) {
      this.#lose(redis, error)
      throw error
    }
  }

  async #connect(): Promise<void> {
    const redis = new Redis(this.#url, {
      connectionName: 'tallygate-shipper',
      lazyConnect: true,
      connectTimeout: ANSWER_LIMIT_MS,
      disconnectTimeout: 50,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    })
    this.#redis = redis
    redis.on('error', (error: Error) => this.#lose(redis, error))
    redis.on('close', () => this.#lose(redis, new Error('the connection was closed')))
    try {
      await withinDeadline(redis.connect(), ANSWER_LIMIT_MS)
    } catch (error) {
      this.#lose(redis, error)
    }
    if (this.#redis !== redis || this.#closed) return
    this.#connected = true
    this.#backoffMs = BACKOFF_MIN_MS
    this.#onConnected()
  }

  /** Entries are on the stream. A connection alone says little: a full Redis is connected, and refuses. */
  #sayShipped(): void {
    if (this.#loggedAtMs === Number.NEGATIVE_INFINITY) return
    this.#loggedAtMs = Number.NEGATIVE_INFINITY
    this.#logEveryMs = LOG_EVERY_MIN_MS
    this.#log.info({}, 'shipping to Redis again')
  }

  #sayAway(error: unknown): void {
    const now = performance.now()
    const isFirst = this.#loggedAtMs === Number.NEGATIVE_INFINITY
    if (!isFirst && now - this.#loggedAtMs < this.#logEveryMs) return
    if (!isFirst) this.#logEveryMs = Math.min(this.#logEveryMs * 2, LOG_EVERY_MAX_MS)
    this.#loggedAtMs = now
    this.#log.warn({ err: error }, 'Redis does not answer; records wait in the journal')
  }

  /** The connection is of no more use: destroys it, and makes another after the backoff. */
  #lose(redis: Redis, error: unknown): void {
    if (redis !== this.#redis) return
    this.#redis = null
    this.#connected = false
    redis.disconnect()
    if (this.#closed) return
    this.#sayAway(error)
    this.#timer = setTimeout(() => void this.#connect(), this.#backoffMs)
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS)
  }
}
