import type { AnswerHeaders } from './answer-handler.ts'
import { AnswerHead, readAnswerHead, readHeaders } from './answer-head.ts'

/** Bound of one head, and of the trailers of one answer. */
const MAX_HEAD_BYTES = 64 * 1024
/** Bound of one chunk's size with its extensions. */
const MAX_SIZE_LINE_BYTES = 16 * 1024
/**
 * Each starts the limit for the head again, and a server that waits for a model sends one every few seconds at most.
 */
const MAX_INTERIM_ANSWERS = 1_000
/** The largest number of hexadecimal digits whose number is exact. */
const MAX_SIZE_DIGITS = 13

const CR = 0x0d
const LF = 0x0a
const SEMICOLON = 0x3b

/**
 * Extensions: they may follow the semicolon behind a chunk's size (RFC 9112, 7.1.1), without blanks around the signs.
 */
const EXTENSIONS =
  /^(?:(?:^|;)[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]*|"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)+$/

const HEAD_END = Buffer.from('\r\n\r\n')
const PROTOCOL = Buffer.from('HTTP/1.')

/** The part of an answer that the next byte belongs to. */
type Part =
  | 'head'
  | 'sized'
  | 'until-close'
  | 'chunk-size'
  | 'chunk-extension'
  | 'chunk-size-end'
  | 'chunk'
  | 'chunk-end'
  | 'chunk-end-lf'
  | 'trailers'
  | 'none'

/**
 * Reads one answer at a time from the bytes of a connection, cut anywhere (RFC 9112). It does no I/O: each
 * `read` leaves in the fields what its bytes brought. Answers of status 100 to 199 are passed over.
 */
export class ResponseParser {
  /** `null`: it has not come yet. */
  head: AnswerHead | null = null
  trailers: AnswerHeaders | null = null
  isComplete = false
  /** Why no more of the answer can be read; what came before it is good. `null`: nothing is wrong. */
  problem: string | null = null
  /** Bytes came behind the end of the answer. */
  hasSurplus = false
  /** Answers that were passed over. */
  interimAnswers = 0
  #body: Buffer | null = null
  #part: Part = 'none'
  #isHead = false
  /** Bytes of the body or of the chunk that have not come. */
  #left = 0
  /** Digits of the chunk's size, without zeros before them. */
  #digits = 0
  #hasDigit = false
  #lineBytes = 0
  #extension = ''
  /** The beginning of a head or of trailers. */
  #partial: Buffer | null = null

  /** The next bytes are the answer to a new request. @param isHead its method is HEAD */
  begin(isHead: boolean): void {
    this.head = null
    this.trailers = null
    this.isComplete = false
    this.problem = null
    this.hasSurplus = false
    this.interimAnswers = 0
    this.#body = null
    this.#part = 'head'
    this.#isHead = isHead
    this.#partial = null
  }

  /** The piece of the body that came since this was last called; `null`: nothing. */
  takeBody(): Buffer | null {
    const body = this.#body
    this.#body = null
    return body
  }

  /**
   * Tells whether the connection can carry another answer once this one is complete. Servers have been seen to send a
   * body with answers that have none, so after an announcement of one the next answer could begin with it.
   */
  get keepsConnection(): boolean {
    const { head } = this
    if (head === null || !this.isComplete || this.hasSurplus || this.#part === 'until-close') return false
    if (head.saysClose || (head.isOld && (!head.saysKeepAlive || head.isChunked))) return false
    const hasNoBody = head.status === 204 || head.status === 304
    return !hasNoBody || (head.contentLength <= 0 && !head.isChunked)
  }

  /**
   * Reads the next bytes. They are the parser's from now on: the pieces of a body in chunks are moved together
   * in place.
   */
  read(bytes: Buffer): void {
    if (this.problem !== null) return
    if (this.#part === 'head') this.#readHead(bytes)
    else this.#readRest(bytes, 0)
  }

  /** The server sends no more: the end of an answer that goes until then, a problem in all others. */
  end(): void {
    if (this.isComplete || this.problem !== null) return
    if (this.#part === 'until-close') this.isComplete = true
    else this.problem = 'the connection was closed before the answer was whole'
  }

  #readHead(chunk: Buffer): void {
    const before = this.#partial
    let bytes = before === null ? chunk : Buffer.concat([before, chunk])
    let from = before === null ? 0 : Math.max(0, before.length - 3)
    for (;;) {
      const end = bytes.indexOf(HEAD_END, from)
      if (end < 0 || end > MAX_HEAD_BYTES) {
        this.#keepPartialHead(bytes)
        return
      }
      const head = readAnswerHead(bytes, end + 2)
      if (typeof head === 'string') {
        this.#fail(head)
        return
      }
      if (head.status >= 200) {
        this.#partial = null
        this.#beginBody(head)
        this.#readRest(bytes, end + 4)
        return
      }
      if (head.status === 101) {
        this.#fail('the server changed the protocol unasked')
        return
      }
      this.interimAnswers += 1
      if (this.interimAnswers > MAX_INTERIM_ANSWERS) {
        this.#fail(`more than ${MAX_INTERIM_ANSWERS} interim answers came before the answer`)
        return
      }
      bytes = bytes.subarray(end + 4)
      from = 0
    }
  }

  #keepPartialHead(bytes: Buffer): void {
    this.#partial = bytes
    if (bytes.length > MAX_HEAD_BYTES) this.#fail('the head is longer than 64 KiB')
    else if (bytes.compare(PROTOCOL, 0, Math.min(bytes.length, 7), 0, Math.min(bytes.length, 7)) !== 0) {
      this.#fail('the answer is not HTTP/1')
    } else {
      // Such lines never come to the end that is waited for.
      const lineFeed = bytes.indexOf(LF)
      if (lineFeed >= 0 && bytes[lineFeed - 1] !== CR) this.#fail('a line ends in a bare LF')
    }
  }

  #beginBody(head: AnswerHead): void {
    this.head = head
    if (this.#isHead || head.status === 204 || head.status === 304) this.#complete()
    else if (head.isChunked) this.#beginSize()
    else if (head.contentLength < 0) this.#part = 'until-close'
    else if (head.contentLength === 0) this.#complete()
    else {
      this.#part = 'sized'
      this.#left = head.contentLength
    }
  }

  #readRest(bytes: Buffer, from: number): void {
    const end = bytes.length
    if (from === end) return
    switch (this.#part) {
      case 'none':
        this.hasSurplus = true
        return
      case 'until-close':
        this.#addBody(bytes, from, end)
        return
      case 'sized': {
        const to = Math.min(end, from + this.#left)
        this.#left -= to - from
        this.#addBody(bytes, from, to)
        if (this.#left > 0) return
        this.#complete()
        if (to < end) this.hasSurplus = true
        return
      }
      default:
        this.#readChunks(bytes, from)
    }
  }

  #addBody(bytes: Buffer, from: number, to: number): void {
    const piece = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to)
    this.#body = this.#body === null ? piece : Buffer.concat([this.#body, piece])
  }

  #readChunks(bytes: Buffer, from: number): void {
    const end = bytes.length
    let at = from
    let bodyStart = from
    let bodyEnd = from
    while (at < end && this.problem === null) {
      if (this.#part === 'chunk') {
        const to = Math.min(end, at + this.#left)
        if (bodyStart === bodyEnd) {
          bodyStart = at
          bodyEnd = to
        } else {
          bytes.copyWithin(bodyEnd, at, to)
          bodyEnd += to - at
        }
        this.#left -= to - at
        if (this.#left === 0) this.#part = 'chunk-end'
        at = to
      } else if (this.#part === 'trailers') {
        // The bytes behind them are not read: copied pieces of the body may lie before them, none behind.
        this.#readTrailers(bytes, at)
        break
      } else {
        this.#readFramingByte(bytes[at] ?? 0)
        at += 1
      }
    }
    if (bodyEnd > bodyStart) this.#addBody(bytes, bodyStart, bodyEnd)
  }

  #beginSize(): void {
    this.#part = 'chunk-size'
    this.#left = 0
    this.#digits = 0
    this.#hasDigit = false
    this.#lineBytes = 0
  }

  #readFramingByte(byte: number): void {
    switch (this.#part) {
      case 'chunk-size':
        this.#readSizeByte(byte)
        return
      case 'chunk-extension':
        this.#countLineByte()
        if (byte !== CR) this.#extension += String.fromCharCode(byte)
        else if (EXTENSIONS.test(this.#extension)) this.#part = 'chunk-size-end'
        else this.#fail('a chunk extension is malformed')
        return
      case 'chunk-size-end':
        if (byte !== LF) this.#fail("a chunk's size ends in a bare CR")
        else if (this.#left > 0) this.#part = 'chunk'
        else this.#part = 'trailers'
        return
      case 'chunk-end':
        if (byte === CR) this.#part = 'chunk-end-lf'
        else this.#fail('a chunk is longer than its size')
        return
      default:
        if (byte === LF) this.#beginSize()
        else this.#fail('a chunk ends in a bare CR')
    }
  }

  #readSizeByte(byte: number): void {
    const digit = hexadecimalDigit(byte)
    if (digit >= 0) {
      this.#countLineByte()
      this.#hasDigit = true
      if (this.#left > 0 || digit > 0) this.#digits += 1
      this.#left = this.#left * 16 + digit
      if (this.#digits > MAX_SIZE_DIGITS) this.#fail('a chunk is too large')
    } else if (!this.#hasDigit) this.#fail('a chunk has no size')
    else if (byte === CR) this.#part = 'chunk-size-end'
    else if (byte === SEMICOLON) {
      this.#part = 'chunk-extension'
      this.#extension = ''
    } else this.#fail("a chunk's size is no number")
  }

  #countLineByte(): void {
    this.#lineBytes += 1
    if (this.#lineBytes > MAX_SIZE_LINE_BYTES) this.#fail("the line of a chunk's size is longer than 16 KiB")
  }

  #readTrailers(chunk: Buffer, at: number): void {
    const before = this.#partial
    const bytes = before === null ? chunk.subarray(at) : Buffer.concat([before, chunk.subarray(at)])
    if (bytes[0] === CR && bytes[1] === LF) {
      this.#endTrailers(null, bytes.length > 2)
      return
    }
    const end = bytes.indexOf(HEAD_END, before === null ? 0 : Math.max(0, before.length - 3))
    if (end < 0 || end > MAX_HEAD_BYTES) {
      if (bytes.length > MAX_HEAD_BYTES) this.#fail('the trailers are longer than 64 KiB')
      // A copy, since the body's pieces are handed on in the same memory.
      else this.#partial = before === null ? Buffer.from(bytes) : bytes
      return
    }
    const lines = new AnswerHead()
    const problem = readHeaders(bytes, 0, end + 2, lines)
    if (problem !== null) this.#fail(problem)
    else if (lines.contentLength >= 0 || lines.isChunked) this.#fail('a trailer frames the answer')
    else this.#endTrailers(lines.headers, bytes.length > end + 4)
  }

  #endTrailers(trailers: AnswerHeaders | null, hasSurplus: boolean): void {
    this.trailers = trailers
    this.#partial = null
    this.hasSurplus = hasSurplus
    this.#complete()
  }

  #complete(): void {
    this.isComplete = true
    this.#part = 'none'
  }

  #fail(problem: string): void {
    this.problem = problem
    this.#partial = null
  }
}

/** -1: it is none. */
function hexadecimalDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
