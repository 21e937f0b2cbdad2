import { Histogram, type Registry } from 'prom-client'
import type { Cumulated, Exemplar } from './latency-counts.ts'

/** One histogram of a family, with its labels. */
interface LabelledDurations<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>
  readonly durations: Cumulated
}

interface DurationHistogramOptions<Label extends string> {
  readonly registry: Registry
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly select: () => Iterable<LabelledDurations<Label>>
}

/**
 * Seconds, rendered from counts that are kept elsewhere: an observation by the library costs several times as
 * much.
 */
export class DurationHistogram<Label extends string> extends Histogram<Label> {
  readonly #select: () => Iterable<LabelledDurations<Label>>
  readonly #name: string
  readonly #help: string

  constructor({ registry, name, help, labelNames, select }: DurationHistogramOptions<Label>) {
    super({ name, help, labelNames, registers: [registry] })
    this.#name = name
    this.#help = help
    this.#select = select
  }

  /** The source of both output formats of the registry. */
  async getForPromString() {
    return {
      name: this.#name,
      help: this.#help,
      type: 'histogram',
      values: [...this.#select()].flatMap((one) => this.#valuesOf(one)),
      aggregator: 'sum',
    }
  }

  #valuesOf({ labels, durations }: LabelledDurations<Label>) {
    const { shown, longest, count, sumSeconds } = durations
    const bucket = (le: number | string, value: number, exemplar: Exemplar | undefined) => ({
      metricName: `${this.#name}_bucket`,
      labels: { le },
      sharedLabels: labels,
      value,
      ...(exemplar === undefined ? {} : { exemplar: shownExemplar(exemplar) }),
    })
    return [
      ...shown.map((one) => bucket(one.seconds, one.count, one.exemplar)),
      bucket('+Inf', count, longest),
      { metricName: `${this.#name}_sum`, labels: {}, sharedLabels: labels, value: sumSeconds },
      { metricName: `${this.#name}_count`, labels: {}, sharedLabels: labels, value: count },
    ]
  }
}

/** As the library writes it behind a bucket, in OpenMetrics alone. */
function shownExemplar({ traceId, us, atMs }: Exemplar) {
  return { labelSet: { trace_id: traceId }, value: us / 1_000_000, timestamp: atMs / 1_000 }
}
