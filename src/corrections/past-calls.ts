import type { UsageSource } from '../call/usage.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import type { PastCall } from '../pricing/repricing/repricing.ts'
import type { RepricingScope } from '../pricing/repricing/repricing-scope.ts'
import { queryLong } from '../store/connection/long-query.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { columnsOf, fieldsFrom } from '../usage/calls/call-columns.ts'
import { type CallKeyRow, type DailyKey, KEY, keyFrom } from '../usage/daily-key.ts'
import { scopeCondition } from './reprice-rows.ts'

/** A call as kept, and the row it was totalled in. */
export interface KeptCall extends Omit<PastCall, 'clientName'> {
  readonly key: DailyKey
}

/** Calls read at a time: some ten megabytes at most. */
const PAGE = 5_000

type SqlRow = CallKeyRow & { readonly [column: string]: string | null } & {
  readonly call_id: string
  readonly arrived_at_ms: string
}

/** The calls of a day that are in the scope, a page at a time. */
export async function* readKeptCalls(
  session: PostgresSession,
  scope: RepricingScope,
  day: UtcDay,
): AsyncGenerator<KeptCall[]> {
  const { sql, parameters } = scopeCondition(scope)
  const next = parameters.length + 1
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const { rows } = await queryLong<SqlRow>(
      session,
      `select call_id, ${KEY}, provider, reported_model,
         requested_model, usage_source, usage_raw, cost_pico, unpriced_reason, told_by, ${columnsOf(['usage', 'units'])},
         (extract(epoch from arrived_at) * 1000)::bigint as arrived_at_ms
       from ${SCHEMA}.calls where ${sql} and day = $${next} and call_id > $${next + 1}
       order by call_id limit ${PAGE}`,
      [...parameters, day, after],
    )
    if (rows.length > 0) yield rows.map(keptCallFrom)
    if (rows.length < PAGE) return
    after = rows.at(-1)?.call_id ?? after
  }
}

function keptCallFrom(row: SqlRow): KeptCall {
  return {
    key: keyFrom(row),
    provider: row.provider ?? '',
    upstream: row.upstream ?? '',
    reportedModel: row.reported_model ?? null,
    requestedModel: row.requested_model ?? null,
    usageSource: row.usage_source as UsageSource,
    ...fieldsFrom(row, ['usage', 'units']),
    usageRaw: row.usage_raw ?? null,
    arrivedAtMs: Number(row.arrived_at_ms),
    costPico: row.cost_pico === null || row.cost_pico === undefined ? null : BigInt(row.cost_pico),
    priceId: row.price_id ?? null,
    unpricedReason: row.unpriced_reason ?? null,
    isSettlement: typeof row.told_by === 'string',
  }
}
