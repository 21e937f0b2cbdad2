import type { CallRecord, CountedCall } from '../call/call-record.ts'
import { reportedNoFigures, WITHOUT_FIGURES } from '../call/unpriced-reason.ts'
import {
  BILLED_UNITS,
  TOKEN_CLASSES,
  TOKEN_COLUMNS,
  type TokenClass,
  UNIT_COLUMNS,
  type UsageSource,
} from '../call/usage.ts'

interface Column<Kind extends string, Field extends string> {
  readonly kind: Kind
  /** In code. */
  readonly field: Field
  /** In `daily_usage` and exports. */
  readonly column: string
  /**
   * The same from rows of `calls`, in SQL. `latency_us` and `bucket` are `null` there for calls without a
   * latency.
   */
  readonly recount: string
  /**
   * The release of the exports that brought it: columns of a later one stand behind. `null`: it is not
   * exported.
   */
  readonly release: number | null
  /** Most rows have none of it: `null` in `daily_usage` stands for 0, and costs no space. */
  readonly rare: boolean
}

/** A number of calls. */
interface CallCount<Field extends string> extends Column<'calls', Field> {
  readonly of: (call: CountedCall) => boolean
  /** A call counts no longer once its job has reported what it used. */
  readonly untilSettled: boolean
}

function calls<const Field extends string>(
  field: Field,
  column: string,
  of: (call: CountedCall) => boolean,
  condition: string,
  { release = 1, untilSettled = false, rare = false }: CallCountOptions = {},
): CallCount<Field> {
  const recount = `count(*) filter (where ${condition})`
  return { kind: 'calls', field, column, of, recount, release, untilSettled, rare }
}

interface CallCountOptions {
  readonly release?: number | null
  readonly untilSettled?: boolean
  readonly rare?: boolean
}

/** Where usage comes from has a column each: of requests and settlements together. */
const SOURCES = {
  reported: ['reported', 'reported'],
  partial: ['partial', 'partial'],
  estimated: ['estimated', 'estimated'],
  none: ['withoutUsage', 'without_usage'],
  invalid: ['invalid', 'invalid'],
} as const satisfies Readonly<Record<UsageSource, readonly [field: string, column: string]>>

function callsBy(source: UsageSource): CallCount<(typeof SOURCES)[UsageSource][0]> {
  const [field, column] = SOURCES[source]
  return calls(field, column, ({ usageSource }) => usageSource === source, `usage_source = '${source}'`)
}

/** Tokens or units of the record. What `MAX_TOTALLED` calls add is a safe integer. */
type Sum<Kind extends string, Field extends string> = Column<Kind, Field>

/**
 * How many tokens and units came with the first release of the exports, and with the second; later ones with
 * the next.
 */
const TOKENS_BY_RELEASE = [12, 15]
const UNITS_BY_RELEASE = [6, 16]
const NEXT_RELEASE = 4

/** Of tokens and units, those that most calls report. */
export const COMMON_COUNTS: ReadonlySet<string> = new Set<TokenClass>([
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
])

function sums<Kind extends string, Field extends string>(
  kind: Kind,
  fields: readonly Field[],
  columns: readonly string[],
  byRelease: readonly number[],
): Sum<Kind, Field>[] {
  return fields.map((field, index) => {
    const column = columns[index] ?? ''
    const release = byRelease.findIndex((count) => index < count) + 1 || NEXT_RELEASE
    const recount = `coalesce(sum(${column}), 0)::bigint`
    return { kind, field, column, recount, release, rare: !COMMON_COUNTS.has(field) }
  })
}

/** Bytes of bodies, which calls of tools alone have. */
function bytes<const Field extends 'requestBytes' | 'answerBytes'>(
  field: Field,
  column: string,
): Sum<'bytes', Field> {
  const recount = `coalesce(sum(${column}), 0)::bigint`
  return { kind: 'bytes', field, column, recount, release: NEXT_RELEASE, rare: true }
}

/** Of the tokens of a class, those that were counted here, not reported. */
interface EstimatedSum<Field extends string> extends Sum<'estimated', Field> {
  readonly of: TokenClass
}

function estimated<const Field extends string>(
  field: Field,
  column: string,
  of: TokenClass,
  tokens: string,
): EstimatedSum<Field> {
  const recount = `coalesce(sum(${tokens}) filter (where usage_source = 'estimated'), 0)::bigint`
  return { kind: 'estimated', field, column, of, recount, release: 1, rare: true }
}

/** A whole number of any size: `numeric` in SQL. */
interface Amount<Field extends string> extends Column<'amount', Field> {
  readonly of: (call: CountedCall) => bigint
}

function amount<const Field extends string>(
  field: Field,
  column: string,
  of: (call: CountedCall) => bigint,
  summed: string,
): Amount<Field> {
  return {
    kind: 'amount',
    field,
    column,
    of,
    recount: `coalesce(sum(${summed}), 0)`,
    release: 1,
    rare: false,
  }
}

const IS_UNPRICED = 'cost_pico is null and not settled'
/** Whether a row of `calls` failed: by its upstream, its status, or its body. */
export const IS_ERROR = "outcome = 'upstream_error' or failed_in_body or status >= 400"
const NO_FIGURES = `unpriced_reason in (${WITHOUT_FIGURES.map((reason) => `'${reason}'`).join(', ')})`

/**
 * What a row of `daily_usage` sums up over its calls: THE list, with the tokens and units of
 * src/call/usage.ts. The roll-up, the recount from `calls`, corrections, exports and the answers about usage
 * derive from it.
 */
