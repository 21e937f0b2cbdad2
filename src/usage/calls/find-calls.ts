import type { CallRecord } from '../../call/call-record.ts'
import { RECORD_FIELDS } from '../../call/record-fields.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, fieldsFrom, type StoredField } from './call-columns.ts'

/** What is shown of a call, in this order. */
const SHOWN = [
  'callId',
  'responseId',
  'arrivedAtMs',
  'client',
  'keyId',
  'upstream',
  'provider',
  'requestedModel',
  'model',
  'method',
  'path',
  'status',
  'outcome',
  'usageSource',
  'serviceTier',
  'usage',
  'requestBytes',
  'answerBytes',
  'costPico',
  'priceId',
  'partlyUnpriced',
  'unpricedReason',
  'traceId',
] as const satisfies readonly (StoredField | 'client')[]

const FOUND_FIELDS = [...SHOWN.filter((field) => field !== 'client'), 'units', 'usageRaw'] as const

/** A single call that was found. Its `responseId` may be an id under which its answer cannot be fetched again. */
export interface FoundCall extends Pick<CallRecord, (typeof FOUND_FIELDS)[number]> {
  /** The client's name when the call was counted. */
  readonly client: string
}

const SHOWN_CALLS = 100
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The calls of this id: their own, or the one that the upstream gave their answer, which several may have. The newest
 * first, at most 100, as far as single calls are kept.
 *
 * @param clientId `null`: of all clients.
 */
export async function findCalls(
  pool: Postgres,
  id: string,
  clientId: string | null = null,
): Promise<FoundCall[]> {
  const { rows } = await pool.query<CallRow & { readonly client: string }>(
    `select * from ${SCHEMA}.calls where (response_id = $1 or call_id = $2) and ($3::text is null or client_id = $3)
     order by day desc, arrived_at desc limit ${SHOWN_CALLS}`,
    [id, UUID.test(id) ? id : null, clientId],
  )
  return rows.map((row) => ({ ...fieldsFrom(row, FOUND_FIELDS), client: row.client }))
}

export type CallDocument = Readonly<Record<string, string | number | boolean | null>>

/** The call as an operator reads it: under the names of its columns, with its cost in USD. */
export function callDocument(call: FoundCall): CallDocument {
  return Object.assign({}, ...SHOWN.map((field) => membersOf(call, field)))
}

function membersOf(call: FoundCall, field: (typeof SHOWN)[number]): CallDocument {
  switch (field) {
    case 'client':
      return { client: call.client }
    case 'arrivedAtMs':
      return { arrived_at: new Date(call.arrivedAtMs).toISOString() }
    case 'usage':
      return { input_tokens: call.usage.inputTokens, output_tokens: call.usage.outputTokens }
    case 'costPico':
      return { cost_usd: call.costPico === null ? null : picoToUsdText(BigInt(call.costPico)) }
    case 'requestBytes':
    case 'answerBytes':
      return call[field] === undefined ? {} : { [RECORD_FIELDS[field].column]: call[field] }
    case 'partlyUnpriced':
      return { partly_unpriced: call.partlyUnpriced === true }
    default:
      return { [RECORD_FIELDS[field].column]: call[field] ?? null }
  }
}
