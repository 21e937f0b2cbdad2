import cluster, { type Worker } from 'node:cluster'
import { Counter, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { collectMetrics } from '../../src/metrics/shared-metrics.ts'

/** A process as the primary sees it. */
class Process {
  readonly id: number
  readonly heard: { readonly type: string; readonly id: number; readonly text?: string | null }[] = []

  constructor(id: number) {
    this.id = id
  }

  isConnected(): boolean {
    return true
  }

  send(message: Process['heard'][number]): void {
    this.heard.push(message)
  }

  says(message: object): void {
    cluster.emit('message', this, message)
  }

  /** Answers the last request with a count. */
  async counts(calls: number): Promise<void> {
    const asked = this.heard.findLast(({ type }) => type === 'tallygate:metrics of one?')
    this.says({ type: 'tallygate:metrics of one', id: asked?.id, figures: await figuresOf(calls) })
  }
}

async function figuresOf(calls: number): Promise<MetricObjectWithValues<MetricValue<string>>[]> {
  const registry = new Registry()
  new Counter({ name: 'calls_total', help: 'Calls.', registers: [registry] }).inc(calls)
  return await registry.getMetricsAsJSON()
}

afterEach(() => {
  cluster.removeAllListeners('message')
  cluster.removeAllListeners('exit')
})

test('a process that ends while others are asked is in the sum once, and stays in it', async () => {
  const [asking, ending] = [new Process(1), new Process(2)]
  let all = [asking, ending]
  collectMetrics(() => all as unknown as readonly Worker[])
  const shown = async () => {
    const answer = asking.heard.findLast(({ type }) => type === 'tallygate:metrics')
    return /^calls_total (\d+)/m.exec(answer?.text ?? '')?.[1]
  }
  asking.says({ type: 'tallygate:metrics?', id: 1 })
  await ending.counts(5)
  // Its answer is taken, and the other's is awaited.
  await new Promise(setImmediate)
  all = [asking]
  cluster.emit('exit', ending)
  await new Promise(setImmediate)
  await asking.counts(1)
  await expect.poll(shown).toBe('6')
  asking.heard.length = 0
  asking.says({ type: 'tallygate:metrics?', id: 2 })
  await asking.counts(2)
  await expect.poll(shown).toBe('7')
})
