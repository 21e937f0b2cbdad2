import { type CallRecord, type CallUse, type OpenCall, OUTCOMES, RESPONSE_USES } from './call-record.ts'
import {
  BILLED_UNITS,
  type BilledUnits,
  MAX_COUNT,
  NO_UNITS,
  type TokenUsage,
  USAGE_SOURCES,
} from './usage.ts'

/** The last millisecond of the year 9999: what a date of four digits can say. */
export const LATEST_MS = 253_402_300_799_999
const HIGHEST_STATUS = 999

/**
 * How a field's value is written in JSON and in SQL. `id`: a UUID. `text`: any. `word`: one of a list, which needs
 * no escaping. `trace`: 32 hexadecimal digits. `pico`: pico-USD in decimal. `time`: milliseconds since 1970. `flag`: written only where true.
 * `tokens`, `units`: counts by name, written where they are not `null`. `list`: has a form of its own.
 */
type FormOf<Value> = [Value] extends [boolean]
  ? { readonly form: 'flag' }
  : [Value] extends [string]
    ? string extends Value
      ? { readonly form: 'id' | 'text' | 'trace' | 'pico' }
      : { readonly form: 'word'; readonly words: readonly Value[] }
    : [Value] extends [number]
      ? { readonly form: 'time' | 'integer' | 'microseconds' | 'bytes'; readonly highest: number }
      : [Value] extends [TokenUsage]
        ? { readonly form: 'tokens' }
        : [Value] extends [BilledUnits]
          ? { readonly form: 'units' }
          : { readonly form: 'list' }

/** The value of the record where the JSON lacks the key. `never`: the JSON always has it. `none`: not one count. */
type AbsentOf<Value> = undefined extends Value
  ? 'undefined'
  : null extends Value
    ? 'null'
    : [Value] extends [boolean]
      ? 'false'
      : [Value] extends [TokenUsage | BilledUnits]
        ? 'none'
        : 'never'

/** `open`: known before the call goes upstream. `use`: of the call, and of each job that it reports. */
type PartOf<Field> = Field extends keyof OpenCall ? 'open' : Field extends keyof CallUse ? 'use' : 'call'

type Fields = {
  readonly [Field in keyof CallRecord]-?: FormOf<NonNullable<CallRecord[Field]>> & {
    readonly absent: AbsentOf<CallRecord[Field]>
    readonly part: PartOf<Field>
  } & (
      | { readonly column: string; readonly place: ColumnPlace }
      // It has no column of `calls`, or several of its own.
      | { readonly column: null }
    )
}

/**
 * The place of a field in `calls`. `kind`: once in `call_kinds` for the calls of a day that have it alike; `row`: in the
 * call's own row of `call_rows`; `either`: in the kind, or in the row of a call that has one of its own. What clients
 * and upstreams can make different in every call is never in the kind alone.
 */
export type ColumnPlace = 'kind' | 'row' | 'either'

const at =
  <const Place extends ColumnPlace>(place: Place) =>
  <const Column extends string>(column: Column) => ({ column, place })
const [kind, row, either] = [at('kind'), at('row'), at('either')]

/**
 * The fields of a record, in the order in which its JSON has them: what SQL and exports of single calls derive
 * from, and what the hand-written codec is tested against. A field's name is its key in the JSON, and both stay
 * for good: journals and streams of earlier releases are read by it. A new field is optional, and its place is free.
 */
