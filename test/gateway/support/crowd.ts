import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** What the crowd is asked: to begin an attack with these keys, or, with `null`, to end it. */
export type CrowdOrder = {
  readonly url: string
  readonly attack: 'everything' | 'hang up'
  /** Everything: one key. Hang up: each key makes one call. */
  readonly keys: readonly string[]
} | null

/** What it says: where its upstream listens; later that an attack is under way, or how it went. */
export interface CrowdReport {
  readonly upstreamUrl?: string
  readonly isUnderWay?: true
  readonly ended?: {
    /** Calls that the upstream took, since the last report. */
    readonly upstreamCalls: number
    /** The most connections that the upstream had at once. */
    readonly upstreamConnections: number
    readonly statuses: Readonly<Record<string, number>>
  }
}

/** A crowd of hostile clients and their upstream: in a thread, so that the test's own stays quick. */
export class Crowd {
  readonly #worker: Worker
  readonly upstreamUrl: string

  private constructor(worker: Worker, upstreamUrl: string) {
    this.#worker = worker
    this.upstreamUrl = upstreamUrl
  }

  static async start(): Promise<Crowd> {
    const worker = new Worker(new URL('./crowd-main.ts', import.meta.url), { execArgv: [] })
    const [report]: CrowdReport[] = await once(worker, 'message')
    if (report?.upstreamUrl === undefined) throw new Error('the upstream did not start')
    return new Crowd(worker, report.upstreamUrl)
  }

  /** Attacks while `meanwhile` is running, which begins once the attack is under way. */
  async during(
    order: NonNullable<CrowdOrder>,
    meanwhile: () => Promise<void>,
  ): Promise<NonNullable<CrowdReport['ended']>> {
    this.#worker.postMessage(order)
    const [begun]: CrowdReport[] = await once(this.#worker, 'message')
    if (begun?.isUnderWay !== true) throw new Error(`the attack did not begin: ${JSON.stringify(begun)}`)
    await meanwhile()
    this.#worker.postMessage(null satisfies CrowdOrder)
    const [report]: CrowdReport[] = await once(this.#worker, 'message')
    if (report?.ended === undefined) throw new Error('the attack did not end')
    return report.ended
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}
