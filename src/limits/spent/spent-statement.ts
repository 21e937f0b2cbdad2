import { SCHEMA } from '../../store/connection/schema.ts'
import { offsetsStatement } from '../../store/ledger/committed-offsets.ts'
import type { DimensionField } from '../../usage/dimensions.ts'
import { findSummaryTables } from '../../usage/summaries/summary-tables.ts'
import { coversModelInSql } from '../covers-model.ts'
import { CHARGES_LEFT, IS_UNTOLD_JOB, IS_WAITING_JOB } from './charges.ts'
import { COST_COLUMN, COST_OF_ROW } from './cost-of-row.ts'
import { isOfRouteAlone, SPENT_BY_ROUTE } from './route-spending.ts'
import { HAS_VALUE } from './value-spending.ts'

/**
 * What a row of the statement is: the cost of an account's calls, what those without a cost are charged, what its jobs
 * reserve, or a committed offset.
 */
export type SpentKind = 'spent' | 'charged' | 'jobs' | 'offset'

/** Whether an account is of one key, and whether of some models: by these its rows lie in other tables. */
export interface AccountShape {
  readonly ofKey: boolean
  readonly ofModel: boolean
}

export const ACCOUNT_SHAPES: readonly AccountShape[] = [
  { ofKey: false, ofModel: false },
  { ofKey: true, ofModel: false },
  { ofKey: false, ofModel: true },
  { ofKey: true, ofModel: true },
]

/**
 * From where each day of each asked period is read, once: months that are summed up and lie in it as a whole, other
 * days that are summed up, and all other days that have rows. Decided within the statement, and so in its snapshot:
 * a writer of a day deletes its markers in the same transaction.
 */
const COVER = `
asked as (
  select min(from_day) as from_day, max(coalesce(to_day, 'infinity')) as to_day
  from unnest($5::date[], $6::date[]) p (from_day, to_day)),
closed_days as materialized (
  select s.day, date_trunc('month', s.day::timestamp)::date as month
  from ${SCHEMA}.summarised_days s, asked
  where s.closed_at is not null and s.day between asked.from_day and asked.to_day),
open_days as materialized (
  select d.day::date as day, date_trunc('month', d.day)::date as month
  from asked, generate_series(
    greatest(asked.from_day, (select min(day) from ${SCHEMA}.daily_usage))::timestamp,
    -- \`least\` passes over a null, and without any row the days would have no end.
    least(asked.to_day, coalesce((select max(day) from ${SCHEMA}.daily_usage), asked.from_day - 1))::timestamp, interval '1 day') d (day)
  -- With a limit it reads one row of a day, and never becomes a join with all rows.
  cross join lateral (select from ${SCHEMA}.daily_usage u where u.day = d.day::date limit 1) u
  where not exists (select from closed_days s where s.day = d.day::date)),
cover as materialized (
  select p.period, m.months,
    array(select s.day from closed_days s where s.day between p.from_day and coalesce(p.to_day, 'infinity')
      and s.month <> all(m.months)) as days,
    array(select o.day from open_days o where o.day between p.from_day and coalesce(p.to_day, 'infinity')
      and o.month <> all(m.months)) as rest
  from unnest($5::date[], $6::date[]) with ordinality p (from_day, to_day, period)
  cross join lateral (select array(
    select s.month from ${SCHEMA}.summarised_months s where s.month >= p.from_day
      and (s.month + interval '1 month' - interval '1 day')::date <= coalesce(p.to_day, 'infinity')) as months) m)`

/** The spent pico-USD of the accounts `a` of one shape, each from as few rows as its days have. */
function spentOf({ ofKey, ofModel }: AccountShape): string {
  const fields: DimensionField[] = ['clientId']
  if (ofKey) fields.push('keyId')
  if (ofModel) fields.push('model')
  const tables = findSummaryTables(fields)
  const isOfAccount = `u.client_id = a.client_id ${ofKey ? 'and u.key_id = any(a.key_ids)' : ''}
    ${ofModel ? `and ${coversModelInSql('a.model', 'u.model')}` : ''}`
  const sumsOf = (table: string | null | undefined, days: string) =>
    table === null || table === undefined
      ? null
      : `coalesce((select sum(u.${COST_COLUMN}) from ${SCHEMA}.${table} u
           where ${isOfAccount} and u.day = any(${days})), 0)`
  const fromMonths = sumsOf(tables?.months, 'c.months')
  const fromDays = sumsOf(tables?.days, 'c.days')
  const others = fromDays === null ? 'c.days || c.rest' : 'c.rest'
  // Day by day, as only then a day leads to its own partition.
  const fromRows = `coalesce((select sum(r.pico) from unnest(${others}) d (day) cross join lateral (
    select sum(${COST_OF_ROW}) as pico from ${SCHEMA}.daily_usage u
    where ${isOfAccount} and u.day = d.day) r), 0)`
  return `
select a.place::text as name, (${[fromMonths, fromDays, fromRows].filter((part) => part !== null).join(' + ')})::text as value,
  'spent' as kind
from accounts a join cover c using (period)
where a.axis is null and a.key_ids is ${ofKey ? 'not' : ''} null and a.model is ${ofModel ? 'not' : ''} null`
}