export const RECORD_FIELDS = {
  callId: { part: 'open', form: 'id', absent: 'never', ...row('call_id') },
  arrivedAtMs: { part: 'open', form: 'time', absent: 'never', ...row('arrived_at'), highest: LATEST_MS },
  clientId: { part: 'open', form: 'text', absent: 'never', ...kind('client_id') },
  keyId: { part: 'open', form: 'text', absent: 'never', ...kind('key_id') },
  upstream: { part: 'open', form: 'text', absent: 'never', ...kind('upstream') },
  provider: { part: 'open', form: 'text', absent: 'never', ...kind('provider') },
  method: { part: 'open', form: 'text', absent: 'never', ...kind('method') },
  path: { part: 'open', form: 'text', absent: 'never', ...either('path') },
  requestedModel: { part: 'open', form: 'text', absent: 'null', ...either('requested_model') },
  webSocket: { part: 'open', form: 'flag', absent: 'false', ...kind('web_socket') },
  traceId: { part: 'open', form: 'trace', absent: 'undefined', ...row('trace_id') },
  // In `route_spending`, summed up.
  route: { part: 'open', form: 'text', absent: 'undefined', column: null },
  axes: { part: 'open', form: 'text', absent: 'undefined', ...row('axes') },
  reportedModel: { part: 'use', form: 'text', absent: 'null', ...either('reported_model') },
  model: { part: 'use', form: 'text', absent: 'never', ...kind('model') },
  status: { part: 'call', form: 'integer', absent: 'null', ...kind('status'), highest: HIGHEST_STATUS },
  outcome: { part: 'call', form: 'word', absent: 'never', ...kind('outcome'), words: OUTCOMES },
  usageSource: { part: 'use', form: 'word', absent: 'never', ...kind('usage_source'), words: USAGE_SOURCES },
  usage: { part: 'use', form: 'tokens', absent: 'none', column: null },
  units: { part: 'use', form: 'units', absent: 'none', column: null },
  usageRaw: { part: 'use', form: 'text', absent: 'null', ...either('usage_raw') },
  costPico: { part: 'use', form: 'pico', absent: 'null', ...row('cost_pico') },
  priceId: { part: 'use', form: 'text', absent: 'null', ...kind('price_id') },
  // In `prices`, once for all records that it belongs to.
  price: { part: 'use', form: 'text', absent: 'null', column: null },
  serviceTier: { part: 'use', form: 'text', absent: 'undefined', ...either('service_tier') },
  reportedCostPico: { part: 'use', form: 'pico', absent: 'undefined', ...row('reported_cost_pico') },
  ownCostPico: { part: 'use', form: 'pico', absent: 'undefined', ...row('own_cost_pico') },
  costDiffers: { part: 'use', form: 'flag', absent: 'undefined', ...row('cost_differs') },
  partlyUnpriced: { part: 'use', form: 'flag', absent: 'undefined', ...kind('partly_unpriced') },
  unpricedReason: { part: 'use', form: 'text', absent: 'undefined', ...kind('unpriced_reason') },
  suspect: { part: 'use', form: 'flag', absent: 'undefined', ...row('suspect') },
  latencyUs: {
    part: 'call',
    form: 'microseconds',
    absent: 'null',
    ...row('latency_ms'),
    highest: Number.MAX_SAFE_INTEGER,
  },
  ttftUs: {
    part: 'call',
    form: 'microseconds',
    absent: 'null',
    ...row('ttft_ms'),
    highest: Number.MAX_SAFE_INTEGER,
  },
  responseId: { part: 'call', form: 'text', absent: 'null', ...row('response_id') },
  // In `response_id` too, where the call has no `responseId`.
  answerId: { part: 'call', form: 'text', absent: 'undefined', column: null },
  responseUse: { part: 'call', form: 'word', absent: 'undefined', column: null, words: RESPONSE_USES },
  // In `budget_charges`, summed up.
  chargedPico: { part: 'call', form: 'pico', absent: 'undefined', column: null },
  // In `route_spending`, summed up.
  beside: { part: 'call', form: 'list', absent: 'undefined', column: null },
  failedInBody: { part: 'call', form: 'flag', absent: 'false', ...kind('failed_in_body') },
  requestBytes: {
    part: 'call',
    form: 'bytes',
    absent: 'undefined',
    ...row('request_bytes'),
    highest: MAX_COUNT,
  },
  answerBytes: {
    part: 'call',
    form: 'bytes',
    absent: 'undefined',
    ...row('answer_bytes'),
    highest: MAX_COUNT,
  },
  // In `objects`.
  objects: { part: 'call', form: 'list', absent: 'undefined', column: null },
  // Each is counted as a settlement, in a row of its own.
  jobs: { part: 'call', form: 'list', absent: 'undefined', column: null },
} as const satisfies Fields

export type RecordField = keyof typeof RECORD_FIELDS

/** A record's field with what the table says of it. */
export interface FieldDescription {
  readonly name: RecordField
  readonly form: (typeof RECORD_FIELDS)[RecordField]['form']
  readonly absent: (typeof RECORD_FIELDS)[RecordField]['absent']
  readonly part: (typeof RECORD_FIELDS)[RecordField]['part']
  readonly column: string | null
  readonly place?: ColumnPlace
  /** The highest of numbers. */
  readonly highest?: number
  /** The words that there may be. */
  readonly words?: readonly string[]
}

/** The table as a list, in the same order. */
export const FIELD_LIST: readonly FieldDescription[] = Object.entries(RECORD_FIELDS).map(([name, field]) => ({
  name: name as RecordField,
  ...field,
}))

/** The fields of a record that say what was used, and no more. The compiler asks for each. */
export function useOf(record: CallRecord): Required<CallUse> {
  return {
    reportedModel: record.reportedModel,
    model: record.model,
    usageSource: record.usageSource,
    usage: record.usage,
    units: record.units,
    usageRaw: record.usageRaw,
    costPico: record.costPico,
    priceId: record.priceId,
    price: record.price,
    serviceTier: record.serviceTier,
    reportedCostPico: record.reportedCostPico,
    ownCostPico: record.ownCostPico,
    costDiffers: record.costDiffers,
    partlyUnpriced: record.partlyUnpriced,
    unpricedReason: record.unpricedReason,
    suspect: record.suspect,
  }
}

/** Tells whether a record tells figures that can be counted: tokens, or what is billed without any (films, pages). */
export function reportsUse({ usageSource, units }: Pick<CallRecord, 'usageSource' | 'units'>): boolean {
  if (usageSource === 'none') return units !== NO_UNITS && BILLED_UNITS.some((name) => units[name] !== null)
  return usageSource !== 'invalid'
}
