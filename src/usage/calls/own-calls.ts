import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

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

/** The client stands in both tables of the join: no call of another is read. */
const SELECT = `select call_id, arrived_at, key_id, k.name as key_name, requested_model, model, method, path, status,
    outcome, usage_source, input_tokens, output_tokens, cost_pico, latency_ms, ttft_ms
  from ${SCHEMA}.calls c left join ${SCHEMA}.keys k on k.id = c.key_id and k.client_id = $2
  where c.day = $1 and c.client_id = $2`

/** The newest first, as far as single calls are kept. Days on which the client used nothing are not looked at. */
export async function selectOwnCalls(pool: Postgres, scope: OwnCallScope): Promise<readonly OwnCall[]> {
  const { clientId, fromDay, toDay, keyId, model, before, rows: wanted } = scope
  const { rows: days } = await pool.query<{ day: UtcDay }>(
    `select distinct day from ${SCHEMA}.daily_usage where client_id = $1 and day between $2 and $3
     order by day desc`,
    [clientId, fromDay, toDay],
  )
  const found: OwnCall[] = []
  for (const { day } of days) {
    if (found.length >= wanted) break
    const { rows } = await pool.query<OwnCall>(
      `${SELECT} and ($3::text is null or c.key_id = $3) and ($4::text is null or c.model = $4)
         and ($5::uuid is null or c.call_id < $5)
       order by c.call_id desc limit $6`,
      [day, clientId, keyId, model, before, wanted - found.length],
    )
    found.push(...rows)
  }
  return found
}
