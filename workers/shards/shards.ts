import { setTimeout as delay } from 'node:timers/promises'
import { settledWithin } from '../../src/lib/deadline.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { atMostEvery, repeat } from '../../src/lib/repeat.ts'
import type { Drain, Drained } from '../../src/rollup/drain/drain.ts'
import type { RolledUp } from '../../src/rollup/rolled-up.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'
import type { Leases } from './leases.ts'

/** The shards that this process counts: one drain at a time for each, on a connection of its own. */
export interface Shards {
  /** All streams that there are, as far as Postgres has said. */
  readonly streams: readonly string[]
  /**
   * The job `roll-up`: begins to count the stream where this worker is to and does not yet; goes on until another
   * worker is to.
   *
   * @throws When Redis does not answer. What fails later is logged, and the shard given back.
   */
  drain(stream: string): Promise<void>
  /** The streams that are counted here now. */
  counted(): readonly string[]
  readonly sums: Readonly<ShardSums>
  /** Stops counting, and leaves all shards to the others at once. */
  close(): Promise<void>
}

/** The sums of this process since its start. */
export interface ShardSums {
  counted: number
  corrupt: number
  deadLetters: number
  callsSkipped: number
  gaps: number
}

export interface ShardsOptions {
  readonly redisUrl: string
  readonly drain: Drain
  readonly leases: Leases
  readonly listStreams: () => Promise<readonly string[]>
  /** Whether streams may be read now. */
  readonly mayDrain: () => boolean
  readonly log: Logger
}

/** Twice what a read blocks, and some. */
const SILENCE_MS = 3_000
const CONNECT_MS = 2_000
const LOG_EVERY_MS = 10_000
const LEARN_EVERY_MS = 1_000
/** Leases end soon after, so that the shards of a worker that was killed wait for less than two seconds. */
const CHECK_EVERY_MS = 500
/** A server that does not answer by then is not waited for: another worker repeats what was not committed. */
const TRANSACTION_END_MS = 5_000
const LEASES_END_MS = 500
/** What keeps a shard from being counted, a correction or an entry of a later release, may last. */
const BUSY_MS = 250
const NEWER_MS = 1_000
const LOG_FOREIGN_MS = 600_000

/**
 * Counts the shards that this worker is dealt. The queue's job begins a drain as well, but the queue gives a job to any
 * worker, and may be lost, full or stuck: so each worker also checks twice a second whether a shard is its own to count.
 */
export function startShards(options: ShardsOptions): Shards {
  const { redisUrl, leases, log } = options
  const stopping = new AbortController()
  let streams: readonly string[] = []
  const connections = new Map<string, Redis>()
  const running = new Map<string, Promise<void>>()
  const sums: ShardSums = { counted: 0, corrupt: 0, deadLetters: 0, callsSkipped: 0, gaps: 0 }
  const newerGate = atMostEvery(LOG_EVERY_MS)
  const failureGate = atMostEvery(LOG_EVERY_MS)
  const foreignGate = atMostEvery(LOG_FOREIGN_MS)

  async function count(stream: string): Promise<void> {
    const name = `tallygate drain ${stream}`
    const redis =
      connections.get(stream) ?? openRedis(redisUrl, { name, whenAway: 'fail', silenceMs: SILENCE_MS, log })
    connections.set(stream, redis)
    await untilReady(redis, CONNECT_MS)
    const mayRead = () => leases.holds(stream) && options.mayDrain()
    while (!stopping.signal.aborted && mayRead()) {
      const drained = await options.drain(stream, redis, stopping.signal, mayRead)
      leases.succeeded(stream)
      sums.counted += drained.counted
      sums.corrupt += drained.corrupt
      sums.deadLetters += drained.deadLetters
      sums.callsSkipped += drained.callsSkipped
      sums.gaps += drained.gaps.length
      report(stream, drained)
      if (drained.end === 'busy' && mayRead()) await pause(BUSY_MS)
      if (drained.end === 'newer') await pause(NEWER_MS)
    }
  }

  /** Ends early, without error, when this process stops. */
  async function pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: stopping.signal }).catch(() => {})
  }

  async function countAndGiveBack(stream: string): Promise<void> {
    try {
      await count(stream)
      await leases.release(stream)
    } catch (error) {
      complain(error, stream)
      // Where Redis is away the lease ends by itself.
      await leases.failed(stream).catch(() => {})
    }
  }

  function report(stream: string, drained: Drained): void {
    const { corrupt, foreign } = drained
    if (corrupt > 0)
      log.warn(
        { event: 'rollup.damaged_entries', stream, corrupt },
        'damaged entries deleted: their producers send them again',
      )
    if (foreign > 0 && foreignGate.passes())
      log.warn(
        { event: 'rollup.foreign_entries', stream, foreign },
        'the stream has entries of another database: they are left for its workers',
      )
    if (drained.end === 'newer' && newerGate.passes()) {
      log.error(
        { event: 'rollup.newer_entries', stream },
        'the stream has entries of a later release: it waits until this worker is upgraded',
      )
    }
  }

  function complain(error: unknown, stream?: string): void {
    if (!stopping.signal.aborted && failureGate.passes())
      log.warn(
        { event: 'rollup.failed', err: error, stream },
        'calls are not being counted; it is tried again',
      )
  }

  async function drain(stream: string): Promise<void> {
    if (stopping.signal.aborted || running.has(stream) || !options.mayDrain()) return
    if (!(await leases.take(stream)) || running.has(stream)) return
    running.set(
      stream,
      countAndGiveBack(stream).finally(() => running.delete(stream)),
    )
  }

  async function learnStreams(): Promise<void> {
    streams = await options.listStreams()
  }

  async function countOwnShards(): Promise<void> {
    if (streams.length === 0) await learnStreams()
    // A worker that may not count is dealt no shard: none would be read until others take it over.
    if (options.mayDrain()) await leases.renew(streams)
    for (const stream of streams) await drain(stream)
  }

  // Two loops, as a slow Postgres must not keep leases from being renewed.
  const loops = [
    repeat(() => learnStreams().catch(complain), LEARN_EVERY_MS),
    repeat(() => countOwnShards().catch(complain), CHECK_EVERY_MS),
  ]

  return {
    get streams() {
      return streams
    },
    counted: () => [...running.keys()],
    drain,
    sums,
    async close() {
      stopping.abort()
      const ended = Promise.allSettled([...loops.map((loop) => loop.stop()), ...running.values()])
      await settledWithin(ended, TRANSACTION_END_MS)
      for (const redis of connections.values()) redis.disconnect()
      // Others need not wait until the leases end.
      await settledWithin(leases.close(), LEASES_END_MS)
    },
  }
}

/** Logs what a transaction could not count. Once it is committed, nothing names it again but the tables. */
export function reportLosses(log: Logger, stream: string, { gaps, deadLetters }: RolledUp): void {
  for (const { producer, from, to, reason } of gaps) {
    log.error(
      { event: 'rollup.gap', stream, producer, from, to, reason },
      'records are missing: recorded as a gap',
    )
  }
  if (deadLetters > 0)
    log.error(
      { event: 'rollup.dead_letters', stream, deadLetters },
      'records could not be counted: see dead_letters',
    )
}
