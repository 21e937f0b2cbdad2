import type { AnswerHeaders } from './answer-handler.ts'
import { findHeaderName } from './header-names.ts'

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

/** Control characters, bare CR and LF, and lines that are folded. CRLF itself is none of them. */
const UNFIT = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|\r\n[\t ]|(?<!\r)\n/
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?$/
/** Up to 15 digits: a number that is exact. */
const LENGTH = /^\d{1,15}$/
const TIMEOUT = /(?:^|[\s,;])timeout\s*=\s*(\d{1,9})/i

/**
 * Reads the head of an answer strictly: what two readers could understand in two ways is refused, since a
 * client behind us may be one of them.
 *
 * @param text latin1 characters, without the empty line at the end
 * @returns why it is none, in words
 */
export function readAnswerHead(text: string): AnswerHead | string {
  const lineEnd = text.indexOf('\r\n')
  const line = STATUS_LINE.exec(lineEnd < 0 ? text : text.slice(0, lineEnd))
  if (line === null) return 'the answer begins with no status line'
  const head = new AnswerHead()
  head.isOld = line[1] === '0'
  head.status = Number(line[2])
  head.reason = line[3] ?? ''
  const problem = lineEnd < 0 ? null : readHeaders(text.slice(lineEnd + 2), head)
  if (problem !== null) return problem
  if (head.isChunked && head.contentLength >= 0) return 'both a length and a transfer coding are given'
  return head
}

/**
 * Adds the lines of `text` to `head`.
 *
 * @param text lines with CRLF between them
 * @returns what is wrong with them; `null`: nothing
 */
export function readHeaders(text: string, head: AnswerHead): string | null {
  if (UNFIT.test(text)) return 'a header has a byte that none may have'
  const end = text.length
  let at = 0
  while (at < end) {
    let lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) lineEnd = end
    const colon = text.indexOf(':', at)
    if (colon < 0 || colon > lineEnd) return 'a header has no colon'
    const name = findHeaderName(text.slice(at, colon))
    if (name === null) return 'a header has no proper name'
    const value = trimmed(text, colon + 1, lineEnd)
    head.rawHeaders.push(name.text, value)
    addTo(head.headers, name.lower, value)
    if (name.role !== 'none') {
      const problem = readFraming(head, name.role, value)
      if (problem !== null) return problem
    }
    at = lineEnd + 2
  }
  return null
}

function trimmed(text: string, start: number, end: number): string {
  let from = start
  let to = end
  while (from < to && isBlank(text.charCodeAt(from))) from += 1
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1
  return text.slice(from, to)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
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
      // What else there may be in it was not asked for (no TE is sent that takes it), and would not be undone.
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
