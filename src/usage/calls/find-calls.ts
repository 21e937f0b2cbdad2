import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** A single call, as who looks for it wants to see it. */
export interface FoundCall {
  readonly callId: string
  readonly arrivedAt: Date
  readonly client: string
  readonly keyId: string
  readonly upstream: string
  readonly provider: string
  readonly requestedModel: string | null
  readonly model: string
  readonly method: string
  readonly path: string
  readonly status: number | null
  readonly outcome: string
  readonly usageSource: string
  readonly serviceTier: string | null
  readonly inputTokens: bigint | null
  readonly outputTokens: bigint | null
  /** As metered; `null`: it has none, and `unpricedReason` says why. */
  readonly costPico: bigint | null
  readonly priceId: string | null
  readonly partlyUnpriced: boolean
  readonly unpricedReason: string | null
  /** The upstream's id of its answer; `null`: it named none. */
  readonly responseId: string | null
}

interface SqlRow {
  readonly call_id: string
  readonly arrived_at: Date
  readonly client: string
  readonly key_id: string
  readonly upstream: string
  readonly provider: string
  readonly requested_model: string | null
  readonly model: string
  readonly method: string
  readonly path: string
  readonly status: number | null
  readonly outcome: string
  readonly usage_source: string
  readonly service_tier: string | null
  readonly input_tokens: string | null
  readonly output_tokens: string | null
  readonly cost_pico: string | null
  readonly price_id: string | null
  readonly partly_unpriced: boolean
  readonly unpriced_reason: string | null
  readonly response_id: string | null
}

const SHOWN_CALLS = 100
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The calls of this id: their own, or the one that the upstream gave their answer, which several may have. The newest
 * first, at most 100, as far as single calls are kept.
 */
export async function findCalls(pool: Postgres, id: string): Promise<FoundCall[]> {
  const { rows } = await pool.query<SqlRow>(
    `select * from ${SCHEMA}.calls where response_id = $1 or call_id = $2
     order by day desc, arrived_at desc limit ${SHOWN_CALLS}`,
    [id, UUID.test(id) ? id : null],
  )
  const count = (text: string | null) => (text === null ? null : BigInt(text))
  return rows.map((row) => ({
    callId: row.call_id,
    arrivedAt: row.arrived_at,
    client: row.client,
    keyId: row.key_id,
    upstream: row.upstream,
    provider: row.provider,
    requestedModel: row.requested_model,
    model: row.model,
    method: row.method,
    path: row.path,
    status: row.status,
    outcome: row.outcome,
    usageSource: row.usage_source,
    serviceTier: row.service_tier,
    inputTokens: count(row.input_tokens),
    outputTokens: count(row.output_tokens),
    costPico: count(row.cost_pico),
    priceId: row.price_id,
    partlyUnpriced: row.partly_unpriced,
    unpricedReason: row.unpriced_reason,
    responseId: row.response_id,
  }))
}
