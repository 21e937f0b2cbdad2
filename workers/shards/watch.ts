import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../src/lib/logger.ts'
import { atMostEvery } from '../../src/lib/throttle.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { readStreamHead } from '../../src/store/ledger/call-stream.ts'
import type { JobQueue, Schedule } from '../queue.ts'

export interface WatchOptions {
  /** Finds the streams to drain. */
  readonly listStreams: () => Promise<readonly string[]>
  readonly scheduleOf: (stream: string) => Schedule
  /** Schedules that are not about a stream. */
  readonly schedules: readonly Schedule[]
  readonly queue: JobQueue
  readonly redis: Redis
  /** Renews what this worker holds of these streams. */
  readonly renewLeases: (streams: readonly string[]) => Promise<void>
  /** Begins to count the stream where this worker is to; harmless where it does already. */
  readonly drain: (stream: string) => Promise<void>
  /** When this process last drained the stream, by the monotonic clock. */
  readonly drainedAtMs: (stream: string) => number | null
  readonly log: Logger
  readonly everyMs?: number
}

export interface Watch {
  close(): Promise<void>
}

const EVERY_MS = 1_000
/** Entries wait and the oldest has not moved this long: the chain of jobs is broken and is started again. */
const STUCK_MS = 3_000
/** Still no progress: the queue does not work, and this process drains without it. */
const STUCK_FOR_GOOD_MS = 5_000
const LOG_EVERY_MS = 10_000
/** A drain and the daily jobs may run beside each stream's next job. */
const SPARE_JOBS = 4

/**
 * Ensures that streams are drained whatever happens to the job queue: Redis may have lost it, or a worker may
 * have died between two steps. It begins with the shards that this worker is to count. Then it watches the progress
 * of streams, not the queue's state, and works without the queue.
 */
export function startWatch(options: WatchOptions): Watch {
  const { queue, redis, log, everyMs = EVERY_MS } = options
  const gate = atMostEvery(LOG_EVERY_MS)
  const heads = new Map<string, Head>()
  const stopping = new AbortController()

  let streams: readonly string[] = []

  async function learnStreams(): Promise<void> {
    streams = await options.listStreams()
  }

  async function keepScheduled(): Promise<void> {
    queue.allow(streams.length + SPARE_JOBS)
    for (const schedule of options.schedules) await queue.schedule(schedule)
    for (const stream of streams) await queue.schedule(options.scheduleOf(stream))
  }

  /** Not by the queue alone: it gives a job to any worker, and only one is to count a shard. */
  async function countOwnShards(): Promise<void> {
    if (streams.length === 0) await learnStreams()
    await options.renewLeases(streams)
    for (const stream of streams) await options.drain(stream)
  }

  async function checkStreams(): Promise<void> {
    for (const stream of streams) await check(stream)
  }

  async function check(stream: string): Promise<void> {
    const { firstId } = await readStreamHead(redis, stream)
    const before = heads.get(stream)
    const nowMs = performance.now()
    if (firstId === null) {
      heads.delete(stream)
    } else if (before?.firstId !== firstId) {
      heads.set(stream, { firstId, sinceMs: nowMs, revived: false })
    } else {
      // Entries may wait behind a gap for long; a drain that saw them counts as progress.
      const sinceMs = Math.max(before.sinceMs, options.drainedAtMs(stream) ?? before.sinceMs)
      const stuckMs = nowMs - sinceMs
      if (stuckMs >= STUCK_FOR_GOOD_MS) {
        heads.set(stream, { firstId, sinceMs: nowMs, revived: false })
        options.drain(stream).catch(complain)
      } else if (stuckMs >= STUCK_MS && !before.revived) {
        heads.set(stream, { ...before, revived: true })
        queue.schedule(options.scheduleOf(stream), true).catch(complain)
      }
    }
  }

  function complain(error: unknown): void {
    if (gate.passes())
      log.warn({ event: 'rollup.failed', err: error }, 'calls are not being counted; it is tried again')
  }

  async function repeat(work: () => Promise<void>, pauseMs: number): Promise<void> {
    while (!stopping.signal.aborted) {
      await work().catch(complain)
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  // Separate loops, so that none waits for another's work.
  const running = [
    ...[learnStreams, keepScheduled, checkStreams].map((work) => repeat(work, everyMs)),
    // Leases end soon after, so that the shards of a worker that was killed wait for less than two seconds.
    repeat(countOwnShards, everyMs / 2),
  ]

  return {
    async close() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

interface Head {
  readonly firstId: string
  readonly sinceMs: number
  /** A job was added since. */
  readonly revived: boolean
}
