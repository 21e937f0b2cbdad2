import type { Logger } from '../../src/lib/logger.ts'
import { atMostEvery } from '../../src/lib/throttle.ts'
import type { Drain, Drained } from '../../src/rollup/drain/drain.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/connection/redis.ts'

/** The drains of this process: one at a time per stream, each on its own connection. */
export interface Shards {
  /**
   * Drains the stream, unless this process is draining it.
   * @throws When Redis or Postgres fails.
   */
  drain(stream: string): Promise<void>
  /** When a drain of the stream last ended without an error, by the monotonic clock; `null`: never. */
  drainedAtMs(stream: string): number | null
  readonly sums: Readonly<ShardSums>
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
  readonly log: Logger
}

/** Twice what a read blocks, and some. */
const SILENCE_MS = 3_000
const CONNECT_MS = 2_000
const LOG_EVERY_MS = 10_000

export function createShards(options: ShardsOptions): Shards {
  const { redisUrl, log } = options
  const stopping = new AbortController()
  const connections = new Map<string, Redis>()
  const running = new Map<string, Promise<void>>()
  const drainedAtMs = new Map<string, number>()
  const sums: ShardSums = { counted: 0, corrupt: 0, deadLetters: 0, callsSkipped: 0, gaps: 0 }
  const newerGate = atMostEvery(LOG_EVERY_MS)

  async function drainOnce(stream: string): Promise<void> {
    const name = `tallygate drain ${stream}`
    const redis =
      connections.get(stream) ?? openRedis(redisUrl, { name, whenAway: 'fail', silenceMs: SILENCE_MS, log })
    connections.set(stream, redis)
    await untilReady(redis, CONNECT_MS)
    const drained = await options.drain(stream, redis, stopping.signal)
    drainedAtMs.set(stream, performance.now())
    sums.counted += drained.counted
    sums.corrupt += drained.corrupt
    sums.deadLetters += drained.deadLetters
    sums.callsSkipped += drained.callsSkipped
    sums.gaps += drained.gaps.length
    report(stream, drained)
  }

  function report(stream: string, drained: Drained): void {
    const { corrupt, deadLetters, gaps } = drained
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
    if (corrupt > 0)
      log.warn(
        { event: 'rollup.damaged_entries', stream, corrupt },
        'damaged entries deleted: their producers send them again',
      )
    if (drained.end === 'newer' && newerGate.passes()) {
      log.error(
        { event: 'rollup.newer_entries', stream },
        'the stream has entries of a later release: it waits until this worker is upgraded',
      )
    }
  }

  return {
    async drain(stream) {
      if (stopping.signal.aborted || running.has(stream)) return
      const work = drainOnce(stream).finally(() => running.delete(stream))
      running.set(stream, work)
      await work
    },
    drainedAtMs: (stream) => drainedAtMs.get(stream) ?? null,
    sums,
    async close() {
      stopping.abort()
      await Promise.allSettled(running.values())
      for (const redis of connections.values()) redis.disconnect()
    },
  }
}
