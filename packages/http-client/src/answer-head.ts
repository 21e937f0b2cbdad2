import type { AnswerHeaders } from './answer-handler.ts'
import { findHeaderName, isToken } from './request-head.ts'

/** The head of one answer: what is passed on, and what says where the answer ends. */
export class AnswerHead {
  status = 0
  /** The bytes of the reason phrase as latin1 characters. */
  reason = ''
  /** HTTP/1.0, which keeps no connection unless it says so. */
  isOld = false
  rawHeaders: string[] = []
  headers: AnswerHeaders = {}
  /** -1: none is announced. */
  contentLength = -1
  isChunked = false
  saysClose = false
  saysKeepAlive = false
  /** Seconds for which the server keeps an idle connection; -1: it does not say. */
  keepAliveSeconds = -1
}

const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
const SPACE = 0x20
const TAB = 0x09

/** By byte: 1 where it may stand in a name. */
const IN_NAME = new Uint8Array(256).map((_, byte) => (isToken(String.fromCharCode(byte)) ? 1 : 0))
/** By byte: 1 where it may stand in a value, which no control character may. */
const IN_VALUE = new Uint8Array(256).map((_, byte) =>
  byte === TAB || (byte >= SPACE && byte !== 0x7f) ? 1 : 0,
)
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?$/
/** Up to 15 digits: a number that is exact. */
const LENGTH = /^\d{1,15}$/
const TIMEOUT = /(?:^|[\s,;])timeout\s*=\s*(\d{1,9})/i

/**
 * Reads the head of an answer strictly: what two readers could understand in two ways is refused, since a
 * client behind us may be one of them.
 *
 * @param bytes the head at their beginning
 * @param end where its last line has ended, with CRLF
 * @returns why it is none, in words
 */
export function readAnswerHead(bytes: Buffer, end: number): AnswerHead | string {
  const lineEnd = bytes.indexOf(CR)
  const line = STATUS_LINE.exec(bytes.toString('latin1', 0, lineEnd))
  if (line === null || bytes[lineEnd + 1] !== LF) return 'the answer begins with no status line'
  const head = new AnswerHead()
  head.isOld = line[1] === '0'
  head.status = Number(line[2])
  head.reason = line[3] ?? ''
  const problem = readHeaders(bytes, lineEnd + 2, end, head)
  if (problem !== null) return problem
  if (head.isChunked && head.contentLength >= 0) return 'both a length and a transfer coding are given'
  return head
}

/**
 * Adds the header lines of `bytes` to `head`, in one pass over them.
 *
 * @param end where the last of them has ended, with CRLF
 * @returns what is wrong with them; `null`: nothing
 */
export function readHeaders(bytes: Buffer, start: number, end: number, head: AnswerHead): string | null {
  const text = bytes.toString('latin1', start, end)
  const { rawHeaders, headers } = head
  let at = start
  while (at < end) {
    let i = at
    while (IN_NAME[bytes[i] ?? 0] === 1) i += 1
    if (bytes[i] !== COLON) return 'a header has no proper name'
    const name = findHeaderName(text.slice(at - start, i - start))
    if (name === null) return 'a header has no name'
    i += 1
    while (isBlank(bytes[i])) i += 1
    const from = i
    while (IN_VALUE[bytes[i] ?? 0] === 1) i += 1
    // Bare CR and LF end up here, as do lines that are folded, in the next turn.
    if (bytes[i] !== CR || bytes[i + 1] !== LF) return 'a header has a byte that none may have'
    let to = i
    while (to > from && isBlank(bytes[to - 1])) to -= 1
    const value = text.slice(from - start, to - start)
    rawHeaders.push(name.text, value)
    addTo(headers, name.lower, value)
    if (name.role !== 'none') {
      const problem = readFraming(head, name.role, value)
      if (problem !== null) return problem
    }
    at = i + 2
  }
  return null
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

function addTo(headers: AnswerHeaders, name: string, value: string): void {
  const before = headers[name]
  if (typeof before === 'string') headers[name] = [before, value]
  else if (Array.isArray(before)) before.push(value)
  else headers[name] = value
}

function readFraming(head: AnswerHead, role: string, value: string): string | null {
  switch (role) {
    case 'content-length':
      if (head.contentLength >= 0) return 'more than one length is given'
      if (!LENGTH.test(value)) return 'a length is no number'
      head.contentLength = Number(value)
      return null
    case 'transfer-encoding':
      // Any other coding in it was not asked for (no TE is sent that takes it), and would not be undone.
      if (head.isChunked || value.toLowerCase() !== 'chunked') return 'a transfer coding is not chunked alone'
      head.isChunked = true
      return null
    case 'connection':
      readConnection(head, value.toLowerCase())
      return null
    case 'keep-alive':
      readKeepAlive(head, value)
      return null
    default:
      return null
  }
}

function readConnection(head: AnswerHead, value: string): void {
  if (value === 'keep-alive') {
    head.saysKeepAlive = true
    return
  }
  for (const option of value.split(',')) {
    const name = option.trim()
    if (name === 'close') head.saysClose = true
    else if (name === 'keep-alive') head.saysKeepAlive = true
  }
}

let lastHint = ''
let lastSeconds = -1

/** Servers say the same again and again. */
function readKeepAlive(head: AnswerHead, value: string): void {
  if (value !== lastHint) {
    lastHint = value
    lastSeconds = Number(TIMEOUT.exec(value)?.[1] ?? -1)
  }
  head.keepAliveSeconds = lastSeconds
}
