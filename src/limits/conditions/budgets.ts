import { WANTED } from '../../alerts/raise-alerts.ts'
import type { Occurrence } from '../../domain/conditions/condition.ts'
import { warning } from '../../domain/conditions/finding.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { BudgetPeriod } from '../limit.ts'
import { budgetPeriodOf } from '../limit.ts'
import { selectGroupBudgets } from '../spent/group-budgets.ts'
import { SPENT_OF_BUDGETS } from './spent-budgets.ts'

/** More than these are found the next time. */
const MOST = 1_000

/** The thresholds that were reached and that were not sent to some receiver: `a` is the alert as it is to be. */
const SELECT_REACHED = `
with ${SPENT_OF_BUDGETS},
threshold as (
  select distinct unnest(thresholds) as threshold from ${SCHEMA}.alert_receivers
  where removed_at is null and 'budget' = any(kinds)),
a as (
  select 'budget' as kind,
    -- One for all time never has a new period: else who tops it up would learn of its end once and never again.
    b.id || '/' || s.client_id || coalesce('/' || s.value, '') || case b.per when 'total' then '/' || b.set_amount else '' end as subject, t.threshold, s.client_id, s.pico,
    b.id, b.client_id is null as is_default, b.key_id, b.model, b.axis, s.value, b.per, b.soft, b.amount, b.from_day, b.to_day
  from spent s join budget b on b.id = s.id join threshold t on s.pico * 100 >= b.amount * t.threshold)
select a.*, c.name as client
from a join ${SCHEMA}.clients c on c.id = a.client_id
where exists (
  select from ${SCHEMA}.alert_receivers r where ${WANTED} and not exists (
    select from ${SCHEMA}.alerts m join ${SCHEMA}.alert_deliveries d on d.alert_id = m.id and d.receiver_id = r.id
    where m.kind = a.kind and m.subject = a.subject and m.period = a.from_day and m.threshold = a.threshold))
order by a.id, a.client_id, a.value, a.threshold limit ${MOST}`

interface ReachedRow {
  readonly subject: string
  readonly threshold: number
  /** `null`: a group. */
  readonly client_id: string | null
  readonly client: string
  readonly pico: string
  readonly id: string
  readonly is_default: boolean
  readonly key_id: string | null
  readonly model: string | null
  readonly axis: string | null
  readonly value: string | null
  readonly per: BudgetPeriod
  readonly soft: boolean
  readonly amount: string
  readonly from_day: UtcDay
  readonly to_day: UtcDay | null
}

/**
 * The thresholds of budgets that are reached in the periods in which `day` lies and that receivers still are to
 * learn. What was spent is what is counted by now, corrections and what calls without a cost are charged included.
 */
export async function findReachedThresholds(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const week = budgetPeriodOf('week', null, day)
  const month = budgetPeriodOf('month', null, day)
  const { rows } = await pool.query<ReachedRow>(SELECT_REACHED, [
    day,
    week.fromDay,
    week.toDay,
    month.fromDay,
    month.toDay,
  ])
  return rows.map(occurrenceOf)
}

function occurrenceOf(row: ReachedRow): Occurrence {
  const spent = picoToUsdText(BigInt(row.pico))
  const amount = picoToUsdText(BigInt(row.amount))
  return {
    subject: row.subject,
    period: row.from_day,
    threshold: row.threshold,
    ...(row.client_id === null ? {} : { clientId: row.client_id }),
    payload: {
      message: `${row.client} has spent ${spent} USD of ${amount} USD ${periodText(row)}${scopeText(row)}: ${row.threshold} % of its ${row.soft ? 'soft ' : ''}budget are reached.`,
      limit: {
        id: row.id,
        per: row.per,
        soft: row.soft,
        key: row.key_id,
        model: row.model,
        axis: row.axis,
        value: row.value,
        default: row.is_default,
      },
      threshold: row.threshold,
      spent_usd: spent,
      limit_usd: amount,
      period_from: row.from_day,
      period_to: row.to_day,
    },
  }
}

function periodText({ per, from_day: from, to_day: to }: ReachedRow): string {
  if (per === 'day') return `on ${from}`
  return to === null ? `since ${from}` : `from ${from} to ${to}`
}