const TABLE = [
  calls('requests', 'requests', ({ settlement }) => settlement === undefined, 'told_by is null'),
  // What calls reported of jobs that others had submitted: not requests.
  calls('settlements', 'settlements', ({ settlement }) => settlement !== undefined, 'told_by is not null', {
    release: 3,
    rare: true,
  }),
  ...(Object.keys(SOURCES) as UsageSource[]).map(callsBy),
  calls('unpriced', 'unpriced', ({ costPico }) => costPico === null, IS_UNPRICED, { untilSettled: true }),
  // Of these, calls that reported no figures.
  calls('withoutFigures', 'without_figures', hasNoFigures, `${IS_UNPRICED} and ${NO_FIGURES}`, {
    untilSettled: true,
    release: null,
    rare: true,
  }),
  calls('errors', 'errors', isError, IS_ERROR),
  ...sums('tokens', TOKEN_CLASSES, TOKEN_COLUMNS, TOKENS_BY_RELEASE),
  ...sums('units', BILLED_UNITS, UNIT_COLUMNS, UNITS_BY_RELEASE),
  estimated('estimatedInputTokens', 'estimated_input_tokens', 'inputTokens', 'input_tokens'),
  estimated('estimatedOutputTokens', 'estimated_output_tokens', 'outputTokens', 'output_tokens'),
  amount('latencyUsSum', 'latency_us_sum', (call) => BigInt(latencyOf(call) ?? 0), 'latency_us'),
  calls('latencyCount', 'latency_count', (call) => latencyOf(call) !== null, 'latency_us is not null'),
  amount('costPico', 'cost_pico', ({ costPico }) => BigInt(costPico ?? 0), 'cost_pico'),
  bytes('requestBytes', 'request_bytes'),
  bytes('answerBytes', 'answer_bytes'),
]

export type Metric = (typeof TABLE)[number]
type FieldOf<Kind extends Metric['kind']> = Extract<Metric, { readonly kind: Kind }>['field']
export type CountField = FieldOf<'calls' | 'tokens' | 'units' | 'estimated' | 'bytes'>
export type AmountField = FieldOf<'amount'>

export const METRICS: readonly Metric[] = TABLE

/** What a metric's column is in SQL. */
export function sqlTypeOf(metric: Metric): 'bigint' | 'numeric' {
  return metric.kind === 'amount' ? 'numeric' : 'bigint'
}

interface Correction {
  /** The metric that it corrects. */
  readonly of: CountField | AmountField
  /** In code. */
  readonly field: string
  /** In `daily_usage`. */
  readonly column: string
  /** What it does to the metric. */
  readonly sign: '+' | '-'
  /** Its part in each of `adjustment_entries`, whose sum it is. */
  readonly entry: string
  readonly type: 'bigint' | 'numeric'
  /** As of a metric. */
  readonly rare: boolean
}

/** Columns that corrections move: a metric itself stays as metered. */
const CORRECTION_TABLE = [
  {
    of: 'costPico',
    field: 'adjustedPico',
    column: 'adjusted_pico',
    sign: '+',
    entry: 'pico',
    type: 'numeric',
    rare: false,
  },
  // Calls that a repricing has given a cost since.
  {
    of: 'unpriced',
    field: 'pricedLater',
    column: 'priced_later',
    sign: '-',
    entry: 'priced_calls',
    type: 'bigint',
    rare: true,
  },
] as const satisfies readonly Correction[]

export type CorrectionField = (typeof CORRECTION_TABLE)[number]['field']
export const CORRECTIONS: readonly (Correction & { readonly field: CorrectionField })[] = CORRECTION_TABLE

const RARE: ReadonlySet<string> = new Set(
  [...METRICS, ...CORRECTIONS].flatMap(({ rare, column }) => (rare ? [column] : [])),
)

/** The number in a column of the row `alias`, in SQL: 0 where a rare one is null. */
export function valueIn(alias: string, column: string): string {
  return RARE.has(column) ? `coalesce(${alias}.${column}, 0)` : `${alias}.${column}`
}

/** A number as the column keeps it, in SQL: null where a rare one is 0. */
export function keptAs(column: string, number: string): string {
  return RARE.has(column) ? `nullif(${number}, 0)` : number
}

/** The requests and settlements of a row `u`, in SQL. */
export const USES = `u.requests + ${valueIn('u', 'settlements')}`
/** The condition that a row `u` has any: others hold nothing but credits. */
export const IS_USED = `${USES} > 0`

/** A metric of the row `alias` with its corrections, in SQL. */
export function correctedIn(alias: string, { field, column }: Pick<Metric, 'field' | 'column'>): string {
  const corrections = CORRECTIONS.filter(({ of }) => of === field)
  return [
    valueIn(alias, column),
    ...corrections.map(({ sign, column }) => `${sign} ${valueIn(alias, column)}`),
  ].join(' ')
}

/** Whether a call counts as failed: by its upstream, its status, or its body. */
export function isError(record: CallRecord): boolean {
  return record.outcome === 'upstream_error' || record.failedInBody || (record.status ?? 0) >= 400
}

function hasNoFigures({ costPico, unpricedReason }: CallRecord): boolean {
  return costPico === null && reportedNoFigures(unpricedReason)
}

/** The latency that a call has, in microseconds. A session's duration is none. */
export function latencyOf({ latencyUs, webSocket }: CallRecord): number | null {
  return webSocket ? null : latencyUs
}
