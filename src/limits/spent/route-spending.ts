import type { CountedCall } from '../../call/call-record.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { isRowOf, KEY_COLUMNS, KEY_RECORD, keyOf, keyRowOf, keyText, ROW_KEY } from '../../usage/daily-key.ts'
import { coversModelInSql } from '../covers-model.ts'
import { chargeOf, mayBePriced, UNPRICED_WITH_FIGURES } from './charges.ts'
import { COST_OF_ROW } from './cost-of-row.ts'

/**
 * What the calls of a row `c` of `route_spending` cost now, as a column `pico` of `spent`: corrections of the row of
 * totals that they are in are theirs by their part of its cost, or where it had none, of its calls that a price may fit.
 */
export const SPENT_BY_ROUTE = `lateral (
  select c.cost_pico + coalesce((
    select case when u.cost_pico <> 0 then (${COST_OF_ROW} - u.cost_pico) * c.cost_pico / u.cost_pico
      else (${COST_OF_ROW}) * c.unpriced / ${UNPRICED_WITH_FIGURES} end
    from ${SCHEMA}.daily_usage u where ${isRowOf('u', 'c')} limit 1), 0) as pico) as spent`

/** Stands behind a name, before another one that the same cost has a row for. No name has it. */
const BESIDE = '\r'

/**
 * The condition that a limit for `pattern` is about a row of `route_spending` by its route, and by no other name that has
 * the row's cost: its model, or the route of a session that ran a model beside its own.
 */
export function isOfRouteAlone(pattern: string, row: string): string {
  const nameAt = (place: 1 | 2) => `split_part(${row}.route, chr(${BESIDE.charCodeAt(0)}), ${place})`
  return `(${coversModelInSql(pattern, nameAt(1))} and not ${coversModelInSql(pattern, `${row}.model`)}
    and not ${coversModelInSql(pattern, nameAt(2))})`
}

interface NamedTotal {
  readonly row: object
  cost: bigint
  unpriced: number
  unpricedPico: bigint
  withoutFiguresPico: bigint
}

/** A table of what calls cost and are charged by names that `daily_usage` does not have. */
export interface NamedSpending {
  readonly table: string
  /** Its columns beside those of `daily_usage`, and the key of its rows. */
  readonly names: readonly string[]
  readonly key: string
}

const SUMS = ['cost_pico', 'unpriced', 'unpriced_pico', 'without_figures_pico']

/** Adds what calls cost and are charged, each under the names that it has. */
export async function addNamedSpending(
  session: PostgresSession,
  { table, names, key: rowKey }: NamedSpending,
  calls: readonly { readonly call: CountedCall; readonly names: readonly string[] }[],
): Promise<void> {
  const totals = new Map<string, NamedTotal>()
  for (const { call, names: of } of calls) {
    const key = keyOf(call)
    const text = [keyText(key), ...of].join('\0')
    const total = totals.get(text) ?? {
      row: { ...keyRowOf(key), ...Object.fromEntries(names.map((name, at) => [name, of[at]])) },
      ...{ cost: 0n, unpriced: 0, unpricedPico: 0n, withoutFiguresPico: 0n },
    }
    const hasFigures = mayBePriced(call)
    if (hasFigures && call.costPico === null) total.unpriced += 1
    total.cost += BigInt(call.costPico ?? '0')
    total[hasFigures ? 'unpricedPico' : 'withoutFiguresPico'] += chargeOf(call)
    totals.set(text, total)
  }
  if (totals.size === 0) return
  const rows = [...totals].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, total]) => total)
  const columns = [...KEY_COLUMNS, ...names].join(', ')
  await session.query(
    `insert into ${SCHEMA}.${table} as c (${columns}, ${SUMS.join(', ')})
     select ${columns}, ${SUMS.join(', ')} from json_to_recordset($1) as r (${KEY_RECORD},
       ${names.map((name) => `${name} text`).join(', ')}, ${SUMS.map((sum) => `${sum} numeric`).join(', ')})
     on conflict (${rowKey}) do update set
       ${SUMS.map((sum) => `${sum} = c.${sum} + excluded.${sum}`).join(', ')}`,
    [
      JSON.stringify(
        rows.map(({ row, cost, unpriced, unpricedPico, withoutFiguresPico }) => ({
          ...row,
          cost_pico: `${cost}`,
          unpriced,
          unpriced_pico: `${unpricedPico}`,
          without_figures_pico: `${withoutFiguresPico}`,
        })),
      ),
    ],
  )
}

const BY_ROUTE: NamedSpending = {
  table: 'route_spending',
  names: ['route'],
  key: `${ROW_KEY}, route`,
}

/** A call under a name that its row of totals does not have, with what of its cost is spent of budgets for that name. */
export interface NamedCall {
  readonly call: CountedCall
  readonly name: string
}

/** The route that a call asked for, and the models that a session ran beside its own: budgets may be for those. */
export function otherNamesOf(call: CountedCall): readonly NamedCall[] {
  const { route, beside = [] } = call
  return [
    ...(route === undefined ? [] : [{ call, name: route }]),
    ...beside.map(({ model, costPico }) => ({
      call: { ...call, costPico, chargedPico: undefined },
      name: route === undefined ? model : `${model}${BESIDE}${route}`,
    })),
  ]
}

/** Adds what these calls cost and are charged under those names. */
export async function addRouteSpending(
  session: PostgresSession,
  calls: readonly CountedCall[],
): Promise<void> {
  const named = calls.flatMap(otherNamesOf).map(({ call, name }) => ({ call, names: [name] }))
  await addNamedSpending(session, BY_ROUTE, named)
}