/**
 * What jobs of the accounts reserve or are charged whose use is not known, by the day and the model of the calls that
 * made them. A job that named no model may run any.
 */
const JOBS = `
select a.place::text as name, sum(o.reserved_pico)::text as value,
  case when ${IS_WAITING_JOB} then 'jobs' else 'charged' end as kind
from accounts a
join unnest($5::date[], $6::date[]) with ordinality p (from_day, to_day, period) using (period)
join ${SCHEMA}.objects o on o.client_id = a.client_id and (a.key_ids is null or o.key_id = any(a.key_ids))
  and (a.model is null or o.model is null or ${coversModelInSql('a.model', 'o.model')}
    or (o.route is not null and ${coversModelInSql('a.model', 'o.route')}))
  and o.created_at >= p.from_day::timestamp at time zone 'UTC'
  and o.created_at < coalesce((p.to_day + 1)::timestamp at time zone 'UTC', 'infinity')
where ${IS_UNTOLD_JOB} and (a.axis is null or ${HAS_VALUE})
group by 1, 3`

/** What calls of the accounts are charged that have no cost. */
const CHARGES = `
select a.place::text as name, ceil(sum(charge.pico))::text as value, 'charged' as kind
from accounts a
join unnest($5::date[], $6::date[]) with ordinality p (from_day, to_day, period) using (period)
join ${SCHEMA}.budget_charges c on c.client_id = a.client_id and (a.key_ids is null or c.key_id = any(a.key_ids))
  and (a.model is null or ${coversModelInSql('a.model', 'c.model')})
  and c.day between p.from_day and coalesce(p.to_day, 'infinity')
cross join ${CHARGES_LEFT}
where a.axis is null
group by 1`

/** What calls by a route of the accounts' models cost and are charged that other models answered. */
const ROUTES = `
select a.place::text as name, ceil(sum(case kind.kind when 'spent' then spent.pico else charge.pico end))::text as value, kind.kind
from accounts a
join unnest($5::date[], $6::date[]) with ordinality p (from_day, to_day, period) using (period)
join ${SCHEMA}.route_spending c on c.client_id = a.client_id and (a.key_ids is null or c.key_id = any(a.key_ids))
  and ${isOfRouteAlone('a.model', 'c')} and c.day between p.from_day and coalesce(p.to_day, 'infinity')
cross join ${CHARGES_LEFT}
cross join ${SPENT_BY_ROUTE}
cross join (values ('spent'), ('charged')) kind (kind)
where a.model is not null and a.axis is null
group by 1, 3`

/** What calls with a value of an axis cost and are charged, of a table of such, and of those the ones for the accounts' models. */
const valuesIn = (table: string, isOfModel: string) => `
select a.place::text as name, ceil(sum(case kind.kind when 'spent' then spent.pico else charge.pico end))::text as value, kind.kind
from accounts a
join unnest($5::date[], $6::date[]) with ordinality p (from_day, to_day, period) using (period)
join ${SCHEMA}.${table} c on c.client_id = a.client_id and c.axis = a.axis and c.value = a.value
  and (a.key_ids is null or c.key_id = any(a.key_ids)) and ${isOfModel}
  and c.day between p.from_day and coalesce(p.to_day, 'infinity')
cross join ${CHARGES_LEFT}
cross join ${SPENT_BY_ROUTE}
cross join (values ('spent'), ('charged')) kind (kind)
where a.axis is not null
group by 1, 3`

const VALUES = [
  valuesIn('value_spending', `(a.model is null or ${coversModelInSql('a.model', 'c.model')})`),
  valuesIn('value_route_spending', `a.model is not null and ${isOfRouteAlone('a.model', 'c')}`),
]

/**
 * One statement for accounts of these shapes, beside the committed offsets; an account may have several rows of a kind. Its parameters are the accounts' clients,
 * keys (of each in one text, with commas), models and numbers of periods from 1; the periods' first and last days; the
 * producers; and the accounts' places from 1, axes and values.
 */
export function buildSpentStatement(shapes: readonly AccountShape[], hasValues: boolean): string {
  const offsets = `select id as name, mark::text as value, 'offset' as kind from (${offsetsStatement('$7')}) o`
  const routes = shapes.some(({ ofModel }) => ofModel) ? [ROUTES] : []
  const values = hasValues ? VALUES : []
  return `
with accounts as materialized (
  select client_id, string_to_array(keys, ',') as key_ids, model, period, place, axis, value
  from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $8::integer[], $9::text[], $10::text[])
    a (client_id, keys, model, period, place, axis, value)),${COVER}
${[...shapes.map(spentOf), JOBS, CHARGES, ...routes, ...values, offsets].join('\nunion all\n')}`
}
