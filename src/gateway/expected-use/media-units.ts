import { type BilledUnit, type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import type { Medium } from '../../providers/dialect.ts'
import { type JsonObject, objectIn } from '../../providers/reading/json-value.ts'
import { JsonScanner } from '../../providers/wires/json.ts'
import type { Admission } from '../admission/admission.ts'
import type { AskedSize } from '../bodies/asked-size.ts'
import type { RatesOfTier } from './model-rates.ts'

/** Larger requests for sound or pictures do not occur, and reading them would hold up other calls. */
const MAX_READ_BYTES = 64 * 1024
const SUCCESS = { status: 200, headers: {} } as const

/** Where a request does not say it: longer than what any provider makes unless asked. */
const FILM_MS = 12_000
/** Speech in a file, of which 2 kB are a second at the lowest bit rate in use. */
const SOUND_BYTES_PER_SECOND = 2_000
/** What OpenAI takes at most. */
const MAX_UPLOAD_BYTES = 25 * 1024 * 1024
const TOKENS_PER_SECOND = 35
const WRITTEN_TOKENS_PER_SECOND = 10
/** A hundred documents are one search, and long ones count as several. */
const DOCUMENTS_PER_SEARCH = 100
const RANKED_TOKENS_PER_SEARCH = 5_000
const BYTES_PER_PAGE = 20_000
const MIN_PAGES = 10
/** A picture at high quality, by GPT Image. */
const TOKENS_PER_PICTURE = 8_000
/** Spoken, by models that are paid by the token. */
const TOKENS_PER_CHARACTER = 2

/** What the request itself tells of what is billed by other than tokens. */
export interface RequestedUnits {
  readonly units: BilledUnits
  readonly model: string | null
  readonly serviceTier: string | null
}

/** What the record of this call will say, as far as the request decides it. Cheap to ask where it decides nothing. */
export function requestedUnits({ route, body, method }: Admission, model: string | null): RequestedUnits {
  const dialect = route.dialect
  const projection = dialect?.requestProjection
  if (dialect === null || projection === undefined) return NOTHING_REQUESTED
  const fields = body.plain !== null && body.plain.length <= MAX_READ_BYTES ? fieldsOf(body.plain) : null
  const request = { method, path: route.target.canonicalPath, model, stream: null, fields }
  const { units, model: named, serviceTier } = dialect.createReader(request, SUCCESS).peek()
  return { units, model: named, serviceTier }

  function fieldsOf(plain: Buffer): JsonObject | null {
    if (projection === undefined) return null
    const scanner = new JsonScanner(projection, true)
    scanner.push(plain)
    scanner.end()
    return scanner.isAmbiguous ? null : objectIn(scanner.extracted.value)
  }
}

const NOTHING_REQUESTED: RequestedUnits = { units: NO_UNITS, model: null, serviceTier: null }

/** What a request for media may use, beside its prompt. */
export interface MediaSize {
  readonly bytes: number
  readonly promptTokens: number
  readonly answers: number
}

/**
 * What its units may cost: pico-USD.
 *
 * @param said the units that the request itself tells.
 */
export function unitsCost({ units: rates }: RatesOfTier, size: MediaSize, said = NO_UNITS): number {
  let cost = 0
  for (const { name, each } of rates) cost += each * (said[name] ?? assumedUnits(name, size))
  return cost
}

function assumedUnits(name: BilledUnit, { bytes, promptTokens, answers }: MediaSize): number {
  switch (name) {
    case 'images':
      return answers
    case 'characters':
      return bytes
    case 'videoMs':
      return FILM_MS * answers
    case 'audioMs':
      return soundSeconds(bytes) * 1_000
    case 'searchUnits':
      return Math.ceil(answers / DOCUMENTS_PER_SEARCH) + Math.floor(promptTokens / RANKED_TOKENS_PER_SEARCH)
    case 'pages':
    case 'annotatedPages':
      return Math.max(MIN_PAGES, Math.ceil(bytes / BYTES_PER_PAGE))
    default:
      return 1
  }
}

/** The most tokens that media may have in the prompt (`heard`) and in the answer (`made`), by models paid by tokens. */
export function mediaTokens(
  medium: Medium | undefined,
  { bytes, answers }: MediaSize,
): { readonly heard: number; readonly made: number } | null {
  switch (medium) {
    case 'pictures':
      return { heard: 0, made: TOKENS_PER_PICTURE * answers }
    case 'speech':
      return { heard: 0, made: TOKENS_PER_CHARACTER * bytes }
    case 'recordings': {
      const seconds = soundSeconds(bytes)
      return { heard: seconds * TOKENS_PER_SECOND, made: seconds * WRITTEN_TOKENS_PER_SECOND }
    }
    case undefined:
      return null
  }
}

/** The sound that the call is about stands elsewhere, by an address or an id, and may have any length. */
export function namesSound({ route, body }: Admission, { soundBytes, opaqueBytes }: AskedSize): boolean {
  if (route.dialect?.medium !== 'recordings') return false
  return body.form === null ? body.plain !== null && soundBytes + opaqueBytes === 0 : body.form.hasNoFile
}

/** @param bytes 0: not announced. */
function soundSeconds(bytes: number): number {
  const known = bytes === 0 ? MAX_UPLOAD_BYTES : Math.min(bytes, MAX_UPLOAD_BYTES)
  return Math.ceil(known / SOUND_BYTES_PER_SECOND)
}
