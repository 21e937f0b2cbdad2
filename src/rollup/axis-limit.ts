import { axesText, NO_VALUE, OTHER_VALUES, parseAxes } from '../call/axes.ts'
import type { CallRecord } from '../call/call-record.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { JOIN_VALUES } from '../usage/axes/add-axis-usage.ts'

/** A client's values on one axis that have totals of their own on a day; the rest are `(other)`. */
export const VALUES_PER_DAY = 2_000

/** A value that calls of this batch have, and the row of totals it would have. */
interface AskedValue {
  readonly day: UtcDay
  readonly client_id: string
  readonly axis: string
  readonly value: string
}

/**
 * The records with what each is totalled under: where its client has had `limit` other values on that axis and day, its
 * value is marked to stand in `(other)`. As with models, what the totals hold decides, without a lock: a client's records
 * lie in one shard. Shards that count one client at the same moment may each bring in as many.
 */
export async function limitAxes<R extends CallRecord>(
  session: PostgresSession,
  records: readonly R[],
  limit: number,
): Promise<readonly R[]> {
  if (records.every(({ axes }) => axes === undefined)) return records
  const asked = new Map<string, AskedValue>()
  for (const { clientId, arrivedAtMs, axes } of records) {
    if (axes === undefined) continue
    const day = utcDayOf(arrivedAtMs)
    for (const { axis, value, totals } of parseAxes(axes)) {
      if (totals !== 'own') continue
      const name = nameOf(day, clientId, axis, value)
      if (!asked.has(name)) asked.set(name, { day, client_id: clientId, axis, value })
    }
  }
  const beyond = await selectBeyond(session, asked, limit)
  return records.map((record) => {
    const { clientId, arrivedAtMs, axes } = record
    if (axes === undefined) return record
    const day = utcDayOf(arrivedAtMs)
    const values = parseAxes(axes)
    const limited = values.map((it) =>
      it.totals === 'own' && beyond.has(nameOf(day, clientId, it.axis, it.value))
        ? ({ ...it, totals: 'other' } as const)
        : it,
    )
    // Also what is not of the form: `calls` has what the totals have.
    const text = axesText(limited)
    return text === axes ? record : { ...record, axes: text }
  })
}

/** The names of those that have no totals of their own, and get none. */
async function selectBeyond(
  session: PostgresSession,
  asked: ReadonlyMap<string, AskedValue>,
  limit: number,
): Promise<ReadonlySet<string>> {
  const beyond = new Set<string>()
  if (asked.size === 0) return beyond
  const list = [...asked]
  const { rows } = await session.query<{ place: number }>(UNKNOWN, [
    JSON.stringify(list.map(([, value], place) => ({ place, ...value }))),
  ])
  if (rows.length === 0) return beyond
  const isNew = new Set(rows.map(({ place }) => place))
  const added = list.filter((_, place) => isNew.has(place))
  const axes = [...Map.groupBy(added, ([, it]) => nameOf(it.day, it.client_id, it.axis, '')).values()]
  const counts = await session.query<{ place: number; values: number }>(COUNTS, [
    JSON.stringify(axes.map(([first], place) => ({ place, ...first?.[1] }))),
    [NO_VALUE, OTHER_VALUES],
  ])
  const known = new Map(counts.rows.map(({ place, values }) => [place, values]))
  for (const [place, values] of axes.entries()) {
    for (const [name] of values.slice(Math.max(0, limit - (known.get(place) ?? 0)))) beyond.add(name)
  }
  return beyond
}

const UNKNOWN = `
select p.place from json_to_recordset($1) as p (place integer, day date, client_id text, axis text, value text)
left join lateral (
  select u.day from (select p.*) r ${JOIN_VALUES}
  cross join lateral (
    select u.day from ${SCHEMA}.axis_usage u where u.axis_id = a.id and u.day = r.day and u.value_id = v.id offset 0) u
  offset 0) known on true
where known.day is null order by p.place`

const COUNTS = `
select p.place, (
  select count(*)::integer from ${SCHEMA}.axes a join ${SCHEMA}.axis_usage u on u.axis_id = a.id and u.day = p.day
  where a.client_id = p.client_id and a.name = p.axis and u.value_id not in (
    select v.id from ${SCHEMA}.axis_values v where v.axis_id = a.id and v.value = any($2::text[]))) as values
from json_to_recordset($1) as p (place integer, day date, client_id text, axis text)`

function nameOf(day: UtcDay, client: string, axis: string, value: string): string {
  return `${day}\0${client}\0${axis}\0${value}`
}
