import { NO_VALUE } from '../../call/axes.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { isClosed } from '../../usage/summaries/summarised.ts'
import { findSummaryTables } from '../../usage/summaries/summary-tables.ts'
import { coversModelInSql } from '../covers-model.ts'
import { CHARGES_LEFT, IS_UNTOLD_JOB, IS_WAITING_JOB } from '../spent/charges.ts'
import { COST_COLUMN, COST_OF_ROW } from '../spent/cost-of-row.ts'
import { isOfRouteAlone, SPENT_BY_ROUTE } from '../spent/route-spending.ts'
import { ACCOUNT_SHAPES, type AccountShape } from '../spent/spent-statement.ts'
import { MODEL_OF_LIMIT } from '../table/limit-rows.ts'

const MONTH_OF_DAY = `date_trunc('month', u.day::timestamp)::date`
const CLOSED_MONTHS = 'array(select month from closed_month)'

const CLOSED_DAYS = 'array(select day from closed_day)'

/** Known before any row is read: where no budget is such, no sums are read for none. */
const areAny = (such: string) => `(select exists (select from budget b where ${such}))`

/** Only a budget for all time may have a month that is over: one for a month is looked at while that runs. */
const IS_CLOSED_MONTH = `b.per = 'total' and u.day = any(${CLOSED_MONTHS})`
const IN_CLOSED_MONTH = `(b.per = 'total' and ${MONTH_OF_DAY} >= b.from_day and ${MONTH_OF_DAY} = any(${CLOSED_MONTHS}))`

const IS_OF_CLIENT = 'b.axis is null and b.group_id is null'
const IS_WHOSE = `coalesce(b.client_id, u.client_id) = u.client_id
    and (b.key_id is null or b.key_id = u.key_id or u.key_id = any(b.former_keys))`
const IN_PERIOD = 'u.day >= b.from_day and (b.to_day is null or u.day <= b.to_day)'

/** An array, so that Postgres looks into the partitions of these days alone. A gateway's clock may be ahead. */
const OPEN_DAYS = `array(
  select d.day::date from generate_series(
    greatest((select min(from_day) from budget), (select min(day) from ${SCHEMA}.daily_usage))::timestamp,
    $1::timestamp + interval '1 day', interval '1 day') d (day)
  where not exists (select from closed_day c where c.day = d.day::date))`

const OWN = 'b.client_id = u.client_id'

/** Most budgets are of clients, for a day, week or month. */
const IS_COMMON = `${IS_OF_CLIENT} and b.client_id is not null and b.key_id is null and b.model is null and b.per <> 'total'`
const costOf = (from: string, to: string) =>
  `sum(u.${COST_COLUMN}) filter (where u.day between ${from} and ${to})`

/** The days that are over are summed up once for all of a client's: a budget by day would be joined with every one. */
const COMMON_PART = `
select b.id, u.client_id, null as value, case b.per when 'day' then of_day when 'week' then of_week else of_month end as pico
from budget b join (
  select u.client_id, ${costOf('$1', '$1')} as of_day, ${costOf('$2', '$3')} as of_week, ${costOf('$4', '$5')} as of_month
  from ${SCHEMA}.usage_days_by_client u
  where u.day = any(${CLOSED_DAYS})
    and u.day between least($2::date, $4::date) and greatest($3::date, $5::date)
    and u.client_id in (select l.client_id from ${SCHEMA}.limits l where l.kind = 'budget' and l.removed_at is null)
  group by u.client_id) u on ${OWN} and ${IS_COMMON}
where ${areAny(IS_COMMON)}`

/** Apart for clients' own budgets, which are found by client, and for defaults, which are for no key and found by day. */
function allParts(): string {
  return ACCOUNT_SHAPES.flatMap((shape) => {
    const own = partsOf(shape, OWN)
    return shape.ofKey ? own : [...own, ...partsOf(shape, 'b.client_id is null')]
  }).join(' union all ')
}

function partsOf({ ofKey, ofModel }: AccountShape, whose: string): readonly string[] {
  const tables = findSummaryTables([
    'clientId',
    ...(ofKey ? ['keyId' as const] : []),
    ...(ofModel ? ['model' as const] : []),
  ])
  const such = `${IS_OF_CLIENT} and b.client_id is ${whose === OWN ? 'not' : ''} null
    and b.key_id is ${ofKey ? 'not' : ''} null and b.model is ${ofModel ? 'not' : ''} null`
  const of = [
    such,
    whose,
    ...(ofKey ? ['(b.key_id = u.key_id or u.key_id = any(b.former_keys))'] : []),
    ...(ofModel ? [coversModelInSql('b.model', 'u.model')] : []),
    IN_PERIOD,
  ].join(' and ')
  const part = (table: string, pico: string, where: string, kind = such) =>
    `select b.id, u.client_id, null as value, ${pico} as pico from budget b join ${SCHEMA}.${table} u on ${of} and ${where}
     where ${areAny(kind)}`
  const fromRows = (where: string) => part('daily_usage', COST_OF_ROW, where)
  if (tables === null) return [fromRows('true')]
  const isTotal = ` and b.per = 'total'`
  const fromMonths = part(tables.months, `u.${COST_COLUMN}`, IS_CLOSED_MONTH, such + isTotal)
  if (tables.days === null) return [fromMonths, fromRows(`not ${IN_CLOSED_MONTH}`)]
  const isCommon = whose === OWN && !ofKey && !ofModel
  const rest = isCommon ? isTotal : ''
  return [
    fromMonths,
    ...(isCommon ? [COMMON_PART] : []),
    part(
      tables.days,
      `u.${COST_COLUMN}`,
      `u.day = any(${CLOSED_DAYS})${rest} and not ${IN_CLOSED_MONTH}`,
      such + rest,
    ),
    fromRows(`u.day = any(${OPEN_DAYS}) and not ${IN_CLOSED_MONTH}`),
  ]
}

