import type { Dialect, OutputBound } from '../../providers/dialect.ts'
import { type AskedSize, largerBound } from '../bodies/asked-size.ts'
import type { ModelRates, RatesOfTier } from './model-rates.ts'

/**
 * Bytes of JSON for a token: of 117 recorded calls without tools or hidden prompts all came to more, but for 20 that
 * were shorter than what their servers put around them.
 */
const BYTES_PER_TOKEN = 2
/** What every chat template adds, and what naming any tools adds at Anthropic. */
const TOKENS_AROUND = 16
const TOKENS_FOR_TOOLS = 600
/** Base64 of what is not text. A page of PDF has 1,500 to 3,000 tokens and a picture's, sound 10 to 32 a second. */
const DOCUMENT_BYTES_PER_TOKEN = 8
const MIN_DOCUMENT_TOKENS = 3_000
const MAX_DOCUMENT_TOKENS = 200_000
const SOUND_BYTES_PER_TOKEN = 128
const OPAQUE_BYTES_PER_TOKEN = 4
/** No request is served that asks for more to one prompt. */
const MAX_ANSWERS = 1_000
export const MAX_TOKENS = 10_000_000

/** The most that a prompt may have, by its body. */
export interface PromptSize {
  readonly textTokens: number
  /** Of pictures, documents, sound and films. */
  readonly mediaTokens: number
}

/** @param bytes the body's length, also where it was not read. */
export function promptSize(bytes: number, asked: AskedSize, rates: ModelRates): PromptSize {
  const { images, imageBytes, documents, documentBytes, soundBytes, opaqueBytes } = asked
  const mediaBytes = imageBytes + documentBytes + soundBytes + opaqueBytes
  const textBytes = Math.max(0, bytes - mediaBytes)
  const around = TOKENS_AROUND + rates.tokensAround + (asked.hasTools ? TOKENS_FOR_TOOLS : 0)
  const textTokens = Math.ceil(textBytes / BYTES_PER_TOKEN) + around
  if (mediaBytes === 0) return { textTokens, mediaTokens: 0 }
  const documentTokens = Math.max(
    documents * MIN_DOCUMENT_TOKENS,
    Math.min(documentBytes / DOCUMENT_BYTES_PER_TOKEN, documents * MAX_DOCUMENT_TOKENS),
  )
  const mediaTokens =
    images * rates.tokensPerImage +
    documentTokens +
    soundBytes / SOUND_BYTES_PER_TOKEN +
    opaqueBytes / OPAQUE_BYTES_PER_TOKEN
  return { textTokens, mediaTokens: Math.ceil(mediaTokens) }
}

/** How many answers the request asks for: as many to each of its prompts. */
export function answersAsked({ answers }: Dialect, asked: AskedSize): number {
  if (answers === undefined) return 1
  let toEach = answers.numbers === undefined ? 1 : Math.max(1, asked.mayAsk)
  let prompts = 0
  for (const name of answers.numbers ?? []) toEach = Math.max(toEach, asked.countOf(name))
  for (const name of answers.arrays ?? []) prompts += asked.countOf(name)
  return Math.min(toEach, MAX_ANSWERS) * Math.max(1, prompts)
}

/**
 * The most that one answer may have, as the request says it where servers of `dialect` look; below 0: it does not. Another
 * provider's name for it sets none here: most servers pass over what they do not know. A name in other letters
 * (`Max_Tokens`) raises a bound and sets none: only servers written in Go know it, and these take the last of both.
 */
export function outputBound(dialect: Dialect, asked: AskedSize): number {
  const bound = boundIn(dialect.outputBound, asked)
  return bound < 0 ? bound : Math.min(largerBound(bound, asked.otherMaxTokens), MAX_TOKENS)
}

function boundIn(
  place: OutputBound | undefined,
  { maxTokens, maxOutputTokens, settingsMaxTokens }: AskedSize,
): number {
  switch (place) {
    case undefined:
      return maxTokens
    case 'max_output_tokens':
      return maxOutputTokens
    case 'settings':
      return settingsMaxTokens
    case 'settings_or_root':
      return Math.max(maxTokens, settingsMaxTokens)
    case 'unknown':
      return -1
  }
}

/** The rates that a prompt of so many tokens has; `null`: none are known. */
export function tierFor({ tiers }: ModelRates, promptTokens: number): RatesOfTier | null {
  let found: RatesOfTier | null = null
  for (const tier of tiers) if (found === null || promptTokens > tier.above) found = tier
  return found
}
