import { connect, type Socket } from 'node:net'

/** Follows the course of calls; times are those of `performance.now()`. */
export interface CallWatcher {
  /** The first byte of the answer's body. */
  began(connection: Connection, nowMs: number): void
  /** More of the body, in a later read. */
  went(connection: Connection, nowMs: number): void
  ended(connection: Connection, nowMs: number): void
  /** The answer is not the expected one, or there is none. */
  failed(problem: string): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LF = 0x0a
/** Shared by all connections: what is read is looked at before the next read. */
const READ_BUFFER = Buffer.allocUnsafe(256 * 1024)

type State = 'idle' | 'head' | 'length' | 'size line' | 'chunk' | 'last line'

/**
 * One HTTP/1.1 connection on a bare socket, with one call at a time. It compares every byte of a body with what is
 * expected, and does nothing else that a measurement can do without.
 */
export class Connection {
  readonly #socket: Socket
  #watcher: CallWatcher
  #expected: Buffer | null
  #state: State = 'idle'
  /** Of a head or a chunk's line that a read has cut. */
  #partial: Buffer | null = null
  #received = 0
  /** Bytes of the body or of the chunk that are still to come. */
  #left = 0
  #hasBegun = false
  #isClosed = false
  /** Milliseconds, of the call under way: when it was to be sent, and when the last of its body was read. */
  scheduledMs = 0
  lastReadMs = 0

  constructor(
    at: { readonly host: string; readonly port: number },
    expected: Buffer | null,
    watcher: CallWatcher,
  ) {
    this.#expected = expected
    this.#watcher = watcher
    const callback = (count: number) => {
      this.#read(READ_BUFFER.subarray(0, count))
      return true
    }
    this.#socket = connect({ ...at, noDelay: true, onread: { buffer: READ_BUFFER, callback } })
    this.#socket.on('error', (error) => this.#fail(error.message))
    this.#socket.on('close', () => this.#fail('the connection was closed'))
  }

  get isOpen(): boolean {
    return !this.#isClosed
  }

  /** Its next calls are another run's. */
  serve(expected: Buffer | null, watcher: CallWatcher): void {
    this.#expected = expected
    this.#watcher = watcher
  }

  send(request: Buffer, scheduledMs: number): void {
    this.scheduledMs = scheduledMs
    this.#state = 'head'
    this.#received = 0
    this.#hasBegun = false
    this.#socket.write(request)
  }

  close(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  #fail(problem: string): void {
    if (this.#isClosed) return
    this.close()
    this.#watcher.failed(problem)
  }

  #read(read: Buffer): void {
    const nowMs = performance.now()
    const before = this.#received
    const bytes = this.#partial === null ? read : Buffer.concat([this.#partial, read])
    this.#partial = null
    let at = 0
    while (at < bytes.length && !this.#isClosed) {
      const next = this.#take(bytes, at)
      if (next < 0) {
        this.#partial = Buffer.from(bytes.subarray(at))
        break
      }
      at = next
    }
    if (this.#received > before) {
      if (this.#hasBegun) this.#watcher.went(this, nowMs)
      else this.#watcher.began(this, nowMs)
      this.#hasBegun = true
      this.lastReadMs = nowMs
    }
    if (this.#state !== 'idle' || this.#isClosed) return
    if (this.#expected === null || this.#received === this.#expected.length) this.#watcher.ended(this, nowMs)
    else this.#fail(`the answer has ${this.#received} bytes in place of ${this.#expected.length}`)
  }

  /** Reads on from `at`. @returns where to go on; -1: more has to come first */
  #take(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes, at)
      case 'length':
      case 'chunk':
        return this.#takeBody(bytes, at)
      case 'size line':
        return this.#takeSizeLine(bytes, at)
      case 'last line': {
        const end = bytes.indexOf(HEAD_END.subarray(2), at)
        if (end >= 0) this.#state = 'idle'
        return end < 0 ? -1 : end + 2
      }
      case 'idle':
        this.#fail(`bytes that belong to no call: ${bytes.toString('latin1', at, at + 200)}`)
        return bytes.length
      default:
        return this.#state satisfies never
    }
  }

  #takeHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at)
    if (end < 0) return -1
    const head = bytes.toString('latin1', at, end)
    if (!head.startsWith('HTTP/1.1 200')) {
      this.#fail(`${head.slice(0, 40)}: ${bytes.toString('latin1', end, end + 300)}`)
      return bytes.length
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#left = Number(length ?? 0)
    this.#state = length === undefined ? 'size line' : 'length'
    return end + HEAD_END.length
  }

  #takeBody(bytes: Buffer, at: number): number {
    const end = Math.min(at + this.#left, bytes.length)
    const from = this.#received
    this.#received += end - at
    this.#left -= end - at
    this.#compare(bytes, at, from)
    if (this.#left === 0) this.#state = this.#state === 'length' ? 'idle' : 'size line'
    return end
  }

  #compare(bytes: Buffer, at: number, from: number): void {
    if (this.#expected === null) return
    const to = this.#received
    if (to > this.#expected.length) this.#fail('the answer is longer than it should be')
    else if (bytes.compare(this.#expected, from, to, at, at + to - from) !== 0)
      this.#fail(`the answer differs between bytes ${from} and ${to}`)
  }

  /** A chunk's size; also the empty line that ends the chunk before it. */
  #takeSizeLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at)
    if (end < 0) return -1
    if (end === at + 1) return end + 1
    this.#left = Number.parseInt(bytes.toString('latin1', at, end), 16)
    this.#state = this.#left === 0 ? 'last line' : 'chunk'
    return end + 1
  }
}
