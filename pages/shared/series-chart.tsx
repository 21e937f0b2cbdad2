import type { ReportDocument } from '../../src/usage/report/render-report.ts'
import { Chart, type Series } from './chart.tsx'
import { count, roughly, tickUsd, usd } from './format.ts'

/** What bars may stand for. */
export const MEASURES = {
  cost: { field: 'cost_usd', title: 'Cost', format: usd, tick: tickUsd },
  requests: { field: 'requests', title: 'Requests', format: count, tick: roughly },
  tokens: { field: 'total_tokens', title: 'Tokens', format: roughly, tick: roughly },
  errors: { field: 'errors', title: 'Errors', format: count, tick: roughly },
} as const

export type Measure = keyof typeof MEASURES

/** `name` of an address, if it is one. */
export function measureOf(name: string | undefined): Measure {
  return name !== undefined && Object.hasOwn(MEASURES, name) ? (name as Measure) : 'cost'
}

interface SeriesChartProps {
  readonly report: Pick<ReportDocument, 'period' | 'series'>
  /** What a group is called, and where it leads; `null`: nothing is stacked. */
  readonly named: ((group: object) => Pick<Series, 'label' | 'href'>) | null
  readonly measure: Measure
  readonly interval: string
}

/** The series of a report: its first groups, and all others together. */
export function SeriesChart({ report: { series, period }, named, measure, interval }: SeriesChartProps) {
  if (series === undefined) return null
  const { field, title, format, tick } = MEASURES[measure]
  const groups =
    named === null ? [] : series.groups.map((group) => ({ ...named(group), values: group[field] }))
  const rest = series.other[field]
  const hasRest = groups.length === 0 || rest.some((value) => value !== 0)
  const today = new Date().toISOString().slice(0, 10)
  return (
    <Chart
      label={`${title} per UTC ${interval}`}
      starts={series.starts}
      series={
        hasRest ? [...groups, { label: groups.length === 0 ? 'all' : 'all others', values: rest }] : groups
      }
      isOpen={period.to >= today}
      format={format}
      tick={tick}
    />
  )
}
