import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import { createCloseWatch } from '../../providers/wires/websocket-frames.ts'

/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
/** A side that knows of the end and does not close its connection by then is cut. */
const CLOSING_MS = 2_000
/**
 * What a client may send before its handshake is answered, which no client has to; more waits in its socket.
 */
const EARLY_BYTES = 64 * 1024

/** What happens on the connections of a session. Bytes are borrowed. */
export interface StreamEvents {
  /** Bytes that the upstream gets, once there is one and nothing holds them. */
  clientSent(chunk: Buffer): void
  /** Whether the client's bytes wait here until more of them have come. */
  readonly holdsClient: boolean
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

/** A close frame as a client sends it (RFC 6455 section 5.3). */
function maskedCloseFrame(code: number): Buffer {
  const mask = randomBytes(4)
  const payload = [(code >> 8) ^ (mask[0] ?? 0), (code & 0xff) ^ (mask[1] ?? 0)]
  return Buffer.from([0x88, 0x82, ...mask, ...payload])
}

/** The two connections of a session: joined byte for byte while it lasts, then closed in order. */
export class SessionStreams {
  readonly client: Duplex
  readonly #events: StreamEvents
  readonly #watchForClose = createCloseWatch()
  /** Bytes that came before they may go upstream; `null`: they are not kept any more. */
  #early: Buffer[] | null
  #earlyBytes = 0
  #upstream: Duplex | null = null
  #clientClosed = false
  #upstreamEnded = false

  /** @param head what came with the client's handshake */
  constructor(client: Duplex, head: Buffer, events: StreamEvents) {
    this.client = client
    this.#events = events
    this.#early = [head]
  }

  /** `null`: the upstream has accepted no session. */
  get upstream(): Duplex | null {
    return this.#upstream
  }

  /** Whether the client has sent a close frame. */
  get clientClosed(): boolean {
    return this.#clientClosed
  }

  /** Whether the upstream has ended the connection in order. */
  get upstreamEnded(): boolean {
    return this.#upstreamEnded
  }

  /**
   * Reads the client, as the end of an unread connection is not seen. Early bytes are kept for the upstream.
   */
  watchClient(): void {
    const { client } = this
    for (const head of this.#early ?? []) this.#clientClosed = this.#watchForClose(head)
    client.on('data', (chunk: Buffer) => {
      this.#clientClosed = this.#watchForClose(chunk)
      this.#early?.push(chunk)
      this.#earlyBytes += chunk.length
      if (this.#upstream !== null) {
        this.#events.clientSent(chunk)
        this.#join(this.#upstream)
      } else if (this.#earlyBytes > EARLY_BYTES) client.pause()
    })
    client.on('end', () => this.#events.clientLeft(false))
    client.on('close', () => this.#events.clientLeft(true))
    client.resume()
  }

  /** No session begins: what the client sends is not kept for an upstream. */
  dropEarly(): void {
    this.#early = null
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
    upstream.on('data', (chunk: Buffer) => this.#events.upstreamSent(chunk))
    upstream.on('end', () => {
      this.#upstreamEnded = true
    })
    upstream.on('close', () => {
      client.end()
      this.#cutSoon(upstream)
      this.#events.upstreamClosed()
    })
    if (head.length > 0) {
      this.#events.upstreamSent(head)
      client.write(head)
    }
    upstream.pipe(client)
    for (const bytes of this.#early ?? []) if (bytes.length > 0) this.#events.clientSent(bytes)
    client.resume()
    this.#join(upstream)
  }

  /** Passes on what the client has sent, and whatever it sends from here on. */
  #join(upstream: Duplex): void {
    const early = this.#early
    if (early === null || this.#events.holdsClient) return
    this.#early = null
    for (const bytes of early) if (bytes.length > 0) upstream.write(bytes)
    // The end is passed on by hand: a response may be under way.
    this.client.pipe(upstream, { end: false })
  }

  /** From here on what comes from either side is read, and not passed on. */
  separate(): void {
    const upstream = this.#upstream
    if (upstream === null) return
    upstream.unpipe(this.client)
    this.client.unpipe(upstream)
    upstream.resume()
    this.client.resume()
  }

  /** Ends the client's side with a close frame. The upstream's bytes must not come behind it. */
  closeClient(code: number, reason?: string): void {
    this.separate()
    this.client.end(closeFrame(code, reason))
    destroyAfterGrace(this.client)
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
    if (!this.#clientClosed && !upstream.destroyed) upstream.write(maskedCloseFrame(GOING_AWAY))
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
