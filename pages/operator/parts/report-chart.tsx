import { linkTo } from '../../shared/address.ts'
import { address } from '../../shared/context.tsx'
import { filterOf, type Group, groupOf, isAxis, shownName } from '../../shared/groups.ts'
import { type Measure, SeriesChart } from '../../shared/series-chart.tsx'
import type { Report } from '../answers.ts'

interface ReportChartProps {
  readonly report: Report
  /** `null`: nothing is stacked. */
  readonly group: Group | null
  readonly measure: Measure
  readonly interval: string
}

/** The series of a report, in which each group leads deeper. */
export function ReportChart({ report, group, measure, interval }: ReportChartProps) {
  const { query } = address.value
  const named = (own: Group) => (one: object) => {
    const { name, id } = groupOf(one, own)
    const href = linkTo('explore', {
      ...report.period,
      ...filterOf(own, id),
      ...deeper(own, query.group_by),
    })
    return { label: shownName(name), ...(id === '' ? {} : { href }) }
  }
  return (
    <SeriesChart
      report={report}
      named={group === null ? null : named(group)}
      measure={measure}
      interval={interval}
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
