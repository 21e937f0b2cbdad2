import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type Registry } from 'prom-client'

interface MetricsQuery {
  readonly type: 'tallygate:metrics?'
  readonly id: number
}

interface MetricsAnswer {
  readonly type: 'tallygate:metrics'
  readonly id: number
  /** `null`: a process did not answer in time. */
  readonly text: string | null
}

/** In the primary process: collects the metrics of all processes for the one that asks. */
export function collectMetrics(): void {
  const all = new AggregatorRegistry()
  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isMetricsQuery(message)) return
    const answer = (text: string | null) => {
      const reply: MetricsAnswer = { type: 'tallygate:metrics', id: message.id, text }
      if (worker.isConnected()) worker.send(reply)
    }
    all.clusterMetrics().then(answer, () => answer(null))
  })
}

/**
 * Renders `registry`. Where several processes share the operator's port it renders the sums of all of them,
 * since a scrape may reach any one.
 */
export function sharedRender(registry: Registry): () => Promise<string> {
  if (!cluster.isWorker) return () => registry.metrics()
  AggregatorRegistry.setRegistries(registry)
  new AggregatorRegistry()
  const waiting = new Map<number, (text: string | null) => void>()
  let next = 0
  process.on('message', (message: unknown) => {
    if (!isAnswer(message)) return
    waiting.get(message.id)?.(message.text)
    waiting.delete(message.id)
  })
  return async () => {
    const id = next
    next += 1
    const text = await new Promise<string | null>((resolve) => {
      waiting.set(id, resolve)
      const query: MetricsQuery = { type: 'tallygate:metrics?', id }
      process.send?.(query)
    })
    return text ?? (await registry.metrics())
  }
}

function isMetricsQuery(message: unknown): message is MetricsQuery {
  return isObject(message) && message.type === 'tallygate:metrics?' && typeof message.id === 'number'
}

function isAnswer(message: unknown): message is MetricsAnswer {
  return isObject(message) && message.type === 'tallygate:metrics' && typeof message.id === 'number'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
