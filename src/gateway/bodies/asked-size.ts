import { ASKED_TIERS } from '../../pricing/catalog/catalog-service-tiers.ts'
import { ANSWER_COUNTS, type AnswerCounts } from '../../providers/dialect.ts'
import { LONG_BYTES, ObjectWalk } from '../../providers/wires/object-walk.ts'
import { foldName, isFolded, memberKey, modelText } from './scanned-values.ts'

const QUOTE = 0x22
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b

/** Longer settings are looked into apart, in slices: a schema of the answer may stand among them. */
const MAX_SETTINGS_BYTES = 64 * 1024
const MAX_SETTINGS = 1_000
/** An object of tiers that is longer may mean any. */
const MAX_TIER_BYTES = 64 * 1024
/** No request says it in more places: one that does may mean any tier. */
const MAX_TIERS = 16
/** No number of tokens is longer. */
const MAX_NUMBER_BYTES = 16
const MAX_COUNT_BYTES = 1_024

/** Below every bound that a request can set. */
const UNSAID = -1
const UNBOUND = -2

/** What a key at the top level, or among settings, says. */
type Ask = 'maxTokens' | 'maxOutputTokens' | 'settings' | 'tier' | 'query' | 'tools' | 'number' | 'array'

const ROWS: readonly AnswerCounts[] = Object.values(ANSWER_COUNTS)
const NUMBERS: ReadonlySet<string> = new Set(ROWS.flatMap(({ numbers = [] }) => numbers))

const ASKS: ReadonlyMap<string, Ask> = new Map<string, Ask>([
  ...[...NUMBERS].map((name): [string, Ask] => [name, 'number']),
  ...ROWS.flatMap(({ arrays = [] }) => arrays.map((name): [string, Ask] => [name, 'array'])),
  // OpenAI's, and those of everyone who speaks its formats; Anthropic's, old and new; llama.cpp's; Llama's on Bedrock.
  ['max_tokens', 'maxTokens'],
  ['max_completion_tokens', 'maxTokens'],
  ['max_tokens_to_sample', 'maxTokens'],
  ['n_predict', 'maxTokens'],
  ['max_gen_len', 'maxTokens'],
  ['max_output_tokens', 'maxOutputTokens'],
  // Gemini's, Ollama's, Bedrock's, TGI's and Vertex's, Titan's, vLLM's.
  ['generationConfig', 'settings'],
  ['generation_config', 'settings'],
  ['options', 'settings'],
  ['inferenceConfig', 'settings'],
  ['parameters', 'settings'],
  ['textGenerationConfig', 'settings'],
  ['imageGenerationConfig', 'settings'],
  ['sampling_params', 'settings'],
  ['service_tier', 'tier'],
  ['speed', 'tier'],
  ['inference_geo', 'tier'],
  // Gemini's, and Bedrock's in an object, as its latency is.
  ['serviceTier', 'tier'],
  ['performanceConfig', 'tier'],
  // What rankers read again with each document.
  ['query', 'query'],
  ['queries', 'query'],
  ['text_1', 'query'],
  ['data_1', 'query'],
  ['tools', 'tools'],
])

/** Bounds of tokens among settings. */
const SETTINGS: ReadonlySet<string> = new Set([
  'maxOutputTokens',
  'max_output_tokens',
  'num_predict',
  'maxTokens',
  'max_new_tokens',
  'max_tokens',
  'maxTokenCount',
])

const FOLDED_ASKS: ReadonlyMap<string, Ask> = new Map([...ASKS].map(([key, ask]) => [foldName(key), ask]))
const FOLDED_SETTINGS: ReadonlySet<string> = new Set([...SETTINGS].map(foldName))

/** Whether the key, as {@link foldName} gives it, says how many answers are asked for. */
export function saysNumber(name: string): boolean {
  return NUMBERS.has(name)
}

const BACKSLASH = 0x5c
const COMMA = 0x2c

/** What the start of `data:` says before the bytes is no longer than this. */
const MAX_LABEL_BYTES = 128
/** As many bytes are looked at in three places of a string: text has a space or a quote among so many. */
const SAMPLE_BYTES = 48

/** Bytes of base64, of base64url, and what JSON may write before a slash. */
const IS_BASE64 = new Uint8Array(256)
for (const byte of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\',
  'latin1',
)) {
  IS_BASE64[byte] = 1
}

/** What a string that is not text holds. `sound`: films too. `opaque`: anything else, such as hidden reasoning. */
type InlineKind = 'image' | 'document' | 'sound' | 'opaque'

