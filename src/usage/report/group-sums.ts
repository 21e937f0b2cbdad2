import type { Period } from '../../domain/period.ts'
import { GROUPS_ABOVE, SPANS } from '../../keys/groups/group-spans.ts'
import { type GroupInTree, selectGroups } from '../../keys/groups/groups.ts'
import { inSnapshot, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { selectSummarised } from '../summaries/summarised.ts'
import { withoutMoves } from './group-source.ts'
import { REPORT_COLUMNS } from './joined-source.ts'
import { usageSource, Values } from './report-source.ts'
import { type ReportSums, reportSumsFrom, type SqlRow } from './select-report.ts'

/** What was used in a group over a period. */
export interface GroupSums {
  /** `null`: by clients in no group. */
  readonly group: Pick<GroupInTree, 'id' | 'name' | 'parentId' | 'level' | 'clients'> | null
  readonly sums: ReportSums
  /** By clients that were in it themselves. */
  readonly own: ReportSums
}

/**
 * What each group and all below it used, in the order of the tree, and what clients in none did. All that has no group
 * above it then adds up to the whole.
 */
export async function selectGroupSums(pool: Postgres, period: Period): Promise<readonly GroupSums[]> {
  return await inSnapshot(pool, async (session) => {
    const known = await withoutMoves(session, await selectSummarised(session, period, 'whole'))
    const values = new Values()
    const source = usageSource(
      { by: ['clientId'], keepsDay: true, only: [], periods: [period], known },
      values,
      REPORT_COLUMNS,
    )
    const sums = REPORT_COLUMNS.map(({ column }) => `sum(u.${column}) as ${column}`)
    const found = REPORT_COLUMNS.flatMap(({ column, field }) => [
      `coalesce(sum(d.${column}), 0) as "${field}"`,
      `coalesce(sum(d.${column}) filter (where d.group_id = coalesce(a.above_id, '')), 0) as "own.${field}"`,
    ])
    const { rows } = await session.query<SqlRow>(
      `with direct as materialized (
         select coalesce(s.group_id, '') as group_id, u.day, ${sums.join(', ')} from (${source}) u
         left join (${SPANS}) s on s.id = u.client_id and u.day between s.from_day and s.to_day
         group by 1, 2),
       used as (
         select coalesce(a.above_id, '') as id, ${found.join(', ')} from direct d
         left join (${GROUPS_ABOVE}) a on a.group_id = d.group_id and d.day between a.from_day and a.to_day
         group by 1)
       select used.*, g.name from used left join ${SCHEMA}.groups g on g.id = used.id order by g.name`,
      values.all,
    )
    const groups = await selectGroups(session)
    const ended = rows.filter(({ id }) => id !== '' && !groups.some((group) => group.id === id))
    const past = ended.map(({ id, name }) => ({ id: id ?? '', name: name ?? '', ...ENDED }))
    return [...groups, ...past, null].map((group) => {
      const row = rows.find(({ id }) => id === (group?.id ?? '')) ?? {}
      return { group, sums: reportSumsFrom(row, ''), own: reportSumsFrom(row, 'own.') }
    })
  })
}

const ENDED = { parentId: null, level: 1, clients: 0 }
