import { parseAxes } from '../../call/axes.ts'
import type { CountedCall } from '../../call/call-record.ts'
import { hashedUuid } from '../../call/hashed-uuid.ts'
import type { BilledUnits, TokenUsage } from '../../call/usage.ts'
import { usdTextOf } from '../../domain/pico-usd.ts'
import {
  type ColumnField,
  type CountColumn,
  FIELD_COLUMNS,
  isAbsent,
  keyedBy,
  type StoredField,
  TOKEN_COUNT_COLUMNS,
  UNIT_COUNT_COLUMNS,
  valueText,
} from '../calls/call-columns.ts'
import type { TotalledCall } from '../daily-key.ts'
import { COMMON_COUNTS } from '../metrics-table.ts'
import { cloudEvent, type EventNames, textMember } from './cloud-event.ts'

/** What is read of a call for its event: all that `calls` has of it. */
export type EventCall = Pick<CountedCall, StoredField | 'answerId' | 'settlement' | 'fetchedBy'>

/** Fields that the envelope has: its `id`, `time` and `subject`. */
const IN_ENVELOPE: ReadonlySet<ColumnField> = new Set(['callId', 'arrivedAtMs', 'clientId'])

/** The name of a column's member. Amounts of money are exact decimals of USD, as text. */
export function memberOf(column: string): string {
  return column.replace(/_pico$/, '_usd')
}

/** Under its column, in the order of the record. What the call does not have is left out. */
const FIELDS = keyedBy(
  FIELD_COLUMNS.filter(({ name }) => !IN_ENVELOPE.has(name)).map((field) => ({
    ...field,
    column: memberOf(field.column),
  })),
)
const TOKENS = keyedBy(TOKEN_COUNT_COLUMNS)
const UNITS = keyedBy(UNIT_COUNT_COLUMNS)

/**
 * A call as an event. Its id is the call's, so that a receiver can tell an event that it has already; its subject is the
 * client's id.
 *
 * @param client The client's name when the call was counted.
 * @param key The key's label now; `null`: it is no longer known.
 */
export function callEvent(call: EventCall, client: string, key: string | null): string {
  let members = textMember('client', client) + textMember('key', key)
  for (const { name, key: before, form } of FIELDS) {
    const value = call[name]
    if (isAbsent(value)) continue
    if (name === 'axes') members += before + axesMember(call.axes)
    else members += before + (form === 'pico' ? `"${usdTextOf(`${value}`)}"` : valueText(form, value))
  }
  // Either is the id that the answer can be found by: `calls` has them in one column.
  if (call.responseId === null) members += textMember('response_id', call.answerId)
  members += tokensText(call.usage) + countsText(UNITS, call.units)
  if (call.fetchedBy !== undefined) {
    const { clientId, keyId } = call.fetchedBy
    members += textMember('fetched_by_client_id', clientId) + textMember('fetched_by_key_id', keyId)
  }
  if (call.settlement !== undefined) {
    const { reportedBy, settles } = call.settlement
    members += textMember('told_by', reportedBy) + textMember('settles', settles)
  }
  const time = new Date(call.arrivedAtMs).toISOString()
  return cloudEvent({ type: 'tallygate.call', id: call.callId, subject: call.clientId, time, members })
}

/** An object: the value of each axis. */
function axesMember(axes: string | undefined): string {
  return JSON.stringify(Object.fromEntries(parseAxes(axes).map(({ axis, value }) => [axis, value])))
}

/** Meters sum numbers: of what most calls report, nothing is 0. The rest is left out where it is not known. */
function tokensText(usage: TokenUsage): string {
  let text = ''
  for (const { name, key } of TOKENS) {
    const count = usage[name]
    if (count !== null) text += key + count
    else if (COMMON_COUNTS.has(name)) text += `${key}0`
  }
  return `${text},"total_tokens":${(usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)}`
}

function countsText(
  columns: readonly (CountColumn<keyof BilledUnits> & { readonly key: string })[],
  counts: BilledUnits,
): string {
  let text = ''
  for (const { name, key } of columns) {
    const count = counts[name]
    if (count !== null) text += key + count
  }
  return text
}

/**
 * That a call is unpriced no longer: its job has reported what it used, in events of its own, or used nothing. As an
 * adjustment, since the call's own event stays. Its time is the call's.
 */
export function settledEvent(
  call: Omit<TotalledCall, 'priceId'> & Pick<CountedCall, 'callId'>,
  names: EventNames,
): string {
  const { callId, clientId, keyId, arrivedAtMs } = call
  const id = hashedUuid('settled', callId)
  const time = new Date(arrivedAtMs).toISOString()
  const members =
    textMember('kind', 'settled') +
    textMember('entry_id', id) +
    textMember('call_id', callId) +
    textMember('client', names.get(clientId) ?? clientId) +
    textMember('day', time.slice(0, 10)) +
    textMember('key_id', keyId) +
    textMember('key', names.get(keyId)) +
    textMember('model', call.model) +
    textMember('upstream', call.upstream)
  return cloudEvent({ type: 'tallygate.adjustment', id, subject: clientId, time, members })
}
