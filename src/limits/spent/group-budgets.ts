import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { amountAt, budgetPeriodOf, type Limit, type PeriodDays } from '../limit.ts'
import { LIMIT_COLUMNS, type LimitRow, limitFrom } from '../table/limit-rows.ts'
import { selectSpent } from './select-spent.ts'

/** A budget of a group, or of one value within it. */
export interface GroupBudget {
  readonly limit: Limit
  /** The group's. */
  readonly name: string
  readonly period: PeriodDays
  /** Integer pico-USD, in the period. */
  readonly spentPico: bigint
  readonly amountPico: bigint
}

/** More are found the next time. */
const MOST = 1_000

const SELECT = `
select ${LIMIT_COLUMNS}, g.name from ${SCHEMA}.limits l join ${SCHEMA}.groups g on g.id = l.group_id
where l.kind = 'budget' and l.removed_at is null and l.group_id is not null
  and (l.axis is null or l.axis_value is not null)
order by l.id limit ${MOST}`

/** Budgets of groups with what was spent of them in the periods in which `day` lies. These are few. */
export async function selectGroupBudgets(pool: Postgres, day: UtcDay): Promise<readonly GroupBudget[]> {
  const { rows } = await pool.query<LimitRow & { readonly name: string }>(SELECT)
  const budgets = rows.map((row) => {
    const limit = limitFrom(row)
    const amountPico = amountAt(limit, Date.parse(`${day}T00:00:00Z`))
    return {
      limit,
      name: row.name,
      amountPico,
      period: budgetPeriodOf(limit.per ?? 'total', limit.since, day),
    }
  })
  if (budgets.length === 0) return []
  const accounts = budgets.map(({ limit, period }) => ({ ...limit, ...period }))
  const { spentPico } = await selectSpent(pool, accounts, [])
  return budgets.map((budget, at) => ({ ...budget, spentPico: spentPico[at] ?? 0n }))
}
