import { Histogram, type Registry } from 'prom-client'
import { cumulate, type LatencyCounts, SHOWN_BOUNDS_SECONDS } from './latency-counts.ts'

/** One histogram of a family, and what tells it apart. */
export interface LabelledLatency<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>
  readonly latency: LatencyCounts
}

export interface LatencyHistogramOptions<Label extends string> {
  readonly registry: Registry
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly select: () => Iterable<LabelledLatency<Label>>
}

/** Seconds, shown from counts that are kept elsewhere: an observation of its own costs several times theirs. */
export class LatencyHistogram<Label extends string> extends Histogram<Label> {
  readonly #select: () => Iterable<LabelledLatency<Label>>
  readonly #name: string
  readonly #help: string

  constructor({ registry, name, help, labelNames, select }: LatencyHistogramOptions<Label>) {
    super({ name, help, labelNames, buckets: [...SHOWN_BOUNDS_SECONDS], registers: [registry] })
    this.#name = name
    this.#help = help
    this.#select = select
  }

  /** As JSON, for the sum over several processes. */
  override async get() {
    return await this.getForPromString()
  }

  /** For the text that is shown. */
  async getForPromString() {
    return {
      name: this.#name,
      help: this.#help,
      type: 'histogram' as const,
      values: [...this.#select()].flatMap((one) => this.#valuesOf(one)),
      aggregator: 'sum' as const,
      // Nothing is to be gathered first: the values are these.
      collect: () => {},
    }
  }

  #valuesOf({ labels, latency }: LabelledLatency<Label>) {
    const { shown, count } = cumulate(latency)
    const bucket = (le: number | string, value: number) => ({
      metricName: `${this.#name}_bucket`,
      labels: { le, ...labels },
      value,
    })
    return [
      ...shown.map((one) => bucket(one.seconds, one.count)),
      bucket('+Inf', count),
      { metricName: `${this.#name}_sum`, labels, value: latency.sumUs / 1_000_000 },
      { metricName: `${this.#name}_count`, labels, value: count },
    ]
  }
}