/** The budget `own` takes the place of the budget `b`, of which there are few but for defaults and those for each value. */
const IS_LIKE = `own.axis is not distinct from b.axis and own.key_id is not distinct from b.key_id
    and own.per = b.per and own.soft = b.soft and own.model is not distinct from b.model
    and ${strictnessOf('own')} > ${strictnessOf('b')}`

const valuedIn = (table: string, route: string, such: string) => `
  select c.client_id, c.key_id, c.model, ${route} as route, c.axis, c.value, c.day, spent.pico + charge.pico as pico
  from ${SCHEMA}.${table} c cross join ${SPENT_BY_ROUTE} cross join ${CHARGES_LEFT}
  where c.day >= (select min(from_day) from budget where ${such})`

/**
 * What was spent of every budget, in SQL: the common tables `budget` (one row a budget), and `spent` (one row for each of
 * them and a client that spent anything of it, and a value of its axis). Set-wise, as there may be more clients than could be asked about one
 * after the other. Sums of days and months that are over stand for their rows, as in answers about usage.
 *
 * Its parameters: $1 the day, $2 and $3 the first and last day of its week, $4 and $5 of its month.
 */
export const SPENT_OF_BUDGETS = `
budget as (
  select l.id, l.client_id, l.group_id, l.axis, l.axis_value, l.key_id, l.former_keys, ${MODEL_OF_LIMIT} as model,
    l.per, l.soft,
    case when l.raised_until > now() then greatest(l.amount, l.raised_to) else l.amount end as amount, l.amount as set_amount,
    case l.per when 'day' then $1::date when 'week' then $2::date when 'month' then $4::date
      else l.since end as from_day,
    case l.per when 'day' then $1::date when 'week' then $3::date when 'month' then $5::date end as to_day
  from ${SCHEMA}.limits l where l.kind = 'budget' and l.removed_at is null and l.group_id is null),
closed_month as materialized (
  select month from ${SCHEMA}.summarised_months where month >= (select min(from_day) from budget)),
closed_day as materialized (
  select day from ${SCHEMA}.summarised_days s
  where ${isClosed('s')} and day >= (select min(from_day) from budget)),
charged as (
  select c.client_id, c.key_id, c.model, null as route, c.day, charge.pico from ${SCHEMA}.budget_charges c cross join ${CHARGES_LEFT}
  where c.day >= (select min(from_day) from budget)
  union all
  select o.client_id, o.key_id, o.model, o.route, (o.created_at at time zone 'UTC')::date, o.reserved_pico
  from ${SCHEMA}.objects o where ${IS_UNTOLD_JOB} and not ${IS_WAITING_JOB}),
routed as (
  select c.client_id, c.key_id, c.model, c.route, c.day, spent.pico + charge.pico as pico
  from ${SCHEMA}.route_spending c cross join ${SPENT_BY_ROUTE} cross join ${CHARGES_LEFT}
  where c.day >= (select min(from_day) from budget where model is not null)),
valued as (
  ${valuedIn('value_spending', 'null', 'axis is not null')}
  union all
  ${valuedIn('value_route_spending', 'c.route', 'axis is not null and model is not null')}),
part as (
  ${allParts()}
  union all
  select b.id, u.client_id, u.value, u.pico from budget b join valued u on ${IS_WHOSE} and b.group_id is null
    and u.axis = b.axis and (b.axis_value = u.value or (b.axis_value is null and u.value <> '${NO_VALUE}'))
    and (case when u.route is null then b.model is null or ${coversModelInSql('b.model', 'u.model')}
      else b.model is not null and ${isOfRouteAlone('b.model', 'u')} end) and ${IN_PERIOD}
  union all
  select b.id, u.client_id, null, u.pico from budget b join routed u on ${IS_WHOSE} and ${IS_OF_CLIENT}
    and b.model is not null and ${isOfRouteAlone('b.model', 'u')} and ${IN_PERIOD}
  union all
  select b.id, u.client_id, null, u.pico from budget b join charged u on ${IS_WHOSE} and ${IS_OF_CLIENT}
    and (b.model is null or u.model is null or ${coversModelInSql('b.model', 'u.model')}
      or (u.route is not null and ${coversModelInSql('b.model', 'u.route')})) and ${IN_PERIOD}),
replaced as materialized (
  select b.id, own.client_id, own.axis_value from budget b join budget own on b.client_id is null and ${IS_LIKE}
  union all
  select b.id, own.client_id, own.axis_value from budget b join budget own
    on own.client_id = b.client_id and b.axis is not null and b.axis_value is null and ${IS_LIKE}),
spent as (
  select id, client_id, value, ceil(sum(pico)) as pico from part p
  group by id, client_id, value
  having (id, client_id) not in (
      select id, client_id from replaced where client_id is not null and axis_value is null)
    and (id, client_id, coalesce(value, '')) not in (
      select id, client_id, axis_value from replaced where client_id is not null and axis_value is not null)
    and (id, coalesce(value, '')) not in (
      select id, axis_value from replaced where client_id is null and axis_value is not null))`

/** A client's own takes the place of a default, and one for a value apart that of one for each. */
function strictnessOf(alias: string): string {
  return `((${alias}.client_id is not null)::integer * 2 + (${alias}.axis_value is not null)::integer)`
}
