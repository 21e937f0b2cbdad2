import { NO_VALUE, OTHER_VALUES, parseAxes } from '../call/axes.ts'
import { type PostgresSession, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { AXIS_RECORD, axisKeyRow, ensureValues, JOIN_VALUES } from '../usage/axes/add-axis-usage.ts'
import { type DailyKey, KEY_COLUMNS, KEY_RECORD, keyRowOf, keyText, rowHashIn } from '../usage/daily-key.ts'

/** The part of an adjustment's entry that calls with one value have. */
export interface ValueEntry {
  readonly axis: string
  readonly value: string
  readonly pico: bigint
  readonly pricedCalls: bigint
}

type Sums = Pick<ValueEntry, 'pico' | 'pricedCalls'>

export class ValueSums {
  readonly #sums = new Map<string, ValueEntry>()

  add(values: readonly Pick<ValueEntry, 'axis' | 'value'>[], { pico, pricedCalls }: Sums): void {
    for (const { axis, value } of values) {
      const name = `${axis}=${value}`
      const before = this.#sums.get(name)
      this.#sums.set(name, {
        axis,
        value,
        pico: (before?.pico ?? 0n) + pico,
        pricedCalls: (before?.pricedCalls ?? 0n) + pricedCalls,
      })
    }
  }

  entries(): readonly ValueEntry[] {
    return [...this.#sums.values()].filter(({ pico, pricedCalls }) => pico !== 0n || pricedCalls !== 0n)
  }

  /** The difference to `before`, where there is one. */
  less(before: ValueSums | undefined): readonly ValueEntry[] {
    if (before === undefined) return this.entries()
    const difference = new ValueSums()
    for (const entry of this.entries()) difference.add([entry], entry)
    for (const entry of before.entries())
      difference.add([entry], { pico: -entry.pico, pricedCalls: -entry.pricedCalls })
    return difference.entries()
  }
}

const NO_AXES: readonly string[] = []

/**
 * The values that a call is totalled under, one on each axis of its client: `(none)` where it has none.
 *
 * @param axes What `calls` has of it.
 * @param ofClient The client's axes with totals.
 */
export function valuesOf(
  axes: string | null | undefined,
  ofClient: readonly string[] = NO_AXES,
): readonly Pick<ValueEntry, 'axis' | 'value'>[] {
  const own = parseAxes(axes).flatMap(({ axis, value, totals }) =>
    totals === 'call' ? [] : [{ axis, value: totals === 'other' ? OTHER_VALUES : value }],
  )
  const rest = ofClient.filter((name) => !own.some(({ axis }) => axis === name))
  return [...own, ...rest.map((axis) => ({ axis, value: NO_VALUE }))]
}

/** The axes with totals that each of these clients has had values on. */
export async function selectClientAxes(
  session: PostgresSession,
  clientIds: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await session.query<{ client_id: string; names: string[] }>(
    `select client_id, array_agg(name order by name) as names from ${SCHEMA}.axes
     where client_id = any($1) group by client_id`,
    [[...clientIds]],
  )
  return new Map(rows.map((row) => [row.client_id, row.names]))
}

/** What repricings have added to these rows by the values of their calls; by `keyText`. */
export async function selectRepricedValues(
  session: PostgresSession,
  rows: readonly { readonly key: DailyKey }[],
): Promise<ReadonlyMap<string, ValueSums>> {
  const before = new Map<string, ValueSums>()
  if (rows.length === 0) return before
  const found = await queryLong<{ place: number; axis: string; value: string; pico: string; priced: string }>(
    session,
    `select k.place, a.name as axis, v.value, sum(e.pico) as pico, sum(e.priced_calls) as priced
     from json_to_recordset($1) as k (place integer, ${KEY_RECORD})
     join ${SCHEMA}.axis_entries e on e.day = k.day and e.row_hash = ${rowHashIn('k')}
     join ${SCHEMA}.adjustments r on r.id = e.adjustment_id and r.kind = 'reprice'
     join ${SCHEMA}.axes a on a.id = e.axis_id join ${SCHEMA}.axis_values v on v.id = e.value_id
     group by k.place, a.name, v.value`,
    [JSON.stringify(rows.map(({ key }, place) => ({ place, ...keyRowOf(key) })))],
  )
  for (const { place, axis, value, pico, priced } of found.rows) {
    const row = rows[place]
    if (row === undefined) continue
    const sums = before.get(keyText(row.key)) ?? new ValueSums()
    before.set(keyText(row.key), sums)
    sums.add([{ axis, value }], { pico: BigInt(pico), pricedCalls: BigInt(priced) })
  }
  return before
}

const ENTRIES = `json_to_recordset($1) as r (${AXIS_RECORD}, ${KEY_COLUMNS.filter(
  (column) => column !== 'day' && column !== 'client_id',
)
  .map((column) => `${column} text`)
  .join(', ')}, pico numeric, priced_calls bigint)`

const ADJUST_VALUES = `
insert into ${SCHEMA}.axis_usage as u (day, axis_id, value_id, adjusted_pico, priced_later)
select r.day, a.id, v.id, nullif(sum(r.pico), 0), nullif(sum(r.priced_calls), 0)::bigint
from ${ENTRIES} ${JOIN_VALUES}
group by r.day, a.id, v.id order by a.id, r.day, v.id
on conflict (axis_id, day, value_id) do update set
  adjusted_pico = nullif(coalesce(u.adjusted_pico, 0) + coalesce(excluded.adjusted_pico, 0), 0),
  priced_later = nullif(coalesce(u.priced_later, 0) + coalesce(excluded.priced_later, 0), 0)`

const KEEP_VALUES = `
insert into ${SCHEMA}.axis_entries as e (day, row_hash, axis_id, value_id, adjustment_id, pico, priced_calls)
select r.day, ${rowHashIn('r')}, a.id, v.id, $2, r.pico, r.priced_calls
from ${ENTRIES} ${JOIN_VALUES}
on conflict (day, row_hash, axis_id, value_id, adjustment_id) do update set
  pico = e.pico + excluded.pico, priced_calls = e.priced_calls + excluded.priced_calls`

/** Adds the parts of an adjustment's entries to the totals of their values, and keeps them. */
export async function addValueEntries(
  session: PostgresSession,
  adjustmentId: string,
  entries: readonly { readonly key: DailyKey; readonly byValue?: readonly ValueEntry[] }[],
): Promise<void> {
  const parts = entries.flatMap(({ key, byValue = [] }) =>
    byValue.map(({ axis, value, pico, pricedCalls }) => ({
      ...keyRowOf(key),
      ...axisKeyRow({ day: key.day, clientId: key.clientId, axis, value }),
      pico: `${pico}`,
      priced_calls: `${pricedCalls}`,
    })),
  )
  if (parts.length === 0) return
  const json = JSON.stringify(parts)
  await ensureValues(session, json)
  await session.query(ADJUST_VALUES, [json])
  await session.query(KEEP_VALUES, [json, adjustmentId])
}
