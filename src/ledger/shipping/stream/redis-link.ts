import { databaseName, offsetsName } from '../../../domain/redis/redis-names.ts'
import { withinDeadline } from '../../../lib/deadline.ts'
import type { Logger } from '../../../lib/logger.ts'
import { atMostEvery } from '../../../lib/repeat.ts'
import { onConnectionError, type Redis } from '../../../store/connection/redis.ts'
import { buildRedis } from '../../../store/connection/redis-client.ts'
import { ENTRY_VERSION, encodeEntry, tagDatabase } from '../../entry.ts'
import type { JournalRow } from '../../journal/journal.ts'
import type { SentEntry } from '../sent-ids.ts'
import type { StreamLink } from './stream-link.ts'

/** A frozen Redis accepts connections and never answers: no answer is awaited for longer. */
const ANSWER_LIMIT_MS = 2_000
const BACKOFF_MIN_MS = 50
const BACKOFF_MAX_MS = 5_000
/** A connection that stood this long worked, even if there was nothing to send. */
const STOOD_MS = 30_000
/** An unreachable Redis fails some attempts a second. One log line in this time says it, then in twice that, and so on. */
const LOG_EVERY_MIN_MS = 10_000
const LOG_EVERY_MAX_MS = 10 * 60_000
const OF_ANOTHER = new Error('the Redis prefix belongs to another database')

export interface RedisLinkOptions {
  readonly redisUrl: string
  readonly redisPrefix: string
  readonly log: Logger
  readonly onConnected: () => void
  /** From how many entries on a stream is crowded, as of now. */
  readonly crowdedFrom: () => number
}

/**
 * Appends the entries of one batch in order and returns the stream's length, then their ids. It stops at the first one
 * that is refused, so that the ids are those of the batch's beginning. One command for all of them costs a third of one
 * for each.
 * KEYS: stream. ARGV: producer, version, tag of the database (empty: none), then sequence, checksum, body of each.
 */
const APPEND = `
local ids = {}
local isTagged = ARGV[3] ~= ''
for i = 4, #ARGV, 3 do
  local id
  if isTagged then
    id = redis.pcall('XADD', KEYS[1], '*', 'p', ARGV[1], 's', ARGV[i], 'v', ARGV[2], 'c', ARGV[i + 1], 'r', ARGV[i + 2], 'd', ARGV[3])
  else
    id = redis.pcall('XADD', KEYS[1], '*', 'p', ARGV[1], 's', ARGV[i], 'v', ARGV[2], 'c', ARGV[i + 1], 'r', ARGV[i + 2])
  end
  if type(id) == 'table' and id.err then
    if #ids == 0 then return id end
    break
  end
  ids[#ids + 1] = id
end
return {redis.call('XLEN', KEYS[1]), ids}`

/**
 * Which of these entries are on the stream as they were sent, 1 or 0 each. A server that lost its data, and whose clock
 * stepped back, gives the same ids again: what the entry holds decides.
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

/**
 * One connection for all shippers of the process. After any failure the connection is destroyed, the answers that were
 * due count as unclear, and a new connection is made after a pause.
 */
export class RedisLink implements StreamLink {
  readonly #url: string
  readonly #redisPrefix: string
  readonly #log: Logger
  readonly #onConnected: () => void
  #redis: Redis | null = null
  #connected = false
  #timer: NodeJS.Timeout | null = null
  #backoffMs = BACKOFF_MIN_MS
  #connectedAtMs = Number.POSITIVE_INFINITY
  /** Lets log lines through while Redis is unreachable. */
  readonly #awayLog = atMostEvery(LOG_EVERY_MIN_MS, LOG_EVERY_MAX_MS)
  #closed = false
  /** The database that is to count the entries; `null`: not known, and they do not say. */
  #database: string | null = null
  #databaseTag = ''
  /** The database that the keys of the prefix belong to, as of when the connection was made; `null`: none, or not known. */
  #owner: string | null = null

  readonly #crowdedFrom: () => number
  /** By stream, its entries after the last append. */
  readonly #lengths = new Map<string, number>()

  /** Connects at once, and again after every failure, until `close`. */
  constructor(options: RedisLinkOptions) {
    this.#url = options.redisUrl
    this.#redisPrefix = options.redisPrefix
    this.#log = options.log
    this.#onConnected = options.onConnected
    this.#crowdedFrom = options.crowdedFrom
    void this.#connect()
  }

  get connected(): boolean {
    return this.#connected
  }

