import { NO_VALUE, parseAxes } from '../../call/axes.ts'
import type { CountedCall } from '../../call/call-record.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { addNamedSpending, type NamedSpending, otherNamesOf } from './route-spending.ts'

const BY_VALUE: NamedSpending = {
  table: 'value_spending',
  names: ['axis', 'value'],
  key: `client_id, axis, value, day, ${SCHEMA}.daily_key_hash(client_id, key_id, model, upstream, price_id)`,
}

/** The same by route: a budget of values may be for the name of one. */
const BY_VALUE_AND_ROUTE: NamedSpending = {
  table: 'value_route_spending',
  names: [...BY_VALUE.names, 'route'],
  key: `${BY_VALUE.key}, route`,
}

/** An axis whose values have budgets. */
interface LimitedAxis {
  /** `null`: of all clients, by a default or a group. */
  readonly client_id: string | null
  readonly axis: string
  /** Calls without a value have a budget, too. */
  readonly none: boolean
  /** Some of its budgets are for models, or for routes. */
  readonly models: boolean
}

const SELECT_AXES = `
select client_id, axis, bool_or(axis_value is not distinct from $1) as none,
  bool_or(subject_model is not null) as models from ${SCHEMA}.limits
where axis is not null and removed_at is null and kind = 'budget' group by client_id, axis`

/** Adds what these calls cost and are charged under their values of axes, where values have budgets. */
export async function addValueSpending(
  session: PostgresSession,
  calls: readonly CountedCall[],
): Promise<void> {
  const { rows: limited } = await session.query<LimitedAxis>(SELECT_AXES, [NO_VALUE])
  if (limited.length === 0) return
  const byAxis = [...Map.groupBy(limited, ({ axis }) => axis)]
  const named = calls.flatMap((call) => {
    const values = new Map(parseAxes(call.axes).map(({ axis, value }) => [axis, value]))
    return byAxis.flatMap(([axis, owners]) => {
      const of = owners.filter(({ client_id: id }) => id === null || id === call.clientId)
      const value = values.get(axis) ?? (of.some(({ none }) => none) ? NO_VALUE : undefined)
      if (of.length === 0 || value === undefined) return []
      return [{ call, names: [axis, value], isRouted: of.some(({ models }) => models) }]
    })
  })
  await addNamedSpending(session, BY_VALUE, named)
  const routed = named.flatMap(({ call, names, isRouted }) =>
    isRouted ? otherNamesOf(call).map((other) => ({ call: other.call, names: [...names, other.name] })) : [],
  )
  await addNamedSpending(session, BY_VALUE_AND_ROUTE, routed)
}

/** The condition that a job `o` has the value of the account `a` on its axis. */
export const HAS_VALUE = `(case when a.value = '${NO_VALUE}'
  then not coalesce(concat(chr(10), o.axes) ~ concat(chr(10), '[-~]?', a.axis, '='), false)
  else string_to_array(o.axes, chr(10)) && array[a.axis || '=' || a.value, '-' || a.axis || '=' || a.value,
    '~' || a.axis || '=' || a.value] end)`

/** The longest period of a budget that ends: a month, and a day for clocks that are ahead. */
const KEEP_DAYS = 33

const DROPPED_AT_ONCE = 50_000

/** Drops what no budget adds up any more: budgets for all time keep all of their axis. */
export async function dropSpentValues(session: PostgresSession): Promise<void> {
  for (const { table } of [BY_VALUE, BY_VALUE_AND_ROUTE]) await dropFrom(session, table)
}

async function dropFrom(session: PostgresSession, table: string): Promise<void> {
  for (let dropped = DROPPED_AT_ONCE; dropped === DROPPED_AT_ONCE; ) {
    const { rowCount } = await session.query(
      `delete from ${SCHEMA}.${table} where ctid = any(array(
         select s.ctid from ${SCHEMA}.${table} s where s.day < (now() at time zone 'UTC')::date - ${KEEP_DAYS}
           and not exists (
             select from ${SCHEMA}.limits l where l.axis = s.axis and l.per = 'total' and l.removed_at is null)
         limit ${DROPPED_AT_ONCE}))`,
    )
    dropped = rowCount ?? 0
  }
}
