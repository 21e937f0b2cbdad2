import { Worker } from 'node:worker_threads'
import { FairQueue } from '../../lib/fair-queue.ts'
import { joinInSlices, WHOLE_BYTES } from '../../lib/sliced-work.ts'
import type { PromptFormat } from '../../providers/dialect.ts'
import { type CalledTools, NO_CALLS } from './called-tools.ts'
import type { EstimateAnswer, EstimateJob } from './estimate-thread-main.ts'

/** A thread without work ends after this and gives back some 35 MB; starting one takes 0.2 s. */
const IDLE_MS = 30_000
/**
 * The process's own young generation is sized for calls: texts that are counted one after another would fill its garbage
 * before any is collected.
 */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 4 }
/** Jobs handed to the thread at a time, so that it has the next one when one is done: they are ahead of all clients. */
const MAX_IN_THREAD = 2
/** Bytes a token, as OpenAI tells it of English text: what is said when nothing better can be had. */
const BYTES_PER_TOKEN = 4

export interface EstimateLimits {
  /** Jobs of one client that wait, and of all: far more than calls end in the seconds that the thread needs for so many. */
  readonly clientJobs: number
  readonly jobs: number
  /** Bytes of what waits, of one client, unless it is a single job, and of all. */
  readonly clientBytes: number
  readonly bytes: number
  /** A job that has waited for longer is not counted any more: its call, and its client, are waiting for it. */
  readonly waitMs: number
  /** Hardly any job takes more than 0.3 s; a thread that is silent for longer than this is given up. */
  readonly jobMs: number
}

const LIMITS: EstimateLimits = {
  clientJobs: 1_000,
  jobs: 10_000,
  clientBytes: 32 * 1024 * 1024,
  bytes: 128 * 1024 * 1024,
  waitMs: 10_000,
  jobMs: 10_000,
}

interface Job {
  readonly clientId: string
  readonly counted: string | Buffer
  readonly model: string | null
  readonly format: PromptFormat
  readonly called: CalledTools
  readonly since: number
  readonly settle: (tokens: number) => void
}

/**
 * Has tokens counted in a thread of their own, started at first need and again after its death. Clients take turns, and
 * what cannot be counted, or not in time, is a token for four bytes.
 */
export class EstimateThread {
  readonly #file: URL
  readonly #limits: EstimateLimits
  readonly #queue = new FairQueue<Job>()
  readonly #inThread = new Map<number, Job>()
  #worker: Worker | null = null
  #lastId = 0
  #idleTimer: NodeJS.Timeout | null = null
  #silenceTimer: NodeJS.Timeout | null = null

  /** `file`: what the thread runs; it answers each {@link EstimateJob} with an {@link EstimateAnswer}. */
  constructor(file: URL, limits: EstimateLimits = LIMITS) {
    this.#file = file
    this.#limits = limits
  }

  /** Estimates the tokens of a text, or of the prompt in a request's body. Never rejects. */
  estimate(
    clientId: string,
    counted: string | Buffer,
    model: string | null,
    format: PromptFormat,
    called = NO_CALLS,
  ): Promise<number> {
    return new Promise((settle) => {
      const job = { clientId, counted, model, format, called, since: performance.now(), settle }
      const waiting = this.#queue.waitingOf(clientId)
      const bytes = waiting.bytes + counted.length
      const isTooMuch = waiting.length > 0 && bytes > this.#limits.clientBytes
      if (waiting.length >= this.#limits.clientJobs || isTooMuch) {
        settle(tokensByLength(counted))
        return
      }
      this.#queue.push(clientId, job, counted.length)
      this.#makeRoom()
      this.#handOver()
    })
  }

  /** Waits for no count any more: all that is asked for now is a token for four bytes. */
  giveUpAll(): void {
    const jobs = [...this.#inThread.values()]
    this.#inThread.clear()
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) jobs.push(next)
    for (const { settle, counted } of jobs) settle(tokensByLength(counted))
    const worker = this.#worker
    if (worker === null) return
    this.#abandon(worker)
    void worker.terminate()
  }

