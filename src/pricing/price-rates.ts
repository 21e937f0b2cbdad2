import {
  BILLED_UNITS,
  type BilledUnit,
  countsBy,
  type TokenClass,
  type TokenRate,
  UNIT_DIMENSIONS,
  type UnitRate,
} from '../call/usage.ts'

/**
 * What a price says apart: integer pico-USD for one of each. A token class that is not named costs what the
 * class it is part of costs; see {@link linearTerms}.
 */
export type Rates = Partial<Readonly<Record<RateClass, bigint>>>

export type RateClass = TokenRate | 'request' | UnitRate

/** In the order in which a price's definition lists them: its identity is a hash of that, so new ones go to the end. */
const TOKEN_RATES: Readonly<Record<TokenRate, null>> = {
  /** A prompt token that no more special rate covers. */
  input: null,
  cacheRead: null,
  /** A token written to the cache for five minutes, or for a time not said. */
  cacheWrite: null,
  cacheWrite1h: null,
  audioInput: null,
  cacheReadAudio: null,
  imageInput: null,
  /** A generated token that no more special rate covers. */
  output: null,
  reasoning: null,
  audioOutput: null,
  imageOutput: null,
  cacheWrite12h: null,
  cacheReadImage: null,
  videoInput: null,
}

/** Of tokens, of one call, of units. */
export const RATE_CLASSES: readonly RateClass[] = [
  ...(Object.keys(TOKEN_RATES) as TokenRate[]),
  'request',
  ...UNIT_DIMENSIONS.map(({ rate }) => rate),
]

/**
 * What one more of each count adds to a cost, in integer pico-USD. Classes are parts: a cached token is counted in
 * `inputTokens` too, so its own term is only what it costs more than a plain one (mostly less than nothing).
 */
export type LinearTerms = Readonly<Record<TermName, bigint>>

/** Five minutes are what a cache write costs anyway. */
export type TokenTerm = Exclude<TokenClass, 'cacheWrite5mTokens'>
export type TermName = TokenTerm | 'requests' | BilledUnit

/**
 * The terms of a price. A class without a rate of its own falls back to the class it is part of: cache read,
 * cache write, audio, image and video input to input; cache writes for an hour and for twelve to cache write; cached
 * audio to audio where that has a rate, else to cache read, cached images likewise; reasoning, audio and image output
 * to output.
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
  const imageInput = rates.imageInput ?? input
  const cacheReadImage = rates.cacheReadImage ?? (rates.imageInput === undefined ? cacheRead : imageInput)
  const tokens: Readonly<Record<TokenTerm, bigint>> = {
    inputTokens: input,
    cacheReadTokens: cacheRead - input,
    cacheWriteTokens: cacheWrite - input,
    cacheWrite1hTokens: (rates.cacheWrite1h ?? cacheWrite) - cacheWrite,
    cacheWrite12hTokens: (rates.cacheWrite12h ?? cacheWrite) - cacheWrite,
    audioInputTokens: audioInput - input,
    // In both parts: what these two terms took off or put on twice is put right here.
    cacheReadAudioTokens: cacheReadAudio - cacheRead - audioInput + input,
    imageInputTokens: imageInput - input,
    cacheReadImageTokens: cacheReadImage - cacheRead - imageInput + input,
    videoInputTokens: (rates.videoInput ?? input) - input,
    outputTokens: output,
    reasoningTokens: reasoningBeside ? reasoning : reasoning - output,
    audioOutputTokens: (rates.audioOutput ?? output) - output,
    imageOutputTokens: (rates.imageOutput ?? output) - output,
  }
  const units = countsBy(BILLED_UNITS, () => 0n) as Record<BilledUnit, bigint>
  for (const { name, rate } of UNIT_DIMENSIONS) units[name] = rates[rate] ?? 0n
  return { ...tokens, requests: rates.request ?? 0n, ...units }
}
