/**
 * The counts of a call. One line here says how a count is named in code, SQL, records and exports, how its rate is
 * named, and how the operator prices it in YAML. What cannot derive from these lines (the arithmetic of prices, one SQL
 * migration) does not compile, or fails test/call/usage.test.ts, until it has a new one. New lines go to the end of
 * their list, as records and exports keep their order.
 */
interface Dimension {
  /** In code and in records. */
  readonly name: string
  /** In `daily_usage`, `calls` and exports. */
  readonly column: string
  /** The class of rates that prices it; `null`: priced as what it is part of. */
  readonly rate: string | null
  /** The YAML field of its price; `null`: none. */
  readonly field: string | null
}

interface TokenDimension extends Dimension {
  /** The YAML field that must be there too, as these tokens are counted in those. */
  readonly partOf: string | null
}

interface UnitDimension extends Dimension {
  readonly rate: string
  readonly field: string
  /** The operator writes the price of so many. */
  readonly per: bigint
  /** The same in words: `M searches`. */
  readonly perText: string
}

/** Classes of tokens, in the order in which rows and records list them. */
const TOKEN_DIMENSIONS = [
  // Every prompt token, cached and cache-writing ones included.
  token('inputTokens', 'input_tokens', 'input', 'input', null),
  // Every generated token, reasoning included.
  token('outputTokens', 'output_tokens', 'output', 'output', null),
  // Part of input, read from the provider's prompt cache.
  token('cacheReadTokens', 'cache_read_tokens', 'cacheRead', 'cached_input', 'input'),
  // Part of input, written to the provider's prompt cache, whatever its lifetime.
  token('cacheWriteTokens', 'cache_write_tokens', 'cacheWrite', 'cache_write', 'input'),
  // Part of cacheWriteTokens, kept for five minutes.
  token('cacheWrite5mTokens', 'cache_write_5m_tokens', null, null, null),
  // Part of cacheWriteTokens, kept for an hour.
  token('cacheWrite1hTokens', 'cache_write_1h_tokens', 'cacheWrite1h', 'cache_write_1h', 'input'),
  // Part of output (a few providers report more than output; then it is kept as written).
  token('reasoningTokens', 'reasoning_tokens', 'reasoning', 'reasoning', 'output'),
  token('audioInputTokens', 'audio_input_tokens', 'audioInput', 'audio_input', 'input'),
  token('audioOutputTokens', 'audio_output_tokens', 'audioOutput', 'audio_output', 'output'),
  token('imageInputTokens', 'image_input_tokens', 'imageInput', 'image_input', 'input'),
  token('imageOutputTokens', 'image_output_tokens', 'imageOutput', 'image_output', 'output'),
  // Part of both cacheReadTokens and audioInputTokens.
  token('cacheReadAudioTokens', 'cache_read_audio_tokens', 'cacheReadAudio', 'cached_audio_input', 'input'),
  // Part of cacheWriteTokens, kept for twelve hours.
  token('cacheWrite12hTokens', 'cache_write_12h_tokens', 'cacheWrite12h', 'cache_write_12h', 'input'),
  // Part of both cacheReadTokens and imageInputTokens.
  token('cacheReadImageTokens', 'cache_read_image_tokens', 'cacheReadImage', 'cached_image_input', 'input'),
  token('videoInputTokens', 'video_input_tokens', 'videoInput', 'video_input', 'input'),
] as const satisfies readonly TokenDimension[]

function token<
  const Name extends string,
  const Rate extends string | null,
  const Field extends string | null,
>(name: Name, column: string, rate: Rate, field: Field, partOf: string | null) {
  return { name, column, rate, field, partOf }
}

const MILLION = 1_000_000n

/**
 * The units that are billed by another measure than tokens in and out. Durations are in milliseconds, to be whole
 * numbers.
 */
