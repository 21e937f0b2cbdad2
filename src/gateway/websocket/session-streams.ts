import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import { createFrameWatch } from '../../providers/wires/websocket-frames.ts'

/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
/** A side that knows of the end and does not close its connection by then is cut. */
const CLOSING_MS = 2_000
/**
 * What a client may send before its handshake is answered, which no client has to; more waits in its socket.
 */
const EARLY_BYTES = 64 * 1024
/** The same of the first message of a session, which is read before it goes on. */
const HELD_BYTES = 4 * 1024 * 1024

/** What happens on the connections of a session. Bytes are borrowed. */
export interface StreamEvents {
  /** Bytes that the upstream gets, once there is one and nothing holds them. */
  clientSent(chunk: Buffer): void
  /** Of the client's bytes, those that may go upstream. More of them do once more have come, or by `passOn`. */
  readonly passableBytes: number
  /** More of the client's bytes are of no use before `passOn`. */
  readonly isJudging: boolean
  /** The client's close frame has not gone upstream. */
  readonly holdsClose: boolean
  /** Whether the first `bytes` of the client's end with a frame. */
  endsFrame(bytes: number): boolean
  /** @param isClosed false: the client has only ended its side of the connection */
  clientLeft(isClosed: boolean): void
  upstreamSent(chunk: Buffer): void
  upstreamClosed(): void
}

/** RFC 6455 section 7.4.1. */
export const POLICY_VIOLATION = 1008

/** RFC 6455 section 5.5: a control frame's payload has at most 125 bytes, and the code takes two. */
const MAX_REASON_BYTES = 123

/** An unmasked close frame, as a server sends it. A long reason is cut. */
function closeFrame(code: number, reason = ''): Buffer {
  let text = reason
  while (Buffer.byteLength(text) > MAX_REASON_BYTES) text = text.slice(0, -1)
  const bytes = Buffer.from(text.toWellFormed())
  return Buffer.concat([Buffer.from([0x88, 2 + bytes.length, code >> 8, code & 0xff]), bytes])
}

/** A control frame as a client sends it (RFC 6455 section 5.3). */
function maskedFrame(first: number, payload: Uint8Array): Buffer {
  const mask = randomBytes(4)
  const masked = payload.map((byte, at) => byte ^ (mask[at & 3] ?? 0))
  return Buffer.from([first, 0x80 | payload.length, ...mask, ...masked])
}

/** The two connections of a session: joined byte for byte while it lasts, then closed in order. */
export class SessionStreams {
  readonly client: Duplex
  readonly #events: StreamEvents
  readonly #clientFrames = createFrameWatch()
  readonly #upstreamFrames = createFrameWatch()
  readonly #onDrain = () => this.passOn()
  /** What the client sent and may not go upstream yet; `null`: nothing of it goes on any more. */
  #waiting: Buffer[] | null
  #waitingBytes: number
  /** Bytes of the client's that went upstream. */
  #passedBytes = 0
  /** What went upstream ends within a frame: whatever follows would be read as more of it. */
  #isCut = false
  #upstream: Duplex | null = null
  /** The client gets no more than the end of this frame, and this behind it; `null`: all of the upstream's. */
  #lastFrame: Buffer | null = null
  /** What comes from the upstream is read, and not passed on. */
  #isSeparate = false
  #upstreamEnded = false

  /** @param head what came with the client's handshake */
  constructor(client: Duplex, head: Buffer, events: StreamEvents) {
    this.client = client
    this.#events = events
    this.#waiting = [head]
    this.#waitingBytes = head.length
  }

  /** `null`: the upstream has accepted no session. */
  get upstream(): Duplex | null {
    return this.#upstream
  }

  /** Whether what the client sends may go upstream, now or later. */
  get takesClient(): boolean {
    return this.#waiting !== null && this.#upstream?.writable === true
  }

  /** Whether the client has sent a close frame. */
  get clientClosed(): boolean {
    return this.#clientFrames.isClosed
  }

  /** Whether the upstream has ended the connection in order. */
  get upstreamEnded(): boolean {
    return this.#upstreamEnded
  }

