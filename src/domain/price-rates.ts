/**
 * What a price says apart: integer pico-USD for one of each. A token class that is not named costs what the
 * class it is part of costs; see {@link linearTerms}.
 */
export type Rates = Partial<Readonly<Record<RateClass, bigint>>>

export type RateClass = (typeof RATE_CLASSES)[number]

/** In the order in which a price's definition lists them. */
export const RATE_CLASSES = [
  /** A prompt token that no more special rate covers. */
  'input',
  'cacheRead',
  /** A token written to the cache for five minutes, or for a time not said. */
  'cacheWrite',
  'cacheWrite1h',
  'audioInput',
  'cacheReadAudio',
  'imageInput',
  /** A generated token that no more special rate covers. */
  'output',
  'reasoning',
  'audioOutput',
  'imageOutput',
  /** One call. */
  'request',
  'webSearch',
  'searchUnit',
  'image',
  /** One millisecond of audio. */
  'audioMs',
  'character',
  'page',
] as const

/**
 * What one more of each count adds to a cost, in integer pico-USD. Classes are parts: a cached token is counted in
 * `inputTokens` too, so its own term is only what it costs more than a plain one (mostly less than nothing).
 */
export interface LinearTerms {
  readonly inputTokens: bigint
  readonly cacheReadTokens: bigint
  readonly cacheWriteTokens: bigint
  readonly cacheWrite1hTokens: bigint
  readonly audioInputTokens: bigint
  readonly cacheReadAudioTokens: bigint
  readonly imageInputTokens: bigint
  readonly outputTokens: bigint
  readonly reasoningTokens: bigint
  readonly audioOutputTokens: bigint
  readonly imageOutputTokens: bigint
  readonly requests: bigint
  readonly webSearches: bigint
  readonly searchUnits: bigint
  readonly images: bigint
  readonly audioMs: bigint
  readonly characters: bigint
  readonly pages: bigint
}

/**
 * The terms of a price. A class without a rate of its own falls back to the class it is part of: cache read,
 * cache write, audio and image input to input; one-hour cache write to cache write; cached audio to audio where
 * that has a rate, else to cache read; reasoning, audio and image output to output.
 *
 * `reasoningBeside`: reasoning tokens are not counted in `outputTokens`, so they cost their rate on top.
 */
export function linearTerms(rates: Rates, reasoningBeside: boolean): LinearTerms {
  const input = rates.input ?? 0n
  const cacheRead = rates.cacheRead ?? input
  const cacheWrite = rates.cacheWrite ?? input
  const audioInput = rates.audioInput ?? input
  const cacheReadAudio = rates.cacheReadAudio ?? (rates.audioInput === undefined ? cacheRead : audioInput)
  const output = rates.output ?? 0n
  const reasoning = rates.reasoning ?? output
  return {
    inputTokens: input,
    cacheReadTokens: cacheRead - input,
    cacheWriteTokens: cacheWrite - input,
    cacheWrite1hTokens: (rates.cacheWrite1h ?? cacheWrite) - cacheWrite,
    audioInputTokens: audioInput - input,
    // In both parts: what these two terms took off or put on twice is put right here.
    cacheReadAudioTokens: cacheReadAudio - cacheRead - audioInput + input,
    imageInputTokens: (rates.imageInput ?? input) - input,
    outputTokens: output,
    reasoningTokens: reasoningBeside ? reasoning : reasoning - output,
    audioOutputTokens: (rates.audioOutput ?? output) - output,
    imageOutputTokens: (rates.imageOutput ?? output) - output,
    requests: rates.request ?? 0n,
    webSearches: rates.webSearch ?? 0n,
    searchUnits: rates.searchUnit ?? 0n,
    images: rates.image ?? 0n,
    audioMs: rates.audioMs ?? 0n,
    characters: rates.character ?? 0n,
    pages: rates.page ?? 0n,
  }
}
