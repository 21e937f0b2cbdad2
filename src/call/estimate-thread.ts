import { Worker } from 'node:worker_threads'
import type { EstimateAnswer, EstimateJob } from './estimate-thread-main.ts'

/** A thread without work ends after this and gives back some 90 MB; starting one takes 0.2 s. */
const IDLE_MS = 10 * 60_000
/** Estimates under way: far more than calls end in the seconds that the thread needs for so many. */
const MAX_WAITING = 10_000
/** Jobs handed to the thread at a time: what is handed over is copied, what waits here is not. */
const MAX_IN_THREAD = 4

interface Waiting {
  readonly counted: string | Buffer
  readonly model: string | null
  readonly dialectName: string
  readonly settle: (tokens: number | null) => void
}

/** Has tokens counted in a thread of their own, started at first need and again after its death. */
export class EstimateThread {
  readonly #file: URL
  readonly #queue: Waiting[] = []
  readonly #inThread = new Map<number, Waiting>()
  #worker: Worker | null = null
  #lastId = 0
  #idleTimer: NodeJS.Timeout | null = null

  /** `file`: what the thread runs; it answers each {@link EstimateJob} with an {@link EstimateAnswer}. */
  constructor(file: URL) {
    this.#file = file
  }

  /**
   * Estimates the tokens of a text, or of the prompt in a request's body. `null` when they cannot be told: an
   * unreadable body, too many estimates under way, a thread that died. Never rejects.
   */
  estimate(counted: string | Buffer, model: string | null, dialectName: string): Promise<number | null> {
    if (this.#queue.length >= MAX_WAITING) return Promise.resolve(null)
    return new Promise((settle) => {
      this.#queue.push({ counted, model, dialectName, settle })
      this.#handOver()
    })
  }

  #handOver(): void {
    while (this.#inThread.size < MAX_IN_THREAD) {
      const next = this.#queue.shift()
      if (next === undefined) break
      const id = ++this.#lastId
      this.#inThread.set(id, next)
      const { counted, model, dialectName } = next
      if (typeof counted === 'string') {
        this.#post({ id, counted, model, dialectName }, [])
      } else {
        // A copy of just these bytes: a view would take all of the pool behind it along.
        const bytes = new Uint8Array(counted)
        this.#post({ id, counted: bytes, model, dialectName }, [bytes.buffer])
      }
    }
  }

  #post(job: EstimateJob, moved: ArrayBuffer[]): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#idleTimer = null
    this.#worker ??= this.#open()
    this.#worker.ref()
    this.#worker.postMessage(job, moved)
  }

  #open(): Worker {
    // Not the process's own options: some of them suit its main file only.
    const worker = new Worker(this.#file, { name: 'estimates', execArgv: [] })
    worker.on('message', ({ id, tokens }: EstimateAnswer) => {
      this.#inThread.get(id)?.settle(tokens)
      this.#inThread.delete(id)
      this.#handOver()
      if (this.#inThread.size === 0) this.#rest(worker)
    })
    worker.on('error', () => this.#abandon(worker))
    worker.on('exit', () => this.#abandon(worker))
    return worker
  }

  /** Only work holds the process. */
  #rest(worker: Worker): void {
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
    for (const { settle } of this.#inThread.values()) settle(null)
    this.#inThread.clear()
    this.#handOver()
  }
}
