import type { Period } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { IS_ERROR } from '../metrics-table.ts'

/** A call as its client is shown it. */
export interface OwnCall {
  readonly call_id: string
  readonly arrived_at: Date
  readonly key_id: string
  readonly key_name: string | null
  readonly requested_model: string | null
  readonly model: string
  readonly method: string
  readonly path: string | null
  readonly status: number | null
  readonly outcome: string
  readonly usage_source: string
  readonly input_tokens: string | null
  readonly output_tokens: string | null
  /** `null`: it has no price. */
  readonly cost_pico: string | null
  readonly latency_ms: string | null
  readonly ttft_ms: string | null
}

/** A call as an operator is shown it in a list. */
export interface ListedCall extends OwnCall {
  /** The client's name when the call was counted. */
  readonly client: string
  readonly upstream: string
}

/** Which calls of a client are asked for. */
export interface OwnCallScope {
  readonly clientId: string
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  /** `null`: of all its keys; of all models. */
  readonly keyId: string | null
  readonly model: string | null
  /** Only those before this one, by the order of ids, which is that of time. */
  readonly before: string | null
  readonly rows: number
}

/** The same of one client, or of all: `null`. */
export interface CallScope extends Omit<OwnCallScope, 'clientId'> {
  readonly clientId: string | null
  /** `null`: of all upstreams. */
  readonly upstream: string | null
  /** Only those that reports count as errors. */
  readonly hasFailed: boolean
  /** Only those that arrived since; `null`: of whole days. */
  readonly since: Date | null
}

const COLUMNS = `call_id, arrived_at, key_id, k.name as key_name, requested_model, model, method, path, status,
    outcome, usage_source, input_tokens, output_tokens, cost_pico, latency_ms, ttft_ms`

/** The client stands in both tables of the join: no call of another is read. */
const OF_ONE = `select ${COLUMNS}
  from ${SCHEMA}.calls c left join ${SCHEMA}.keys k on k.id = c.key_id and k.client_id = $2
  where c.day = $1 and c.client_id = $2`

const OF_ANY = `select ${COLUMNS}, c.client, c.upstream
  from ${SCHEMA}.calls c left join ${SCHEMA}.keys k on k.id = c.key_id
  where c.day = $1 and ($2::text is null or c.client_id = $2)
    and ($7::text is null or c.upstream = $7) and (not $8::boolean or ${IS_ERROR})
    and ($9::timestamptz is null or c.arrived_at >= $9)`

/** The newest first, as far as single calls are kept. Days on which the client used nothing are not looked at. */
export async function selectOwnCalls(pool: Postgres, scope: OwnCallScope): Promise<readonly OwnCall[]> {
  return await selectBy<OwnCall>(pool, OF_ONE, scope)
}

/** The same for operators. */
export async function selectCalls(pool: Postgres, scope: CallScope): Promise<readonly ListedCall[]> {
  const { upstream, hasFailed, since } = scope
  return await selectBy<ListedCall>(pool, OF_ANY, scope, [upstream, hasFailed, since])
}

async function selectBy<Call extends OwnCall>(
  pool: Postgres,
  select: string,
  scope: Omit<OwnCallScope, 'clientId'> & Pick<CallScope, 'clientId'>,
  more: readonly unknown[] = [],
): Promise<readonly Call[]> {
  const { clientId, fromDay, toDay, keyId, model, before, rows: wanted } = scope
  const days =
    clientId === null ? daysOf(fromDay, toDay) : await selectDaysOf(pool, clientId, { fromDay, toDay })
  const found: Call[] = []
  for (const day of days) {
    if (found.length >= wanted) break
    const { rows } = await pool.query<Call>(
      `${select} and ($3::text is null or c.key_id = $3) and ($4::text is null or c.model = $4)
         and ($5::uuid is null or c.call_id < $5)
       order by c.call_id desc limit $6`,
      [day, clientId, keyId, model, before, wanted - found.length, ...more],
    )
    found.push(...rows)
  }
  return found
}

/** Those on which a client used something, the last one first. */
async function selectDaysOf(
  pool: Postgres,
  clientId: string,
  { fromDay, toDay }: Period,
): Promise<readonly UtcDay[]> {
  const { rows } = await pool.query<{ day: UtcDay }>(
    `select distinct day from ${SCHEMA}.daily_usage where client_id = $1 and day between $2 and $3
     order by day desc`,
    [clientId, fromDay, toDay],
  )
  return rows.map(({ day }) => day)
}

/** Most days have calls of some client. A day whose calls are not kept costs one query that finds nothing. */
const MOST_DAYS = 400

function daysOf(fromDay: UtcDay, toDay: UtcDay): readonly UtcDay[] {
  const days: UtcDay[] = []
  for (let day = toDay; day >= fromDay && days.length < MOST_DAYS; day = addDays(day, -1)) days.push(day)
  return days
}