  /** Who has most waiting goes without, not who comes last. */
  #makeRoom(): void {
    while (this.#queue.length > this.#limits.jobs || this.#queue.bytes > this.#limits.bytes) {
      const given =
        this.#queue.length > this.#limits.jobs ? this.#queue.popFromLongest() : this.#queue.popFromLargest()
      if (given === undefined) return
      given.settle(tokensByLength(given.counted))
    }
  }

  #handOver(): void {
    while (this.#inThread.size < MAX_IN_THREAD) {
      const next = this.#queue.shift()
      if (next === undefined) break
      if (performance.now() - next.since > this.#limits.waitMs) next.settle(tokensByLength(next.counted))
      else this.#send(next)
    }
  }

  #send(job: Job): void {
    const id = ++this.#lastId
    this.#inThread.set(id, job)
    const { clientId, counted, model, format, called } = job
    const { tokenizerFamily = 'openai', isChat = false } = format
    if (typeof counted === 'string') {
      this.#post({ id, counted, model, tokenizerFamily, isChat, called }, [])
      return
    }
    // A copy of just these bytes: a view would take all of the pool behind it along.
    if (counted.length <= WHOLE_BYTES) {
      const bytes = new Uint8Array(counted)
      this.#post({ id, counted: bytes, model, tokenizerFamily, isChat, called }, [bytes.buffer])
      return
    }
    joinInSlices(clientId, [counted], (copy) => {
      // The thread may have died in the meantime, and the job with it.
      if (!this.#inThread.has(id)) return
      this.#post({ id, counted: copy, model, tokenizerFamily, isChat, called }, [copy.buffer as ArrayBuffer])
    })
  }

  #post(job: EstimateJob, moved: ArrayBuffer[]): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    this.#worker ??= this.#open()
    this.#worker.ref()
    this.#worker.postMessage(job, moved)
    if (this.#silenceTimer === null) this.#awaitAnswer(this.#worker)
  }

  #open(): Worker {
    // Not the process's own options: some of them suit its main file only.
    const worker = new Worker(this.#file, {
      name: 'estimates',
      execArgv: [],
      resourceLimits: RESOURCE_LIMITS,
    })
    worker.on('message', ({ id, tokens }: EstimateAnswer) => {
      if (this.#worker !== worker) return
      const job = this.#inThread.get(id)
      this.#inThread.delete(id)
      job?.settle(tokens ?? tokensByLength(job.counted))
      this.#handOver()
      if (this.#inThread.size === 0) this.#rest(worker)
      else this.#awaitAnswer(worker)
    })
    worker.on('error', () => this.#abandon(worker))
    worker.on('exit', () => this.#abandon(worker))
    return worker
  }

  #awaitAnswer(worker: Worker): void {
    this.#endSilence()
    this.#silenceTimer = setTimeout(() => {
      this.#abandon(worker)
      void worker.terminate()
    }, this.#limits.jobMs)
  }

  #endSilence(): void {
    if (this.#silenceTimer !== null) clearTimeout(this.#silenceTimer)
    this.#silenceTimer = null
  }

  /** Only work holds the process. */
  #rest(worker: Worker): void {
    this.#endSilence()
    worker.unref()
    this.#idleTimer = setTimeout(() => {
      this.#worker = null
      void worker.terminate()
    }, IDLE_MS).unref()
  }

  /** What the thread had in hand may be what it died of; the others go to the next one. */
  #abandon(worker: Worker): void {
    if (this.#worker !== worker) return
    this.#worker = null
    this.#endSilence()
    const lost = [...this.#inThread.values()]
    this.#inThread.clear()
    for (const { settle, counted } of lost) settle(tokensByLength(counted))
    this.#handOver()
  }
}

/** For what cannot be counted: too much rather than nothing. */
export function tokensByLength(counted: string | Buffer | number): number {
  return Math.ceil((typeof counted === 'number' ? counted : counted.length) / BYTES_PER_TOKEN)
}