  /**
   * From now on entries carry the identity of this database; `null`: none. Under a prefix that belongs to another one
   * they are not sent: they would lie in the way of its workers, and none would be counted.
   */
  useDatabase(database: string | null): void {
    this.#database = database
    this.#databaseTag = database === null ? '' : tagDatabase(database)
    if (this.#redis !== null && this.#connected && this.#isOfAnother) this.#lose(this.#redis, OF_ANOTHER)
  }

  async append(
    stream: string,
    producer: string,
    rows: readonly Pick<JournalRow, 'sequence' | 'body'>[],
  ): Promise<string[]> {
    const values: string[] = [producer, `${ENTRY_VERSION}`, this.#databaseTag]
    for (const { sequence, body } of rows) {
      const [, , , number = '', , , , checksum = ''] = encodeEntry(producer, sequence, body)
      values.push(number, checksum, body)
    }
    const answer = await this.#ask((redis) => redis.eval(APPEND, 1, stream, ...values))
    const [length, ids]: unknown[] = Array.isArray(answer) ? answer : []
    if (!Array.isArray(ids)) return []
    this.#lengths.set(stream, Number(length))
    if (ids.length > 0) this.#shipped()
    return ids.map(String)
  }

  isCrowded(stream: string): boolean {
    return (this.#lengths.get(stream) ?? 0) > this.#crowdedFrom()
  }

  async areThere(stream: string, producer: string, entries: readonly SentEntry[]): Promise<boolean[]> {
    const values = entries.flatMap(({ id, sequence }) => [id, `${sequence}`])
    const present = await this.#ask((redis) => redis.eval(ARE_THERE, 1, stream, producer, ...values))
    if (!Array.isArray(present) || present.length !== entries.length) throw new Error('no clear answer')
    return present.map((one) => one === 1)
  }

  async readHint(stream: string, producer: string): Promise<number> {
    const key = offsetsName(this.#redisPrefix, stream)
    const hint = Number(await this.#ask((redis) => redis.hget(key, producer)))
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
    const redis = buildRedis(this.#url, {
      name: 'tallygate-shipper',
      whenAway: 'once',
      connectMs: ANSWER_LIMIT_MS,
      silenceMs: null,
    })
    this.#redis = redis
    onConnectionError(redis, (error) => this.#lose(redis, error))
    redis.on('close', () => this.#lose(redis, new Error('the connection was closed')))
    // A cluster lost a node, perhaps with entries that its replica has not got.
    redis.on('-node', () => this.#connected && redis === this.#redis && this.#onConnected())
    let owner: string | null = null
    try {
      await withinDeadline(redis.connect(), ANSWER_LIMIT_MS)
      owner = await withinDeadline(redis.get(databaseName(this.#redisPrefix)), ANSWER_LIMIT_MS)
    } catch (error) {
      this.#lose(redis, error)
    }
    if (this.#redis !== redis || this.#closed) return
    this.#owner = owner
    if (this.#isOfAnother) {
      this.#lose(redis, OF_ANOTHER)
      return
    }
    this.#connected = true
    this.#connectedAtMs = performance.now()
    this.#onConnected()
  }

  /** Entries are on the stream. A connection alone proves little: a full Redis, or a replica, connects and refuses. */
  #shipped(): void {
    this.#backoffMs = BACKOFF_MIN_MS
    if (this.#awayLog.reopen()) this.#log.info({ event: 'redis.back' }, 'records are sent to Redis again')
  }

  get #isOfAnother(): boolean {
    return this.#owner !== null && this.#database !== null && this.#owner !== this.#database
  }

  #logAway(error: unknown): void {
    if (!this.#awayLog.passes()) return
    if (error === OF_ANOTHER)
      this.#log.error(
        {
          event: 'redis.prefix_of_another',
          redisPrefix: this.#redisPrefix,
          owner: this.#owner,
          database: this.#database,
        },
        `records wait in the journal: the Redis keys ${this.#redisPrefix}* belong to another database; give one of the two deployments another REDIS_PREFIX or, where the other is gone for good, delete these keys`,
      )
    else
      this.#log.warn(
        { event: 'redis.away', err: error },
        'Redis does not answer; records wait in the journal',
      )
  }

  /** Destroys a connection that failed, and makes another after the backoff. */
  #lose(redis: Redis, error: unknown): void {
    if (redis !== this.#redis) return
    this.#redis = null
    this.#connected = false
    redis.disconnect()
    if (this.#closed) return
    this.#logAway(error)
    if (performance.now() - this.#connectedAtMs > STOOD_MS) this.#backoffMs = BACKOFF_MIN_MS
    this.#connectedAtMs = Number.POSITIVE_INFINITY
    this.#timer = setTimeout(() => void this.#connect(), this.#backoffMs)
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS)
  }
}
