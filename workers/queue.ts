import { DelayedError, type Job, Queue, Worker } from 'bullmq'
import { settledWithin } from '../src/lib/deadline.ts'
import type { Logger } from '../src/lib/logger.ts'
import { atMostEvery } from '../src/lib/repeat.ts'
import { isOutOfMemory, openRedis, type Redis } from '../src/store/connection/redis.ts'

/** A job that BullMQ starts again and again. */
export interface Schedule {
  /** Names the schedule in Redis; no colons. */
  readonly id: string
  readonly job: string
  /** What the job is about. */
  readonly subject: string
  readonly everyMs: number
  /** How a job that failed is tried again; absent: not before its next time. */
  readonly retry?: { readonly attempts: number; readonly firstAfterMs: number }
}

/** Thrown by a job that has logged its problem and is to be tried again: the queue logs nothing. */
export class TryAgain extends Error {
  override readonly name = 'TryAgain'
}

/** Thrown by a job that is to run again at a time that it knows better than the queue. Nothing has failed. */
export class RunAgain extends Error {
  override readonly name = 'RunAgain'
  readonly afterMs: number

  constructor(afterMs: number) {
    super(`it runs again in ${afterMs} ms`)
    this.afterMs = afterMs
  }
}

export interface JobQueue {
  /**
   * Ensures that the schedules exist and go on. One whose next job is gone, as Redis has lost it, begins again with one
   * job at once. To be called every second; what fails is logged.
   */
  keepScheduled(schedules: readonly Schedule[]): Promise<void>
  /** Adds a job for each of these subjects that has none yet. */
  enqueue(job: string, subjects: readonly string[]): Promise<void>
  /** Takes jobs and makes schedules from now on, or no longer; not before it is called first. */
  takeJobs(isAllowed: boolean): void
  /** How many jobs this process works on at a time. */
  allow(jobs: number): void
  /** Takes no more jobs, and waits until the ended ones are saved, if Redis answers. */
  close(): Promise<void>
}

export interface JobQueueOptions {
  readonly redisUrl: string
  /** Begins every key; BullMQ's own prefix, as ioredis's breaks its scripts. */
  readonly prefix: string
  /** Tells queues of one prefix apart; by default the one of all jobs that are scheduled. */
  readonly name?: string
  /** @param isRepeat Whether it has failed before. */
  readonly run: (job: string, subject: string, isRepeat: boolean) => Promise<void>
  readonly log: Logger
}

/** Longer than BullMQ blocks, which is 10 s at most. */
const BLOCKING_SILENCE_MS = 15_000
const COMMAND_SILENCE_MS = 3_000
const LOCK_MS = 10_000
const STALLED_CHECK_MS = 5_000
/** A job that is not marked as done runs again; without Redis nothing else is possible. */
const CLOSE_MS = 2_000
const LOG_EVERY_MS = 10_000
/** While Redis has no memory for jobs, none is taken for so long. */
const FULL_MS = 5_000
/** BullMQ waits 15 s after a failed connection by default: longer than a call may take to be counted. */
const RETRY_MS = 1_000

/** One queue and its worker. Both begin once Redis answers. */
export function openJobQueue(options: JobQueueOptions): JobQueue {
  const { redisUrl, prefix, name = 'jobs', run, log } = options
  const commands = openRedis(redisUrl, {
    name: 'tallygate queue',
    whenAway: 'fail',
    silenceMs: COMMAND_SILENCE_MS,
    log,
  })
  const jobs = openRedis(redisUrl, {
    name: 'tallygate worker',
    whenAway: 'wait',
    silenceMs: BLOCKING_SILENCE_MS,
    log,
  })
  const keep = { removeOnComplete: true, removeOnFail: true }
  const queue = new Queue<Subject>(name, { connection: commands, prefix, defaultJobOptions: keep })
  const worker = new Worker<Subject>(
    name,
    async (job: Job<Subject>, token?: string) => {
      try {
        await run(job.name, job.data.subject, job.attemptsMade > 0)
      } catch (error) {
        if (!(error instanceof RunAgain)) throw error
        await job.moveToDelayed(Date.now() + error.afterMs, token)
        throw new DelayedError()
      }
    },
    {
      connection: jobs,
      prefix,
      autorun: false,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      runRetryDelay: RETRY_MS,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
  )
  // A failed job loses nothing, as the next one comes within a second. During an outage it repeats, so the
  // log is throttled.
  const gate = atMostEvery(LOG_EVERY_MS)
  worker.on('failed', (job, error) => {
    if (error instanceof TryAgain) return
    if (gate.passes())
      log.warn(
        { event: 'queue.job_failed', err: error, job: job?.name, subject: job?.data.subject },
        'a job failed',
      )
  })
  const onError = (error: Error) => {
    if (gate.passes()) log.warn({ event: 'queue.error', err: error }, 'the job queue had an error')
  }
  let isStarted = false
  let isAllowed = false
  let rest: NodeJS.Timeout | null = null
  queue.on('error', onError)
  worker.on('error', (error) => {
    onError(error)
    // BullMQ would try again at once, thousands of times a second, as long as Redis is full.
    if (!isOutOfMemory(error) || rest !== null) return
    worker.pause(true).catch(onError)
    rest = setTimeout(() => {
      rest = null
      if (isAllowed) worker.resume()
    }, FULL_MS)
    rest.unref()
  })

  async function keepOneScheduled({ id, job, subject, everyMs, retry }: Schedule): Promise<void> {
    const known = await queue.getJobScheduler(id)
    if (known !== undefined && (await queue.getJob(`repeat:${id}:${known.next}`)) !== undefined) return
    const opts = { ...keep, ...(retry === undefined ? {} : retryOptions(retry)) }
    await queue.upsertJobScheduler(id, { every: everyMs }, { name: job, data: { subject }, opts })
    if (known !== undefined) await queue.add(job, { subject })
  }

  return {
    takeJobs(allowed) {
      isAllowed = allowed
      if (!isStarted) {
        isStarted = allowed
        if (allowed) worker.run().catch(onError)
      } else if (!allowed) worker.pause(true).catch(onError)
      else if (rest === null) worker.resume()
    },
    async keepScheduled(schedules) {
      try {
        for (const schedule of schedules) if (isAllowed) await keepOneScheduled(schedule)
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    },
    async enqueue(job, subjects) {
      if (!isAllowed || subjects.length === 0) return
      await queue.addBulk(
        subjects.map((subject) => ({ name: job, data: { subject }, opts: { ...keep, jobId: subject } })),
      )
    },
    allow(count) {
      if (worker.concurrency !== count) worker.concurrency = count
    },
    async close() {
      if (rest !== null) clearTimeout(rest)
      await settledWithin(Promise.allSettled([worker.close(), queue.close()]), CLOSE_MS)
      for (const connection of [commands, jobs] satisfies Redis[]) connection.disconnect()
    },
  }
}

/** Each wait is twice as long as the one before. */
function retryOptions({ attempts, firstAfterMs }: NonNullable<Schedule['retry']>) {
  return { attempts, backoff: { type: 'exponential', delay: firstAfterMs } }
}

interface Subject {
  readonly subject: string
}
