import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, Registry } from 'prom-client'
import { type ProcessMetrics, renderOpenMetrics } from './figures.ts'

/** The formats of `/metrics`. OpenMetrics alone shows the traces of calls. */
export type MetricsFormat = 'prometheus' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

/** The time limit of a process for all, and of the primary for those of one. */
const ASKED = 'tallygate:metrics?'
const ANSWERED = 'tallygate:metrics'
const ASKED_OF_ONE = 'tallygate:metrics of one?'
const ANSWERED_OF_ONE = 'tallygate:metrics of one'

/** A process that takes longer is frozen, or too busy: then there is no sum. Prometheus waits 10 s. */
const ANSWER_MS = 5_000

interface Asked {
  readonly type: typeof ASKED
  readonly id: number
  readonly format: MetricsFormat
}

interface AskedOfOne {
  readonly type: typeof ASKED_OF_ONE
  readonly id: number
}

interface Answered {
  readonly type: typeof ANSWERED
  readonly id: number
  /** `null`: a process did not answer in time. */
  readonly text: string | null
}

interface AnsweredOfOne {
  readonly type: typeof ANSWERED_OF_ONE
  readonly id: number
  readonly figures: ProcessMetrics
}

/** A process that was asked. */
interface WaitedFor {
  readonly worker: number
  readonly resolve: (figures: ProcessMetrics) => void
  readonly reject: (error: Error) => void
}

/**
 * In the primary process: collects the metrics of all processes for the one that asks. The counts of a process that
 * ended stay in the sums, as of the last time that it was asked: else all would fall, and look like a restart.
 *
 * @param processes Those that take calls.
 */
export function collectMetrics(processes: () => readonly Worker[]): void {
  const waiting = new Map<number, WaitedFor>()
  const lastOf = new Map<number, ProcessMetrics>()
  let ofEnded: ProcessMetrics = []
  let next = 0

  async function figuresOf(worker: Worker): Promise<ProcessMetrics> {
    const id = next
    next += 1
    const { promise, resolve, reject } = Promise.withResolvers<ProcessMetrics>()
    const timer = setTimeout(() => reject(new Error('no answer')), ANSWER_MS)
    waiting.set(id, { worker: worker.id, resolve, reject })
    try {
      send(worker, { type: ASKED_OF_ONE, id })
      const figures = await promise
      lastOf.set(worker.id, figures)
      return figures
    } finally {
      waiting.delete(id)
      clearTimeout(timer)
    }
  }

  async function sum(format: MetricsFormat): Promise<string> {
    // As of now: one that ends after it has answered would be in both, and the next sum would fall.
    const ended = ofEnded
    const figures = await Promise.all(processes().map(figuresOf))
    const all = [...figures, ended]
    if (format === 'openmetrics') return await renderOpenMetrics(all)
    return await AggregatorRegistry.aggregate(all).metrics()
  }

  cluster.on('message', (worker: Worker, message: unknown) => {
    if (isOf<AnsweredOfOne>(message, ANSWERED_OF_ONE)) waiting.get(message.id)?.resolve(message.figures)
    if (!isOf<Asked>(message, ASKED)) return
    const answer = (text: string | null) => send(worker, { type: ANSWERED, id: message.id, text })
    sum(message.format).then(answer, () => answer(null))
  })
  cluster.on('exit', (worker) => {
    for (const one of waiting.values()) if (one.worker === worker.id) one.reject(new Error('it ended'))
    const counts = (lastOf.get(worker.id) ?? []).filter(({ type }) => String(type) !== 'gauge')
    lastOf.delete(worker.id)
    const summed = AggregatorRegistry.aggregate([ofEnded, counts]).getMetricsAsJSON()
    summed.then(
      (figures) => {
        ofEnded = figures
      },
      () => {},
    )
  })
}

/**
 * Renders `registry`. Where several processes share the operator's port it renders the sums of all of them, since a
 * scrape may reach any one; `null`: one of them does not answer, and a part of the sum would look like a restart.
 */
export function sharedRender(registry: Registry): (format?: MetricsFormat) => Promise<string | null> {
  if (!cluster.isWorker) {
    return async (format = 'prometheus') => {
      if (format === 'prometheus') return await registry.metrics()
      // One process alone shows those too that are left out of sums.
      const figures = await registry.getMetricsAsJSON()
      return await renderOpenMetrics([figures.map((one) => ({ ...one, aggregator: 'first' }))])
    }
  }
  const waiting = new Map<number, (text: string | null) => void>()
  let next = 0
  process.on('message', (message: unknown) => {
    if (isOf<Answered>(message, ANSWERED)) {
      waiting.get(message.id)?.(message.text)
      waiting.delete(message.id)
    }
    if (!isOf<AskedOfOne>(message, ASKED_OF_ONE)) return
    const answer = (figures: ProcessMetrics) =>
      process.send?.({ type: ANSWERED_OF_ONE, id: message.id, figures } satisfies AnsweredOfOne)
    registry.getMetricsAsJSON().then(answer, () => {}) // without an answer there is no sum
  })
  return async (format = 'prometheus') => {
    const id = next
    next += 1
    return await new Promise<string | null>((resolve) => {
      waiting.set(id, resolve)
      process.send?.({ type: ASKED, id, format } satisfies Asked)
    })
  }
}

function send(worker: Worker, message: AskedOfOne | Answered): void {
  if (worker.isConnected()) worker.send(message)
}

function isOf<Message extends { readonly type: string }>(
  message: unknown,
  type: Message['type'],
): message is Message {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === type
}
