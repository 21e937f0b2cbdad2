import { LONG_BYTES, ObjectWalk } from '../../../providers/wires/object-walk.ts'
import { memberKey, modelText } from '../scanned-values.ts'
import { inlineKindAt } from './inline-media.ts'

const QUOTE = 0x22
const OPEN_BRACE = 0x7b

/** Longer settings are not looked into: a schema of the answer may stand among them. */
const MAX_SETTINGS_BYTES = 64 * 1024
const MAX_SETTINGS = 1_000
/** No number of tokens is longer. */
const MAX_NUMBER_BYTES = 16

/** Below every bound that a request can set. */
const UNSAID = -1
const UNBOUND = -2

/** What a key at the top level, or among settings, says. */
type Ask = 'maxTokens' | 'maxOutputTokens' | 'choices' | 'settings' | 'tier' | 'speed' | 'tools'

const ASKS: ReadonlyMap<string, Ask> = new Map([
  // OpenAI's, and those of everyone who speaks its formats; Anthropic's, old and new; llama.cpp's; Llama's on Bedrock.
  ['max_tokens', 'maxTokens'],
  ['max_completion_tokens', 'maxTokens'],
  ['max_tokens_to_sample', 'maxTokens'],
  ['n_predict', 'maxTokens'],
  ['max_gen_len', 'maxTokens'],
  ['max_output_tokens', 'maxOutputTokens'],
  ['n', 'choices'],
  ['best_of', 'choices'],
  // Gemini's, Ollama's, Bedrock's, TGI's and Vertex's, Titan's.
  ['generationConfig', 'settings'],
  ['generation_config', 'settings'],
  ['options', 'settings'],
  ['inferenceConfig', 'settings'],
  ['parameters', 'settings'],
  ['textGenerationConfig', 'settings'],
  ['service_tier', 'tier'],
  ['speed', 'speed'],
  ['tools', 'tools'],
])

const SETTINGS: ReadonlyMap<string, 'tokens' | 'choices'> = new Map([
  ['maxOutputTokens', 'tokens'],
  ['max_output_tokens', 'tokens'],
  ['num_predict', 'tokens'],
  ['maxTokens', 'tokens'],
  ['max_new_tokens', 'tokens'],
  ['max_tokens', 'tokens'],
  ['maxTokenCount', 'tokens'],
  ['candidateCount', 'choices'],
  ['candidate_count', 'choices'],
  ['sampleCount', 'choices'],
  ['numberOfImages', 'choices'],
  ['numberOfVideos', 'choices'],
])

/**
 * What a request says of its size, so far as it decides what its call may cost. Of what it says twice, the larger
 * counts. Bounds of tokens are below 0 where it sets none, or leaves one in doubt.
 */
export class AskedSize {
  /** `max_tokens` and its other names at the top level. */
  maxTokens = UNSAID
  /** `max_output_tokens` at the top level. */
  maxOutputTokens = UNSAID
  /** The same in `generationConfig` and other places for settings. */
  settingsMaxTokens = UNSAID
  /** How many answers: `n`, `candidateCount`, pictures. At least 1. */
  choices = 1
  /** As written. */
  serviceTier: string | null = null
  /** Anthropic's `speed`, as written. */
  speed: string | null = null
  hasTools = false
  /** Pictures in base64, and the bytes of all that is written so and is not text. */
  images = 0
  imageBytes = 0
  documentBytes = 0
  documents = 0
  soundBytes = 0
  opaqueBytes = 0

  /** Takes a member of the body's top level. */
  take(body: Buffer, key: string, start: number, end: number): void {
    if (end - start > LONG_BYTES && body[start] === QUOTE) this.takeLongString(body, start + 1, end - 1)
    const ask = ASKS.get(key)
    if (ask === undefined) return
    switch (ask) {
      case 'maxTokens':
        this.maxTokens = larger(this.maxTokens, sizeAt(body, start, end))
        return
      case 'maxOutputTokens':
        this.maxOutputTokens = larger(this.maxOutputTokens, sizeAt(body, start, end))
        return
      case 'choices':
        this.choices = Math.max(this.choices, sizeAt(body, start, end))
        return
      case 'settings':
        this.#takeSettings(body, start, end)
        return
      case 'tier':
        this.serviceTier ??= modelText(body, start, end)
        return
      case 'speed':
        this.speed ??= modelText(body, start, end)
        return
      case 'tools':
        this.hasTools = end - start > 2
        return
      default:
        ask satisfies never
    }
  }

  /** Takes the inside of a long string, wherever it stands. */
  takeLongString(body: Buffer, start: number, end: number): void {
    const bytes = end - start
    const kind = inlineKindAt(body, start, end)
    if (kind === null) return
    switch (kind) {
      case 'image':
        this.images++
        this.imageBytes += bytes
        return
      case 'document':
        this.documents++
        this.documentBytes += bytes
        return
      case 'sound':
        this.soundBytes += bytes
        return
      case 'opaque':
        this.opaqueBytes += bytes
        return
      default:
        kind satisfies never
    }
  }

  #takeSettings(body: Buffer, start: number, end: number): void {
    if (body[start] !== OPEN_BRACE || end - start > MAX_SETTINGS_BYTES) return
    const walk = new ObjectWalk(start, MAX_SETTINGS, (keyStart, keyEnd, valueStart, valueEnd) => {
      const ask = SETTINGS.get(memberKey(body, keyStart, keyEnd))
      if (ask === undefined) return
      const size = sizeAt(body, valueStart, valueEnd)
      if (ask === 'tokens') this.settingsMaxTokens = larger(this.settingsMaxTokens, size)
      else this.choices = Math.max(this.choices, size)
    })
    walk.advance(body.subarray(0, end))
  }
}

/** What is known of a body that is not read, or of a form. */
export const NOTHING_ASKED: AskedSize = new AskedSize()

/** The larger of two bounds, where no bound is the largest: a body that says both is read one way or the other. */
function larger(known: number, size: number): number {
  return known === UNBOUND || size === UNBOUND ? UNBOUND : Math.max(known, size)
}

/** A number above 0, rounded up; else `UNBOUND`: `null`, 0 and negative ones mean no bound to most servers. */
function sizeAt(body: Buffer, start: number, end: number): number {
  if (end - start > MAX_NUMBER_BYTES) return UNBOUND
  // Digits alone are what is written nearly always, and reading them makes no string.
  let size = 0
  for (let at = start; at < end; at++) {
    const digit = (body[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return writtenSize(body.toString('latin1', start, end))
    size = size * 10 + digit
  }
  return size > 0 ? size : UNBOUND
}

/** Some servers take numbers as text, and others fractions. */
function writtenSize(text: string): number {
  const size = Math.ceil(Number(text.replaceAll('"', '')))
  return size > 0 ? size : UNBOUND
}