  /**
   * Reads the client, as the end of an unread connection is not seen. What it sends waits for the upstream.
   */
  watchClient(): void {
    const { client } = this
    for (const head of this.#waiting ?? []) this.#clientFrames.push(head)
    client.on('data', (chunk: Buffer) => {
      this.#clientFrames.push(chunk)
      this.#waiting?.push(chunk)
      this.#waitingBytes += chunk.length
      // Behind the end of what goes on, nothing is asked for.
      if (this.#upstream !== null && this.#waiting !== null) this.#events.clientSent(chunk)
      this.passOn()
    })
    client.on('end', () => this.#events.clientLeft(false))
    client.on('close', () => this.#events.clientLeft(true))
    client.on('drain', () => this.#upstream?.resume())
    client.resume()
  }

  /** No session begins, or it is over: what the client sends is not kept for an upstream. */
  dropWaiting(): void {
    if (this.#waiting === null) return
    this.#waiting = null
    this.#isCut = !this.#events.endsFrame(this.#passedBytes)
  }

  /**
   * Joins both sides, behind the answer to the handshake.
   *
   * @param answer its head, as bytes in latin1
   * @param head what came with it
   */
  connect(upstream: Duplex, answer: string, head: Buffer): void {
    const { client } = this
    this.#upstream = upstream
    client.write(answer, 'latin1')
    const read = (chunk: Buffer) => {
      this.#events.upstreamSent(chunk)
      this.#passToClient(upstream, chunk)
    }
    upstream.on('data', read)
    upstream.on('end', () => {
      this.#upstreamEnded = true
      client.end()
    })
    upstream.on('close', () => {
      client.end()
      this.#cutSoon(upstream)
      this.#events.upstreamClosed()
    })
    if (head.length > 0) read(head)
    for (const bytes of this.#waiting ?? []) if (bytes.length > 0) this.#events.clientSent(bytes)
    client.resume()
    this.passOn()
  }

  /** Passes on what the client has sent and may. Its end is passed on by hand: a response may be under way. */
  passOn(): void {
    const { client } = this
    const waiting = this.#waiting
    if (waiting === null) return
    const upstream = this.#upstream
    if (upstream !== null) this.#passTo(upstream, waiting)
    if (this.#waitingBytes > this.#mayWait) client.pause()
    else if (upstream?.writableNeedDrain !== true) client.resume()
    else {
      client.pause()
      if (upstream.listenerCount('drain', this.#onDrain) === 0) upstream.on('drain', this.#onDrain)
    }
  }

  get #mayWait(): number {
    if (this.#upstream === null) return EARLY_BYTES
    return this.#events.isJudging ? 0 : HELD_BYTES
  }

  #passTo(upstream: Duplex, waiting: Buffer[]): void {
    let free = this.#events.passableBytes - this.#passedBytes
    while (free > 0) {
      const bytes = waiting.shift()
      if (bytes === undefined) return
      const passed = bytes.subarray(0, free)
      if (passed.length < bytes.length) waiting.unshift(bytes.subarray(free))
      free -= passed.length
      this.#passedBytes += passed.length
      this.#waitingBytes -= passed.length
      if (passed.length > 0 && upstream.writable) upstream.write(passed)
    }
  }

  #passToClient(upstream: Duplex, chunk: Buffer): void {
    if (this.#isSeparate) return
    const { client } = this
    this.#upstreamFrames.push(chunk)
    // Where the last frame ends that ends in it.
    const end = chunk.length - this.#upstreamFrames.partialBytes
    const isLast = this.#lastFrame !== null && end >= 0
    if (client.writable && !client.write(isLast ? chunk.subarray(0, end) : chunk)) upstream.pause()
    if (isLast) this.#endClient()
  }

  /** From here on what comes from either side is read, and not passed on. */
  separate(): void {
    this.#isSeparate = true
    this.dropWaiting()
    this.#upstream?.resume()
    this.client.resume()
  }

  /**
   * Ends the client's side with a close frame, behind the end of a frame that has come in part. The upstream's bytes
   * must not come behind it, and a client that is slow must not keep them from being read.
   */
  closeClient(code: number, reason?: string): void {
    const { client } = this
    this.#lastFrame = closeFrame(code, reason)
    this.dropWaiting()
    client.resume()
    destroyAfterGrace(client)
    client.once('close', () => this.separate())
    if (this.#upstreamFrames.partialBytes === 0) this.#endClient()
  }

  #endClient(): void {
    this.separate()
    if (this.client.writable) this.client.end(this.#upstreamFrames.isClosed ? null : this.#lastFrame)
  }

  /** Answers the upstream in the place of a client, which it would take for dead. */
  answerPing(payload: Buffer): void {
    const upstream = this.#upstream
    if (upstream?.writable !== true || upstream.writableNeedDrain) return
    if (this.#events.endsFrame(this.#passedBytes)) upstream.write(maskedFrame(0x8a, payload))
  }

  /** Passes on that the client has ended its side. An upstream that does not answer that is cut. */
  endUpstream(): void {
    const upstream = this.#upstream
    if (upstream === null) return
    upstream.end()
    this.#cutSoon(upstream)
  }

  /** Tells the upstream that the session is over, and closes both sides. */
  finish(): void {
    const upstream = this.#upstream
    if (upstream === null) return
    const knowsOfIt = this.clientClosed && !this.#events.holdsClose
    const code = [GOING_AWAY >> 8, GOING_AWAY & 0xff]
    if (!knowsOfIt && !this.#isCut && !upstream.destroyed)
      upstream.write(maskedFrame(0x88, Uint8Array.from(code)))
    this.endUpstream()
  }

  /** What still comes from either side is dropped, so that the end of the connection is seen behind it. */
  #cutSoon(upstream: Duplex): void {
    const { client } = this
    const timer = setTimeout(() => {
      client.destroy()
      upstream.destroy()
    }, CLOSING_MS)
    let open = 2
    for (const side of [client, upstream]) {
      if (side.closed) open -= 1
      else side.on('close', () => --open === 0 && clearTimeout(timer))
    }
    if (open === 0) clearTimeout(timer)
    client.resume()
    upstream.resume()
  }
}
