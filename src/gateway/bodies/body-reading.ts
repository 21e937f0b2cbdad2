import type { IncomingHttpHeaders } from 'node:http'
import { inflaterOf } from '../../http/codings/codings.ts'
import type { Dialect } from '../../providers/dialect.ts'
import type { JsonObject } from '../../providers/reading/json-value.ts'
import type { FormUpload } from '../forms/form-upload.ts'
import { formBoundary } from '../forms/multipart-fields.ts'
import type { BodyRoom } from './body-budget.ts'
import type { RequestScan } from './request-body.ts'

/**
 * How the body of a call is read before the call goes on.
 *
 * - `unread`: it streams through.
 * - `whole`: it is kept and read as JSON. Its content codings, in the order in which they were applied, are
 *   undone for the reader.
 * - `form`: its first fields are read, and the rest streams.
 * - `held`: it is kept, and not read.
 * - `unsupported`: the gateway cannot read it, so the call is refused.
 */
export type BodyReading =
  | { readonly kind: 'unread' }
  | { readonly kind: 'whole'; readonly codings: readonly string[] }
  | { readonly kind: 'form'; readonly boundary: string; readonly hasSound: boolean }
  | { readonly kind: 'held' }
  | { readonly kind: 'unsupported' }

/** How the body of a call is read that was not refused because of it. */
export type ReadableBody = Exclude<BodyReading, { readonly kind: 'unsupported' }>

export const UNREAD: ReadableBody = { kind: 'unread' }
export const HELD: ReadableBody = { kind: 'held' }
const PLAIN: BodyReading = { kind: 'whole', codings: [] }
const UNSUPPORTED: BodyReading = { kind: 'unsupported' }

/** One body has no more codings than this; more are an attack. */
const MAX_CODINGS = 4

const BOUNDED = /^\s*multipart\/.*boundary/i

const CODED_CHUNKS = /,\s*chunked\s*$/i

const CHARSET = /charset([*\d]*)\s*=\s*["']?([^"';,\s]*)/gi
/**
 * In these character sets, JSON is what its bytes show. A server that goes by another one would read other
 * text.
 */
const PLAIN_CHARSET = /^(?:utf-?8|utf-?16(?:le|be)?|us-ascii|ascii|iso-8859-1|latin-?1)?$/i

/**
 * How to read a request's body: as its endpoint takes it, whatever the client says about it. Many servers
 * parse JSON without looking at `content-type` or `content-encoding`. A form is believed only where forms are
 * taken.
 *
 * @param modelDecides where the call goes, or whether it may be made, depends on its model.
 * @param namesObjects whether the call may be made depends on the objects that its body names.
 */
export function howToRead(
  headers: IncomingHttpHeaders,
  dialect: Dialect | null,
  modelDecides: boolean,
  namesObjects = false,
): BodyReading {
  const type = headers['content-type'] ?? ''
  const transfer = headers['transfer-encoding']
  // Node undoes only the chunks and drops this header, so the upstream would take coded bytes for plain ones.
  // Node itself refuses a request whose last transfer coding is not `chunked`.
  if (transfer !== undefined && CODED_CHUNKS.test(transfer)) return UNSUPPORTED
  const codings = codingsOf(headers['content-encoding'])
  if (dialect?.readsRequest !== true && !namesObjects) {
    const isPlainJson = codings?.length === 0 && /^application\/(?:[\w.-]+\+)?json\b/i.test(type)
    return isPlainJson && modelDecides ? PLAIN : UNREAD
  }
  if (codings === null || !isPlainCharset(type)) return UNSUPPORTED
  if (dialect?.takesForm === true) {
    const boundary = formBoundary(type)
    if (boundary !== null) {
      const hasSound = dialect.medium === 'recordings'
      return codings.length === 0 ? { kind: 'form', boundary, hasSound } : UNSUPPORTED
    }
    // Servers may find another boundary, and the form may then be JSON to this gateway.
    if (BOUNDED.test(type)) return UNSUPPORTED
  }
  return codings.length === 0 ? PLAIN : { kind: 'whole', codings }
}

function isPlainCharset(type: string): boolean {
  if (!/charset/i.test(type)) return true
  for (const [, extended, name = ''] of type.matchAll(CHARSET)) {
    if (extended !== '' || !PLAIN_CHARSET.test(name)) return false
  }
  return true
}

const NONE: readonly string[] = []

/**
 * The codings that `content-encoding` names, without `identity`. `null`: one is unknown, or there are too
 * many.
 */
function codingsOf(header: string | undefined): readonly string[] | null {
  if (header === undefined || header === '' || header === 'identity') return NONE
  const codings = header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (codings.length > MAX_CODINGS) return null
  return codings.every((name) => inflaterOf(name, 'whole') !== undefined) ? codings : null
}

/** A request's body, as far as it was read before the call goes on. */
export interface CallBody {
  /** The bytes that go upstream of a body that was read whole, or held; `null`: it streams. */
  readonly sent: Buffer | null
  /** `sent` as its reader gets it: content codings undone, in UTF-8; `null`: nothing reads it. */
  readonly plain: Buffer | null
  /** Holds the room of both, until the call is over. */
  readonly room: BodyRoom | null
  /** What its top level says, or the first fields of a form; `null`: not read. */
  readonly scan: RequestScan | null
  readonly form: FormUpload | null
  /** `sent` was edited. Then it has no content coding, whatever the client's body had. */
  readonly isEdited: boolean
  /** It was edited to ask for the usage, which the client did not ask for. */
  readonly asksForUsage: boolean
  /** What the endpoint's dialect needs to know of it; `null`: nothing, or the body leaves it in doubt. */
  readonly fields: JsonObject | null
}

export const UNREAD_BODY: CallBody = {
  sent: null,
  plain: null,
  room: null,
  scan: null,
  form: null,
  isEdited: false,
  asksForUsage: false,
  fields: null,
}
