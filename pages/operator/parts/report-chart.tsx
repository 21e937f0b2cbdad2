import { linkTo } from '../../shared/address.ts'
import { Chart, type Series } from '../../shared/chart.tsx'
import { address } from '../../shared/context.tsx'
import { count, roughly, tickUsd, usd } from '../../shared/format.ts'
import { filterOf, type Group, groupOf, isAxis, shownName } from '../../shared/groups.ts'
import type { Report } from '../answers.ts'

/** What bars may stand for. */
export const MEASURES = {
  cost: { field: 'cost_usd', title: 'Cost', format: usd, tick: tickUsd },
  requests: { field: 'requests', title: 'Requests', format: count, tick: roughly },
  tokens: { field: 'total_tokens', title: 'Tokens', format: roughly, tick: roughly },
  errors: { field: 'errors', title: 'Errors', format: count, tick: roughly },
} as const

export type Measure = keyof typeof MEASURES

interface ReportChartProps {
  readonly report: Report
  /** `null`: nothing is stacked. */
  readonly group: Group | null
  readonly measure: Measure
  readonly interval: string
}

/** The series of a report: its first groups, and all others together. */
export function ReportChart({ report: { series, period }, group, measure, interval }: ReportChartProps) {
  if (series === undefined) return null
  const { field, title, format, tick } = MEASURES[measure]
  const { query } = address.value
  const groups = group === null ? [] : series.groups
  const named = groups.map((one): Series => {
    const { name, id } = groupOf(one, group ?? 'client')
    const href = linkTo('explore', {
      ...period,
      ...filterOf(group ?? 'client', id),
      ...deeper(group, query.group_by),
    })
    return { label: shownName(name), ...(id === '' ? {} : { href }), values: one[field] }
  })
  const rest = series.other[field]
  const hasRest = named.length === 0 || rest.some((value) => value !== 0)
  const today = new Date().toISOString().slice(0, 10)
  return (
    <Chart
      label={`${title} per UTC ${interval}`}
      starts={series.starts}
      series={
        hasRest ? [...named, { label: named.length === 0 ? 'all' : 'all others', values: rest }] : named
      }
      isOpen={period.to >= today}
      format={format}
      tick={tick}
    />
  )
}

/**
 * What a group is broken down by once it is chosen: a group of clients by those right below it, and its own by client.
 *
 * @param isOwn It is the group of clients that was chosen before.
 */
export function deeper(group: Group | null, groups = 'client', isOwn = false) {
  if (group === 'group' && !isOwn) return { group_by: groups }
  const next =
    group === 'model' || group === 'group' || (group !== null && isAxis(group)) ? 'client' : 'model'
  return { group_by: groups.split(',')[0] === group || group === null ? next : groups }
}
