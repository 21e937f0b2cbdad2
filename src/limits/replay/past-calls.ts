import type { UtcDay } from '../../domain/utc-day.ts'
import { inSnapshot, type Postgres, queryLong } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, columnsOf, fieldsFrom, type StoredField } from '../../usage/calls/call-columns.ts'
import { couldBePriced } from '../../usage/unpriced-use.ts'
import type { PastUse } from './limit-replay.ts'

const PAGE = 5_000

const FIELDS = [
  'callId',
  'arrivedAtMs',
  'clientId',
  'keyId',
  'requestedModel',
  'model',
  'usage',
  'costPico',
  'unpricedReason',
  'latencyUs',
] as const satisfies readonly StoredField[]

/** Calls of a day, in the order of their arrival. `$2`: of these clients; `null`: of all. */
const DECLARE = `declare replayed no scroll cursor for
  select ${columnsOf(FIELDS)}, told_by from ${SCHEMA}.calls c
  where day = $1 and ($2::text[] is null or client_id = any($2)) order by arrived_at, call_id`

export type CallToReplay = PastUse & { readonly callId: string; readonly clientId: string }

/**
 * Reads the calls of a day that is kept, page by page, as of one moment.
 *
 * @param clientIds `null`: of all clients.
 */
export async function readPastCalls(
  pool: Postgres,
  day: UtcDay,
  clientIds: readonly string[] | null,
  take: (calls: readonly CallToReplay[]) => Promise<void>,
): Promise<void> {
  await inSnapshot(pool, async (session) => {
    // Postgres has no statistics of a day that has just begun: it would compare each call with all kinds.
    await session.query('set local enable_nestloop = off')
    await session.query(DECLARE, [day, clientIds])
    for (;;) {
      // The first one sorts the day.
      const { rows } = await queryLong<SqlRow>(session, `fetch ${PAGE} from replayed`, [])
      if (rows.length > 0) await take(rows.map(callToReplay))
      if (rows.length < PAGE) return
    }
  })
}

type SqlRow = CallRow & { readonly told_by: string | null }

function callToReplay(row: SqlRow): CallToReplay {
  const { usage, costPico, latencyUs, unpricedReason, ...call } = fieldsFrom(row, FIELDS)
  return {
    ...call,
    latencyMs: (latencyUs ?? 0) / 1_000,
    costPico: costPico === null ? null : BigInt(costPico),
    isUnpriced: costPico === null && couldBePriced(unpricedReason ?? null),
    tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
    cachedTokens: usage.cacheReadTokens ?? 0,
    isSettlement: row.told_by !== null,
  }
}