/** How files begin, in base64. */
const BEGINNINGS: readonly (readonly [beginning: string, kind: InlineKind])[] = [
  // JPEG, PNG, GIF, BMP.
  ['/9j/', 'image'],
  ['iVBORw', 'image'],
  ['R0lGOD', 'image'],
  ['Qk', 'image'],
  // PDF, and ZIP, which office documents are.
  ['JVBERi', 'document'],
  ['UEsDB', 'document'],
  // MP3 with and without a head, Ogg, FLAC, WebM, AAC.
  ['SUQz', 'sound'],
  ['//', 'sound'],
  ['T2dn', 'sound'],
  ['ZkxhQ', 'sound'],
  ['GkXf', 'sound'],
]

/**
 * What the string between `start` and `end` holds, which stands without its quotes in `body`; `null`: text. Only
 * samples are looked at, so that megabytes cost nothing.
 */
function inlineKindAt(body: Buffer, start: number, end: number): InlineKind | null {
  const from = dataStart(body, start, end)
  const middle = (from + end) >> 1
  if (
    !isBase64(body, from, end) ||
    !isBase64(body, middle, end) ||
    !isBase64(body, end - SAMPLE_BYTES, end)
  ) {
    return null
  }
  const head = body.toString('latin1', from, Math.min(from + 24, end)).replaceAll('\\', '')
  for (const [beginning, kind] of BEGINNINGS) if (head.startsWith(beginning)) return kind
  // RIFF is WebP or WAV. An MP4 begins with its length, and so do AVIF and HEIC, which are pictures.
  if (head.startsWith('UklGR')) return head.startsWith('XRUJQ', 11) ? 'image' : 'sound'
  if (head.startsWith('GZ0eXB', 5)) return /^(?:hdml|oZWl|taWY)/.test(head.slice(11)) ? 'image' : 'sound'
  return 'opaque'
}

/** Behind `data:image/png;base64,`. */
function dataStart(body: Buffer, start: number, end: number): number {
  if (body.toString('latin1', start, start + 5) !== 'data:') return start
  const comma = body.subarray(start, Math.min(end, start + MAX_LABEL_BYTES)).indexOf(COMMA)
  return comma < 0 ? start : start + comma + 1
}

