/** Headers that frame a message or are about its connection. */
export type HeaderRole =
  | 'none'
  | 'host'
  | 'content-length'
  | 'transfer-encoding'
  | 'connection'
  | 'keep-alive'
  | 'upgrade'
  | 'expect'

/** One spelling of a header's name. */
export interface HeaderName {
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

/** Whether `text` is a token, as methods and names of headers are. */
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
