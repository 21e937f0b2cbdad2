import type { CountedCall, SettledCall } from '../../call/settlement.ts'
import {
  BILLED_UNITS,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  TOKEN_COLUMNS,
  UNIT_COLUMNS,
} from '../../call/usage.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { type PostgresSession, sqlErrorOf } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** Columns of `calls` and their types, as `rowOf` fills them. */
const FIELDS: readonly (readonly [column: string, type: string])[] = [
  ['day', 'date'],
  ['call_id', 'uuid'],
  ['arrived_at', 'timestamptz'],
  ['client_id', 'text'],
  ['key_id', 'text'],
  ['upstream', 'text'],
  ['provider', 'text'],
  ['requested_model', 'text'],
  ['reported_model', 'text'],
  ['model', 'text'],
  ['method', 'text'],
  ['path', 'text'],
  ['status', 'integer'],
  ['outcome', 'text'],
  ['usage_source', 'text'],
  ['failed_in_body', 'boolean'],
  ['web_socket', 'boolean'],
  ['latency_ms', 'numeric'],
  ['ttft_ms', 'numeric'],
  ['cost_pico', 'numeric'],
  ['price_id', 'text'],
  ['response_id', 'text'],
  ['service_tier', 'text'],
  ['reported_cost_pico', 'numeric'],
  ['own_cost_pico', 'numeric'],
  ['cost_differs', 'boolean'],
  ['partly_unpriced', 'boolean'],
  ['unpriced_reason', 'text'],
  ['suspect', 'boolean'],
  ['usage_raw', 'text'],
  ['fetched_by_client_id', 'text'],
  ['fetched_by_key_id', 'text'],
  ['told_by', 'uuid'],
  ['settles', 'uuid'],
  ...[...TOKEN_COLUMNS, ...UNIT_COLUMNS].map((column) => [column, 'bigint'] as const),
]
const COLUMNS = FIELDS.map(([column]) => column)

/** JSON in one parameter costs the worker's CPU half of what an array for each column does. */
const ADD_CALLS = `
insert into ${SCHEMA}.calls (client, ${COLUMNS.join(', ')})
select coalesce(c.name, r.client_id), ${COLUMNS.map((column) => `r.${column}`).join(', ')}
from json_to_recordset($1) as r (${FIELDS.map((field) => field.join(' ')).join(', ')})
left join ${SCHEMA}.clients c on c.id = r.client_id
on conflict do nothing`

/** Adds single calls, in one statement. Every day among them must have a partition. */
export async function addCalls(session: PostgresSession, records: readonly CountedCall[]): Promise<void> {
  await session.query(ADD_CALLS, [JSON.stringify(records.map(rowOf))])
}

/** Notes of calls that their jobs have told what they used; of those whose day is not kept, nothing. */
export async function setCallsSettled(
  session: PostgresSession,
  calls: readonly SettledCall[],
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.calls c set settled = true
     from unnest($1::date[], $2::uuid[]) as s (day, call_id)
     where c.day = s.day and c.call_id = s.call_id`,
    [calls.map(({ arrivedAtMs }) => utcDayOf(arrivedAtMs)), calls.map(({ callId }) => callId)],
  )
}

function rowOf(record: CountedCall): object {
  const row: Record<string, string | number | boolean | null> = {
    day: utcDayOf(record.arrivedAtMs),
    call_id: record.callId,
    arrived_at: new Date(record.arrivedAtMs).toISOString(),
    client_id: record.clientId,
    key_id: record.keyId,
    upstream: record.upstream,
    provider: record.provider,
    requested_model: record.requestedModel,
    reported_model: record.reportedModel,
    model: record.model,
    method: record.method,
    path: record.path,
    status: record.status,
    outcome: record.outcome,
    usage_source: record.usageSource,
    failed_in_body: record.failedInBody,
    web_socket: record.webSocket,
    latency_ms: millisecondsOf(record.latencyUs),
    ttft_ms: millisecondsOf(record.ttftUs),
    cost_pico: record.costPico,
    price_id: record.priceId,
    response_id: record.responseId ?? record.answerId ?? null,
    service_tier: record.serviceTier ?? null,
    reported_cost_pico: record.reportedCostPico ?? null,
    own_cost_pico: record.ownCostPico ?? null,
    cost_differs: record.costDiffers === true,
    partly_unpriced: record.partlyUnpriced === true,
    unpriced_reason: record.unpricedReason ?? null,
    suspect: record.suspect === true,
    usage_raw: record.usageRaw,
  }
  // A column that is not in the JSON is null.
  if (record.fetchedBy !== undefined) {
    row.fetched_by_client_id = record.fetchedBy.clientId
    row.fetched_by_key_id = record.fetchedBy.keyId
  }
  if (record.settlement !== undefined) {
    row.told_by = record.settlement.reportedBy
    row.settles = record.settlement.settles
  }
  if (record.usage !== NO_USAGE) {
    for (const [index, name] of TOKEN_CLASSES.entries()) row[TOKEN_COLUMNS[index] ?? ''] = record.usage[name]
  }
  if (record.units !== NO_UNITS) {
    for (const [index, name] of BILLED_UNITS.entries()) row[UNIT_COLUMNS[index] ?? ''] = record.units[name]
  }
  return row
}

/** Whole microseconds as milliseconds with three decimals, exactly. */
function millisecondsOf(microseconds: number | null): string | null {
  if (microseconds === null) return null
  const digits = `${microseconds}`.padStart(4, '0')
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

/** Whether the error says that a day of `calls` has no partition (any more). */
export function isPartitionMissing(error: unknown): boolean {
  const sqlError = sqlErrorOf(error)
  return sqlError?.code === '23514' && sqlError.table === 'calls' && sqlError.constraint === undefined
}