function scopeText({ key_id: key, model, axis, value }: ReachedRow): string {
  return `${axis === null ? '' : ` for ${axis} ${value}`}${model === null ? '' : ` for ${model}`}${key === null ? '' : ` with ${key}`}`
}

/** Budgets of values of axes, of clients that have no hard budget for all of their calls. */
const SELECT_UNBOUNDED = `
select coalesce(c.name, '') as client, array_agg(distinct l.axis order by l.axis) as axes
from ${SCHEMA}.limits l left join ${SCHEMA}.clients c on c.id = l.client_id
where l.kind = 'budget' and not l.soft and l.axis is not null and l.group_id is null and l.removed_at is null
  and not exists (
    select from ${SCHEMA}.limits o where o.kind = 'budget' and not o.soft and o.removed_at is null
      and o.axis is null and o.group_id is null and o.key_id is null and o.model is null
      and (o.client_id is null or o.client_id = l.client_id))
group by c.name order by c.name limit 4`

/** A client that says the value itself passes such a budget by saying another one. */
export const VALUE_BUDGETS: Condition<{ readonly pool: Postgres }> = {
  name: 'budgets of values',
  place: 'postgres',
  severity: 'note',
  async find({ pool }) {
    const { rows } = await pool.query<{ client: string; axes: readonly string[] }>(SELECT_UNBOUNDED)
    if (rows.length === 0) return []
    const named = rows
      .slice(0, 3)
      .map(({ client, axes }) => `${client || 'all clients'} (${axes.join(', ')})`)
    const more = rows.length > 3 ? ' and others' : ''
    return warning(
      'budgets of values',
      `only values of axes have a budget: ${named.join(', ')}${more}; who writes another value passes it`,
      'set a budget for the client beside it: limits set --client NAME --budget USD --per day',
    )
  },
}

const SELECT_THRESHOLDS = `
select distinct unnest(r.thresholds) as threshold from ${SCHEMA}.alert_receivers r
where r.removed_at is null and r.client_id is null and 'budget' = any(r.kinds) order by 1`

/** The same of groups, and of single values within them. */
export async function findReachedByGroups(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const { rows } = await pool.query<{ threshold: number }>(SELECT_THRESHOLDS)
  if (rows.length === 0) return []
  const budgets = await selectGroupBudgets(pool, day)
  return budgets.flatMap(({ limit, period: { fromDay, toDay }, name, spentPico, amountPico }) =>
    rows
      .filter(({ threshold }) => spentPico * 100n >= amountPico * BigInt(threshold))
      .map(({ threshold }) =>
        occurrenceOf({
          ...{
            subject: `${limit.id}/${limit.groupId}`,
            threshold,
            client_id: null,
            client: `the group ${name}`,
          },
          ...{ pico: `${spentPico}`, id: limit.id, is_default: false, key_id: null, model: limit.model },
          ...{ axis: limit.axis, value: limit.value, per: limit.per ?? 'total', soft: limit.isSoft },
          ...{ amount: `${amountPico}`, from_day: fromDay, to_day: toDay },
        }),
      ),
  )
}

export const BUDGETS: Condition<{ readonly pool: Postgres }> = {
  name: 'budgets',
  place: 'postgres',
  severity: 'note',
  alert: {
    kind: 'budget',
    meaning: 'a client has spent a threshold of a budget',
    ofClient: true,
    when: 'often',
    finders: [
      async ({ pool }, { fromDay, today }) => {
        const ofDays = [...new Set([fromDay, today])].map((day) => findReachedThresholds(pool, day))
        return (await Promise.all(ofDays)).flat()
      },
      async ({ pool }, { fromDay, today }) => {
        const ofDays = [...new Set([fromDay, today])].map((day) => findReachedByGroups(pool, day))
        return (await Promise.all(ofDays)).flat()
      },
    ],
  },
}

/** It is known to the gateway alone. */
export const LIMITS_SHARED: Condition<object> = {
  name: 'limits',
  place: 'redis',
  severity: 'wrong',
  event: 'limits.not_shared',
  readiness: { item: 'limits', lacks: ({ limitsDegraded }) => limitsDegraded },
}