export const UNIT_DIMENSIONS = [
  unit('webSearches', 'web_searches', 'webSearch', 'web_search', MILLION, 'M searches'),
  // Rerankers': a query with up to so many documents.
  unit('searchUnits', 'search_units', 'searchUnit', 'search_unit', MILLION, 'M search units'),
  unit('images', 'images', 'image', 'image', MILLION, 'M images'),
  unit('audioMs', 'audio_ms', 'audioMs', 'audio_hour', 3_600_000n, 'hour of audio'),
  unit('characters', 'characters', 'character', 'character', MILLION, 'M characters'),
  unit('pages', 'pages', 'page', 'page', MILLION, 'M pages'),
  // Pages read with annotations, on top of `pages`.
  unit('annotatedPages', 'annotated_pages', 'annotatedPage', 'annotated_page', MILLION, 'M annotated pages'),
  unit('fileSearches', 'file_searches', 'fileSearch', 'file_search', MILLION, 'M file searches'),
  // Sessions of a code interpreter, or runs of code, as the provider bills them.
  unit('codeRuns', 'code_runs', 'codeRun', 'code_run', MILLION, 'M code runs'),
  unit('xSearches', 'x_searches', 'xSearch', 'x_search', MILLION, 'M searches of X'),
  unit('mapSearches', 'map_searches', 'mapSearch', 'map_search', MILLION, 'M map searches'),
  unit('webFetches', 'web_fetches', 'webFetch', 'web_fetch', MILLION, 'M fetched pages'),
  // Calls of the provider's own tools of an unknown kind: only the operator can price these.
  unit('otherToolCalls', 'other_tool_calls', 'otherToolCall', 'other_tool_call', MILLION, 'M tool calls'),
  unit('videoMs', 'video_ms', 'videoMs', 'video_second', 1_000n, 'second of video'),
  // Perplexity's: tokens of what it read, in neither total.
  unit('citationTokens', 'citation_tokens', 'citationToken', 'citation', MILLION, 'M citation tokens'),
  // The tokens of a fine-tuning job's data, times epochs.
  unit('trainedTokens', 'trained_tokens', 'trainedToken', 'trained', MILLION, 'M trained tokens'),
] as const satisfies readonly UnitDimension[]

function unit<const Name extends string, const Rate extends string, const Field extends string>(
  name: Name,
  column: string,
  rate: Rate,
  field: Field,
  per: bigint,
  perText: string,
) {
  return { name, column, rate, field, per, perText }
}

export type TokenClass = (typeof TOKEN_DIMENSIONS)[number]['name']
export type BilledUnit = (typeof UNIT_DIMENSIONS)[number]['name']
/** The classes of rates that tokens have. */
export type TokenRate = Exclude<(typeof TOKEN_DIMENSIONS)[number]['rate'], null>
/** The classes of rates that units have. */
export type UnitRate = (typeof UNIT_DIMENSIONS)[number]['rate']

/** The YAML fields of token prices: US dollars for a million. */
export const TOKEN_FIELDS = TOKEN_DIMENSIONS.filter((dimension) => dimension.field !== null)

/**
 * Token counts of one call in the normal form, whatever the provider wrote. All but the two totals are parts of those.
 * `null` means "not reported" and is never 0. Every number is a non-negative safe integer of at most {@link MAX_COUNT}.
 */
export type TokenUsage = Readonly<Record<TokenClass, number | null>>

/** The units that a response says are billed by another measure than tokens. `null`: not reported. */
export type BilledUnits = Readonly<Record<BilledUnit, number | null>>

/** The token classes in the order in which rows and records list them. */
export const TOKEN_CLASSES: readonly TokenClass[] = TOKEN_DIMENSIONS.map(({ name }) => name)
export const BILLED_UNITS: readonly BilledUnit[] = UNIT_DIMENSIONS.map(({ name }) => name)

/** The columns of the token classes, in the order of `TOKEN_CLASSES`; the same in `daily_usage` and `calls`. */
export const TOKEN_COLUMNS: readonly string[] = TOKEN_DIMENSIONS.map(({ column }) => column)
/** The columns of the billed units, in the order of `BILLED_UNITS`; the same in `daily_usage` and `calls`. */
export const UNIT_COLUMNS: readonly string[] = UNIT_DIMENSIONS.map(({ column }) => column)

/** No single call has counts above this; a larger one is a broken or lying upstream and is `invalid`. */
export const MAX_COUNT = 2 ** 40

/** Nothing was reported. */
export const NO_USAGE: TokenUsage = countsBy(TOKEN_CLASSES, () => null)
export const NO_UNITS: BilledUnits = countsBy(BILLED_UNITS, () => null)

/** Counts in the order of `names`, each as `count` gives it. */
export function countsBy<Name extends string, Count>(
  names: readonly Name[],
  count: (name: Name) => Count,
): Readonly<Record<Name, Count>> {
  const counts: Partial<Record<Name, Count>> = {}
  for (const name of names) counts[name] = count(name)
  return counts as Record<Name, Count>
}

/**
 * The origin of a record's counts.
 * `reported`: the upstream's own final figures. `partial`: the upstream's own, but the call was cut before the
 * final ones. `estimated`: counted by our tokenizer. `none`: the upstream reported none and nothing was to be
 * estimated (errors, endpoints without tokens). `invalid`: the upstream reported impossible figures.
 */
export const USAGE_SOURCES = ['reported', 'partial', 'estimated', 'none', 'invalid'] as const

export type UsageSource = (typeof USAGE_SOURCES)[number]
