/**
 * Token counts of one call in the normal form, whatever the provider wrote.
 *
 * `inputTokens` is every prompt token, cached and cache-writing ones included; `outputTokens` every generated
 * one, reasoning included. All other fields are parts of those two. `null` means "not reported" and is never 0.
 * Every number is a non-negative safe integer of at most {@link MAX_COUNT}.
 */
export interface TokenUsage {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** Part of input, read from the provider's prompt cache. */
  readonly cacheReadTokens: number | null
  /** Part of input, written to the provider's prompt cache, whatever its lifetime. */
  readonly cacheWriteTokens: number | null
  /** Part of `cacheWriteTokens` kept for five minutes. */
  readonly cacheWrite5mTokens: number | null
  /** Part of `cacheWriteTokens` kept for one hour. */
  readonly cacheWrite1hTokens: number | null
  /** Part of output (a few providers report more than output; then it is kept as written). */
  readonly reasoningTokens: number | null
  readonly audioInputTokens: number | null
  readonly audioOutputTokens: number | null
  readonly imageInputTokens: number | null
  readonly imageOutputTokens: number | null
  /** Part of both `cacheReadTokens` and `audioInputTokens`. */
  readonly cacheReadAudioTokens: number | null
}

export type TokenClass = keyof TokenUsage

/** The token classes in the order in which rows and records list them. */
export const TOKEN_CLASSES = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'imageInputTokens',
  'imageOutputTokens',
  'cacheReadAudioTokens',
] as const satisfies readonly TokenClass[]

/**
 * What a response says is billed by another measure than tokens. `null`: not reported.
 * Integers only; durations in milliseconds so that they stay so.
 */
export interface BilledUnits {
  readonly webSearches: number | null
  readonly searchUnits: number | null
  readonly images: number | null
  readonly audioMs: number | null
  readonly characters: number | null
  readonly pages: number | null
}

export type BilledUnit = keyof BilledUnits

export const BILLED_UNITS = [
  'webSearches',
  'searchUnits',
  'images',
  'audioMs',
  'characters',
  'pages',
] as const satisfies readonly BilledUnit[]

/** No single call has counts above this; a larger one is a broken or lying upstream and is `invalid`. */
export const MAX_COUNT = 2 ** 40

/** Nothing was reported. */
export const NO_USAGE: TokenUsage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWrite5mTokens: null,
  cacheWrite1hTokens: null,
  reasoningTokens: null,
  audioInputTokens: null,
  audioOutputTokens: null,
  imageInputTokens: null,
  imageOutputTokens: null,
  cacheReadAudioTokens: null,
}

export const NO_UNITS: BilledUnits = {
  webSearches: null,
  searchUnits: null,
  images: null,
  audioMs: null,
  characters: null,
  pages: null,
}

/**
 * Where a record's counts come from.
 * `reported`: the upstream's own final figures. `partial`: the upstream's own, but the call was cut before the
 * final ones. `estimated`: counted by our tokenizer. `none`: the upstream reported none and nothing was to be
 * estimated (errors, endpoints without tokens). `invalid`: the upstream reported impossible figures.
 */
export type UsageSource = 'reported' | 'partial' | 'estimated' | 'none' | 'invalid'