function isBase64(body: Buffer, from: number, end: number): boolean {
  const stop = Math.min(from + SAMPLE_BYTES, end)
  for (let at = from; at < stop; at++) {
    const byte = body[at] ?? 0
    if (IS_BASE64[byte] !== 1) return false
    // No escape but that of a slash stands in base64.
    if (byte === BACKSLASH && at + 1 < end && body[at + 1] !== 0x2f) return false
  }
  return true
}

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
  /** The largest bound under any of these names in other letters. */
  otherMaxTokens = UNSAID
  /** How many answers what has not come yet of a form may ask for; 0: it is known what it asks. */
  mayAsk = 0
  /** Settings of which not all is read: yet, or at all. */
  #unread = 0
  /** Long ones, whose reading goes on; `null`: none. */
  #long: { readonly walk: ObjectWalk; readonly end: number; at: number }[] | null = null
  /** By folded names of `ANSWER_COUNTS`; `null`: none of them is there. */
  #counts: Map<string, number> | null = null
  /** How it is to be served, and where, wherever it says that, as written; `null`: it does not. */
  tiers: readonly string[] | null = null
  /** Of the longest query for a ranker. */
  queryBytes = 0
  hasTools = false
  /** Pictures in base64, and the bytes of all that is written so and is not text. */
  images = 0
  imageBytes = 0
  documentBytes = 0
  documents = 0
  soundBytes = 0
  opaqueBytes = 0

  /** The largest number of answers that is asked for; 0: none is. */
  get largestNumber(): number {
    let largest = 0
    for (const name of this.#counts?.keys() ?? [])
      if (NUMBERS.has(name)) largest = Math.max(largest, this.countOf(name))
    return largest
  }

  /** Settings could not be read, or not all of them: they may ask for any number of answers. */
  get isUnsure(): boolean {
    return this.#unread > 0
  }

  /** What the request says under a name of `ANSWER_COUNTS`: a number, or how many elements an array has; 0: nothing. */
  countOf(name: string): number {
    return this.#counts?.get(name) ?? 0
  }

  /**
   * Takes a member of the body's top level.
   *
   * @param elements how many the array has that is its value.
   */
  take(body: Buffer, key: string, start: number, end: number, elements = 0): void {
    if (end - start > LONG_BYTES && body[start] === QUOTE) this.takeLongString(body, start + 1, end - 1)
    const exact = ASKS.get(key)
    const ask = exact ?? (isFolded(key) ? undefined : FOLDED_ASKS.get(foldName(key)))
    if (ask === undefined) return
    const isExact = exact !== undefined
    switch (ask) {
      case 'number':
        this.#count(foldName(key), countAt(body, start, end))
        return
      case 'array':
        if (body[start] === OPEN_BRACKET) this.#count(foldName(key), elements)
        return
      case 'maxTokens':
        if (isExact) this.maxTokens = largerBound(this.maxTokens, sizeAt(body, start, end))
        else this.otherMaxTokens = largerBound(this.otherMaxTokens, sizeAt(body, start, end))
        return
      case 'maxOutputTokens':
        if (isExact) this.maxOutputTokens = largerBound(this.maxOutputTokens, sizeAt(body, start, end))
        else this.otherMaxTokens = largerBound(this.otherMaxTokens, sizeAt(body, start, end))
        return
      case 'settings':
        this.#takeSettings(body, start, end, isExact)
        return
      case 'tier':
        this.#takeTier(body, start, end)
        return
      case 'query':
        this.queryBytes = Math.max(this.queryBytes, end - start)
        return
      case 'tools':
        this.hasTools ||= end - start > 2
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

  /**
   * Reads on in long settings.
   *
   * @param byteCount how far at most.
   * @returns whether there is more to read.
   */
  readOn(body: Buffer, byteCount: number): boolean {
    const long = this.#long
    const settings = long?.[0]
    if (long === null || settings === undefined) return false
    settings.at = Math.min(settings.at + byteCount, settings.end)
    settings.walk.advance(body.subarray(0, settings.at))
    if (settings.at === settings.end || settings.walk.isMalformed) {
      this.#endSettings(settings.walk, body.subarray(0, settings.end))
      long.shift()
    }
    return long.length > 0
  }

  #takeSettings(body: Buffer, start: number, end: number, areExact: boolean): void {
    if (body[start] !== OPEN_BRACE) return
    const walk = new ObjectWalk(start, MAX_SETTINGS, (keyStart, keyEnd, valueStart, valueEnd) => {
      const key = memberKey(body, keyStart, keyEnd)
      const name = foldName(key)
      if (NUMBERS.has(name)) this.#count(name, countAt(body, valueStart, valueEnd))
      if (!FOLDED_SETTINGS.has(name)) return
      const size = sizeAt(body, valueStart, valueEnd)
      if (areExact && SETTINGS.has(key)) this.settingsMaxTokens = largerBound(this.settingsMaxTokens, size)
      else this.otherMaxTokens = largerBound(this.otherMaxTokens, size)
    })
    this.#unread += 1
    if (end - start > MAX_SETTINGS_BYTES) {
      this.#long ??= []
      this.#long.push({ walk, end, at: start })
      return
    }
    const settings = body.subarray(0, end)
    walk.advance(settings)
    this.#endSettings(walk, settings)
  }

  /** Settings that servers could read otherwise, or too many, may say more. */
  #endSettings(walk: ObjectWalk, settings: Buffer): void {
    if (walk.isWhole(settings)) this.#unread -= 1
    else this.settingsMaxTokens = UNBOUND
  }

  #takeTier(body: Buffer, start: number, end: number): void {
    if (body[start] !== OPEN_BRACE) {
      this.#addTier(body, start, end)
      return
    }
    const object = body.subarray(0, end)
    const walk = new ObjectWalk(start, MAX_TIERS, (_keyStart, _keyEnd, from, to) =>
      this.#addTier(body, from, to),
    )
    if (end - start <= MAX_TIER_BYTES) walk.advance(object)
    if (!walk.isWhole(object)) this.tiers = ANY_TIER
  }

  #addTier(body: Buffer, start: number, end: number): void {
    const tier = modelText(body, start, end)
    if (tier === null || this.tiers === ANY_TIER) return
    this.tiers = (this.tiers?.length ?? 0) < MAX_TIERS ? [...(this.tiers ?? []), tier] : ANY_TIER
  }

  #count(name: string, count: number): void {
    this.#counts ??= new Map()
    this.#counts.set(name, Math.max(this.countOf(name), count))
  }
}

/** Every tier that a call may ask for. */
const ANY_TIER: readonly string[] = [...ASKED_TIERS]

/** What is known of a body that is not read. */
export const NOTHING_ASKED: AskedSize = new AskedSize()

/** The larger of two bounds, where no bound is the largest: a body that says both is read one way or the other. */
export function largerBound(known: number, size: number): number {
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

/** How many are asked for; 0: it does not say. Its length is not bounded as that of tokens is: zeros may follow a point. */
function countAt(body: Buffer, start: number, end: number): number {
  const size = end - start > MAX_NUMBER_BYTES ? UNBOUND : sizeAt(body, start, end)
  if (size > 0) return size
  return Math.max(0, writtenSize(body.toString('latin1', start, Math.min(end, start + MAX_COUNT_BYTES))))
}

/** Some servers take numbers as text, and others fractions. */
function writtenSize(text: string): number {
  const size = Math.ceil(Number(text.replaceAll('"', '')))
  return size > 0 ? size : UNBOUND
}
