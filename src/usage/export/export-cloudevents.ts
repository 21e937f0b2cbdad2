import type { CallRecord } from '../../call/call-record.ts'
import { RECORD_FIELDS } from '../../call/record-fields.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { StoredField } from '../calls/call-columns.ts'

/** What an event's `data` says of its call, in this order; new ones are only ever added at the end. */
const DATA = [
  'keyId',
  'model',
  'provider',
  'upstream',
  'status',
  'outcome',
  'usageSource',
  'usage',
  'costPico',
  'priceId',
  'responseId',
] as const satisfies readonly StoredField[]

/** What is read of a call's record for its event. */
export const EXPORTED_FIELDS = ['callId', 'arrivedAtMs', 'clientId', ...DATA] as const

/** A single call as it is given to others. */
export interface ExportedCall extends Pick<CallRecord, (typeof EXPORTED_FIELDS)[number]> {
  /** The client's name when the call was counted. */
  readonly client: string
  /** The call that reported the use of another's work; `null`: this is a request, not such a report. */
  readonly reportedBy: string | null
  /** The call that submitted that work, as far as it was one of ours. */
  readonly settles: string | null
  /** By column, those that the call has. */
  readonly laterDimensions: Readonly<Record<string, string>>
}

/**
 * A call as a CloudEvents 1.0 event in JSON, without its line's end. Its id is the call's, so that a receiver can
 * tell an event that it has already; its subject is the client's id. What a meter sums up is a number, but cost,
 * which is exact decimal text; meters read text as numbers too.
 */
export function cloudEvent(call: ExportedCall): string {
  return JSON.stringify({
    specversion: '1.0',
    id: call.callId,
    source: 'tallygate',
    type: 'tallygate.call',
    subject: call.clientId,
    time: new Date(call.arrivedAtMs).toISOString(),
    datacontenttype: 'application/json',
    data: {
      client: call.client,
      ...Object.assign({}, ...DATA.map((field) => membersOf(call, field))),
      ...(call.reportedBy === null ? {} : { told_by: call.reportedBy }),
      ...(call.settles === null ? {} : { settles: call.settles }),
      ...call.laterDimensions,
    },
  })
}

/** Under the field's column. What the call does not have is left out. */
function membersOf(call: ExportedCall, field: (typeof DATA)[number]): object {
  switch (field) {
    case 'usage':
      return tokensOf(call)
    case 'costPico':
      return call.costPico === null ? {} : { cost_usd: picoToUsdText(BigInt(call.costPico)) }
    default: {
      const value = call[field] ?? null
      return value === null ? {} : { [RECORD_FIELDS[field].column]: value }
    }
  }
}

/** Meters sum numbers, so what is not known adds nothing. */
function tokensOf({ usage }: ExportedCall): object {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input_tokens: inputTokens ?? 0,
    output_tokens: outputTokens ?? 0,
    total_tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
    cache_read_tokens: cacheReadTokens ?? 0,
    cache_write_tokens: cacheWriteTokens ?? 0,
    reasoning_tokens: reasoningTokens ?? 0,
  }
}
