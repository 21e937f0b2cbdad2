import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import type { ProcessMetrics } from '../figures.ts'

type Figure = ProcessMetrics[number]
type Labels = Figure['values'][number]['labels']

/** From when on counters count, and until when. */
export interface CountedTime {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/**
 * ProcessMetrics as OpenTelemetry has them: under their names for Prometheus, which names them so again where a collector hands
 * them on to it.
 */
export function metricDataOf(figures: ProcessMetrics, time: CountedTime): MetricData[] {
  return figures.map((figure) => {
    const { name, help, values } = figure
    const common = {
      descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    }
    const type = String(figure.type)
    if (type === 'histogram')
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(figure, time) }
    const dataPoints = values
      // An unknown figure is not sent.
      .filter(({ value }) => Number.isFinite(value))
      .map(({ value, labels }) => ({ ...time, attributes: attributesOf(labels), value }))
    return type === 'counter'
      ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
      : { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
  })
}

interface Rows {
  readonly labels: Labels
  /** As Prometheus has them: how many were not longer. */
  readonly buckets: [le: number, count: number][]
  sum: number
  count: number
}

function histogramsOf({ name, values }: Figure, time: CountedTime): DataPoint<Histogram>[] {
  const series = new Map<string, Rows>()
  for (const { metricName, labels, value } of values) {
    const { le, ...others }: Labels = labels
    const key = JSON.stringify(Object.entries(others).sort())
    const rows = series.get(key) ?? { labels: others, buckets: [], sum: 0, count: 0 }
    series.set(key, rows)
    if (metricName === `${name}_sum`) rows.sum = value
    else if (metricName === `${name}_count`) rows.count = value
    else if (le !== undefined && le !== '+Inf') rows.buckets.push([Number(le), value])
  }
  return [...series.values()].map(({ labels, buckets, sum, count }) => {
    buckets.sort(([a], [b]) => a - b)
    const upTo = [...buckets.map(([, within]) => within), count]
    return {
      ...time,
      attributes: attributesOf(labels),
      value: {
        buckets: {
          boundaries: buckets.map(([le]) => le),
          counts: upTo.map((within, index) => within - (upTo[index - 1] ?? 0)),
        },
        sum,
        count,
      },
    }
  })
}

/** An empty label is as good as none. */
function attributesOf(labels: Labels): Attributes {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
}
