import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValueWithName,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'

/** The metrics of a process, as they travel between processes and to a collector. */
export type ProcessMetrics = MetricObjectWithValues<MetricValueWithName<string>>[]

/** A figure with a call that it counts, which the types of the library leave out. */
interface PointingValue extends MetricValueWithName<string> {
  /** `null`: of a histogram of the library's own. */
  exemplar?: { readonly timestamp: number } | null
}

/** The library appends it to the name of a counter by itself, and not to one that it has taken together. */
const TOTAL = /_total$/

/** The sums of several processes as OpenMetrics, each bucket with the last traced call of any of them. */
export async function renderOpenMetrics(all: readonly ProcessMetrics[]): Promise<string> {
  const named = all.map((figures) =>
    figures.map((one) => (isCounter(one) ? { ...one, name: one.name.replace(TOTAL, '') } : one)),
  )
  const registry = AggregatorRegistry.aggregate<OpenMetricsContentType>(named)
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  // The sums leave exemplars out.
  const last = new Map<string, NonNullable<PointingValue['exemplar']>>()
  for (const value of valuesOf(all.flat())) {
    const { exemplar } = value
    if (exemplar === undefined || exemplar === null) continue
    const key = keyOf(value)
    if (exemplar.timestamp >= (last.get(key)?.timestamp ?? 0)) last.set(key, exemplar)
  }
  if (last.size > 0) {
    for (const value of valuesOf(await registry.getMetricsAsJSON())) {
      const exemplar = last.get(keyOf(value))
      if (exemplar !== undefined) value.exemplar = exemplar
    }
  }
  return await registry.metrics()
}

/** The types of the library have a number here. */
export function isCounter({ type }: ProcessMetrics[number]): boolean {
  return String(type) === 'counter'
}

function valuesOf(figures: ProcessMetrics): readonly PointingValue[] {
  return figures.flatMap(({ type, values }) => (String(type) === 'histogram' ? values : []))
}

function keyOf({ metricName, labels }: PointingValue): string {
  return JSON.stringify([metricName, Object.entries(labels).sort()])
}
