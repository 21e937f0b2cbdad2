import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { DurationHistogram } from '../../src/metrics/duration-histogram.ts'
import { type ProcessMetrics, renderOpenMetrics } from '../../src/metrics/figures.ts'
import { cumulateLatency, LatencyCounts } from '../../src/metrics/latency-counts.ts'
import { metricDataOf } from '../../src/metrics/otlp/metric-data.ts'

const MS = 1_000

/** A process with a counter, a gauge and a histogram of these durations, each of them traced where it has a trace. */
async function figuresOf(
  durations: readonly { readonly us: number; readonly traceId?: string; readonly atMs?: number }[],
): Promise<ProcessMetrics> {
  const registry = new Registry()
  new Counter({ name: 'calls_total', help: 'Calls.', registers: [registry] }).inc(durations.length)
  new Gauge({ name: 'age_seconds', help: 'Age.', labelNames: ['of'], registers: [registry] })
    .labels('keys')
    .set(Number.NaN)
  // The library's own have no examples.
  new Histogram({ name: 'gc_seconds', help: 'Pauses.', registers: [registry] }).observe(1)
  const latency = new LatencyCounts()
  for (const { us, traceId, atMs = 0 } of durations) {
    latency.add(us)
    if (traceId !== undefined) latency.point({ traceId, us, atMs })
  }
  new DurationHistogram({
    registry,
    name: 'call_seconds',
    help: 'Durations.',
    labelNames: ['upstream'],
    select: () => [{ labels: { upstream: 'main' }, durations: cumulateLatency(latency) }],
  })
  return await registry.getMetricsAsJSON()
}

const bucketsIn = (text: string) =>
  [
    ...text.matchAll(
      /^call_seconds_bucket\{(?:le="([^"]+)",upstream="main"|upstream="main",le="([^"]+)")\} (\d+)(.*)$/gm,
    ),
  ].map(([, first, second, count, exemplar = '']) => ({
    le: first ?? second,
    count: Number(count),
    exemplar,
  }))

test('OpenMetrics of several processes has their sums, and the last traced call of each bucket', async () => {
  const text = await renderOpenMetrics([
    await figuresOf([
      { us: 1.5 * MS, traceId: 'early', atMs: 1_000 },
      { us: 1.6 * MS },
      { us: 30 * 60_000 * MS, traceId: 'long', atMs: 5_000 },
    ]),
    await figuresOf([{ us: 1.7 * MS, traceId: 'late', atMs: 2_500 }]),
  ])
  expect(text).toContain('\n# TYPE calls counter\ncalls_total 4\n')
  const buckets = bucketsIn(text)
  expect(buckets.find(({ le }) => le === '0.001')).toMatchObject({ count: 0, exemplar: '' })
  expect(buckets.find(({ le }) => le === '0.002')).toMatchObject({
    count: 3,
    exemplar: ' # {trace_id="late"} 0.0017 2.5',
  })
  // Each call is an example of one bucket, the first that it is in.
  expect(buckets.filter(({ exemplar }) => exemplar !== '')).toHaveLength(2)
  expect(text.match(/trace_id="long"/g)).toHaveLength(1)
  expect(text.endsWith('# EOF\n')).toBe(true)
})

test('a call longer than every bound is an example of the last bucket', async () => {
  const text = await renderOpenMetrics([
    await figuresOf([{ us: 48 * 3_600_000 * MS, traceId: 'endless', atMs: 1_000 }]),
  ])
  expect(bucketsIn(text).at(-1)).toMatchObject({
    le: '+Inf',
    exemplar: ' # {trace_id="endless"} 172800 1',
  })
})

test('a collector gets counters, gauges that are known, and the calls within each bound of a histogram', async () => {
  const figures = await figuresOf([{ us: 1.5 * MS }, { us: 1.6 * MS }, { us: 48 * 3_600_000 * MS }])
  const [calls, age, , seconds] = metricDataOf(figures, { startTime: [1, 0], endTime: [2, 0] })
  expect(calls).toMatchObject({
    descriptor: { name: 'calls_total', description: 'Calls.' },
    isMonotonic: true,
    dataPoints: [{ value: 3, startTime: [1, 0], endTime: [2, 0], attributes: {} }],
  })
  expect(age?.dataPoints).toEqual([])
  const [point] = seconds?.dataPoints ?? []
  expect(point?.attributes).toEqual({ upstream: 'main' })
  const { buckets, count, sum } = Object(point?.value)
  expect(count).toBe(3)
  expect(sum).toBeCloseTo(172_800.0031)
  expect(buckets.counts).toHaveLength(buckets.boundaries.length + 1)
  expect(buckets.boundaries.slice(0, 2)).toEqual([0.001, 0.002])
  expect(buckets.counts.slice(0, 2)).toEqual([0, 2])
  expect(buckets.counts.at(-1)).toBe(1)
  expect(buckets.counts.reduce((total: number, one: number) => total + one, 0)).toBe(3)
})
