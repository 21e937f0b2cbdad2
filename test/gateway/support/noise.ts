import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A body of `bytes`: `start`, then `unit` again and again, then `end`. */
export interface NoisyBody {
  readonly start: string
  readonly unit: string
  readonly end: string
  readonly bytes: number
}

/** What the thread is asked: to send one body after the other, or, with `null`, to stop after this one. */
export type NoiseOrder = {
  readonly url: string
  readonly key: string
  readonly contentType: string
  readonly body: NoisyBody
} | null

/** What it says: where its upstream listens, and later the statuses of its calls. */
export interface NoiseReport {
  readonly upstreamUrl?: string
  readonly statuses?: readonly number[]
}

/** A client that sends large bodies, and the upstream that takes them: in a thread, so that the test's own stays quick. */
export class NoisyClient {
  readonly #worker: Worker
  readonly upstreamUrl: string

  private constructor(worker: Worker, upstreamUrl: string) {
    this.#worker = worker
    this.upstreamUrl = upstreamUrl
  }

  static async start(): Promise<NoisyClient> {
    const worker = new Worker(new URL('./noise-main.ts', import.meta.url), { execArgv: [] })
    const [report]: NoiseReport[] = await once(worker, 'message')
    if (report?.upstreamUrl === undefined) throw new Error('the upstream did not start')
    return new NoisyClient(worker, report.upstreamUrl)
  }

  /** Sends what is ordered again and again while `meanwhile` is running; the statuses of the answers. */
  async during(order: NoiseOrder, meanwhile: () => Promise<void>): Promise<readonly number[]> {
    this.#worker.postMessage(order)
    await meanwhile()
    this.#worker.postMessage(null satisfies NoiseOrder)
    const [report]: NoiseReport[] = await once(this.#worker, 'message')
    return report?.statuses ?? []
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}
