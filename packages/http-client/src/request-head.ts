import { UpstreamError } from './answer-handler.ts'

/** Methods whose requests have a body, so that one without says that its length is 0 (RFC 9110, 8.6). */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set([
  'PATCH',
  'POST',
  'PROPFIND',
  'PROPPATCH',
  'PUT',
  'QUERY',
])

/** Headers that frame a message or are about its connection. */
type HeaderRole =
  | 'none'
  | 'host'
  | 'content-length'
  | 'transfer-encoding'
  | 'connection'
  | 'keep-alive'
  | 'upgrade'
  | 'expect'

/** One spelling of a header's name. */
interface HeaderName {
  readonly text: string
  readonly lower: string
  readonly role: HeaderRole
}

const ROLES: ReadonlySet<string> = new Set<HeaderRole>([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
])

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** The other side chooses the names, so it must not choose how many are remembered: at this, all are dropped. */
const MAX_REMEMBERED = 2_000
const MAX_REMEMBERED_LENGTH = 100

const remembered = new Map<string, HeaderName>()

/** The name as it is written in `text`, checked once for each spelling; `null`: none can be written so. */
export function findHeaderName(text: string): HeaderName | null {
  return remembered.get(text) ?? readName(text)
}

/** Tells whether `text` is a token, as methods and names of headers are. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

function readName(text: string): HeaderName | null {
  if (!isToken(text)) return null
  const lower = text.toLowerCase()
  const role = ROLES.has(lower) ? (lower as HeaderRole) : 'none'
  if (text.length > MAX_REMEMBERED_LENGTH) return { text, lower, role }
  // A copy: a slice would keep alive all that it was cut from.
  const name: HeaderName = { text: Buffer.from(text, 'latin1').toString('latin1'), lower, role }
  if (remembered.size === MAX_REMEMBERED) remembered.clear()
  remembered.set(name.text, name)
  return name
}

/** Written here, or not at all: set by another, they could make a server end a request early. */
const NOT_TO_BE_SET: ReadonlySet<HeaderRole> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
])

/** Bytes of a path as they may stand in a request line. Others are lost or misread in latin1. */
const UNFIT_IN_PATH = /[^\x21-\xff]/
const UNFIT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const LENGTH = /^\d{1,15}$/

/** The beginning of a request as text. */
export interface RequestHead {
  /** Latin1 characters up to the headers that frame the body, which are left out with the empty line. */
  readonly text: string
  /** The length that `content-length` says; `null`: nothing. */
  readonly announcedLength: number | null
  /** Servers expect a body. */
  readonly takesBody: boolean
}

/**
 * The headers of a request as they are written, so that they are looked at once where several requests have the same.
 */
export class HeadFields {
  /** The header line of the host. */
  readonly host: string
  /** The lines of the others, but for those that frame the body. */
  readonly others: string

  constructor(host: string, others: string) {
    this.host = host
    this.others = others
  }
}

/**
 * Writes the head of a request.
 *
 * @param headers name, value, name, value, ...; `host` among them, once. Or what was written of them before: then no
 *   length is announced.
 * @throws {UpstreamError} When some of it could be read as more than it is: nothing of it may be sent.
 */
export function buildRequestHead(
  method: string,
  path: string,
  headers: readonly string[] | HeadFields,
  keepAlive = true,
): RequestHead {
  // An answer to CONNECT is a tunnel.
  if (!isToken(method) || method === 'CONNECT') throw refusal('the method is not fit to be sent')
  if (path.charCodeAt(0) !== 0x2f || UNFIT_IN_PATH.test(path)) throw refusal('the path is not fit to be sent')
  const isWritten = headers instanceof HeadFields
  const { host, others } = isWritten ? headers : writeHeadFields(headers)
  // Servers have been seen to send a body with the answer to HEAD, where the next answer would be looked for.
  const connection = method === 'HEAD' || !keepAlive ? 'close' : 'keep-alive'
  return {
    text: `${method} ${path} HTTP/1.1\r\n${host}connection: ${connection}\r\n${others}`,
    announcedLength: isWritten ? null : announcedLengthIn(headers),
    takesBody: METHODS_WITH_BODY.has(method),
  }
}

/**
 * @param headers as {@link buildRequestHead} takes them
 * @throws {UpstreamError} As it does.
 */
export function writeHeadFields(headers: readonly string[]): HeadFields {
  let host = ''
  let others = ''
  for (let i = 0; i < headers.length; i += 2) {
    const text = headers[i] ?? ''
    const value = headers[i + 1]
    const name = findHeaderName(text)
    if (name === null || value === undefined || UNFIT_IN_VALUE.test(value)) {
      throw refusal('a header is not fit to be sent')
    }
    if (name.role === 'none') {
      others += `${text}: ${value}\r\n`
    } else if (name.role === 'host') {
      if (host !== '') throw refusal('there is more than one host')
      host = `host: ${value}\r\n`
    } else if (NOT_TO_BE_SET.has(name.role)) {
      throw refusal(`${name.role} is not to be set`)
    }
  }
  if (host === '') throw refusal('there is no host')
  return new HeadFields(host, others)
}

function announcedLengthIn(headers: readonly string[]): number | null {
  let length: number | null = null
  for (let i = 0; i < headers.length; i += 2) {
    if (findHeaderName(headers[i] ?? '')?.role !== 'content-length') continue
    const value = headers[i + 1] ?? ''
    if (length !== null || !LENGTH.test(value)) throw refusal('the length is in doubt')
    length = Number(value)
  }
  return length
}

function refusal(message: string): UpstreamError {
  return new UpstreamError('invalid_request', message)
}
