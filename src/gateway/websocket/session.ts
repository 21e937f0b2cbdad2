import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import type { CallRecord, OpenCall, Outcome } from '../../call/call-record.ts'
import { cleanModel } from '../../domain/clean-text.ts'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import { createCloseWatch } from '../../providers/wires/frames/close-watch.ts'
import type { Admission, AdmissionOptions } from '../admission/admission.ts'
import { buildOpenCall, openCall } from '../admission/open-call.ts'
import type { CallServices } from '../proxy/call-services.ts'
import { forwardableRequestHeaders, forwardableResponseHeaders } from '../proxy/headers.ts'
import type { CallResult } from '../recording/call-result.ts'
import { finalizeCall, finalizeEstimated } from '../recording/finalize-call.ts'
import { encodeUsageSnapshot } from '../recording/usage-snapshot.ts'
import { endpointContextOf } from '../routing/endpoint-context.ts'
import { closeFrame, maskedCloseFrame } from './close-frames.ts'
import { headText, refuse } from './refuse-handshake.ts'
import { relayRejection } from './rejected-handshake.ts'
import { SessionMeter } from './session-meter.ts'

export interface SessionOptions {
  readonly services: CallServices
  /** Milliseconds to wait for the upstream's answer to the handshake. */
  readonly handshakeTimeoutMs: number
  readonly admission: Pick<AdmissionOptions, 'now'>
}

/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
/** A side that was told the end and does not close its connection by then is cut. */
const CLOSING_MS = 2_000
/** What a client may send before its handshake is answered, which none has to; more waits in its socket. */
const EARLY_BYTES = 64 * 1024

/**
 * One session, from the handshake to its record. When it ends with a response under way, whoever ended it, the
 * upstream is read on for that response's usage; if that does not come, the record has an estimate of it and says so.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #client: Duplex
  readonly #head: Buffer
  readonly #admission: Admission
  #call: OpenCall
  readonly #onEnd: () => void
  readonly #ended = Promise.withResolvers<void>()
  readonly #watchForClose = createCloseWatch()
  /** Bytes that came before the handshake was answered. */
  #early: Buffer[] = []
  #handshake: ClientRequest | null = null
  #upstream: Duplex | null = null
  #meter: SessionMeter | null = null
  #status: number | null = null
  /** It sent a close frame. */
  #clientClosed = false
  /** It ended its connection, or we did. */
  #clientGone = false
  #upstreamEnded = false
  /** The client has gone, and the upstream is read on: how to say that this is over. */
  #continueUnattended: (() => void) | null = null
  #finalized = false

  constructor(
    options: SessionOptions,
    admission: Admission,
    client: Duplex,
    head: Buffer,
    onEnd: () => void,
  ) {
    this.#options = options
    this.#admission = admission
    this.#client = client
    this.#head = head
    this.#onEnd = onEnd
    this.#call = buildOpenCall(admission, options.admission.now())
  }

  get keyId(): string {
    return this.#call.keyId
  }

  start(): void {
    this.#watchClient()
    openCall(this.#call, this.#client, this.#options.services, (refusal) => {
      if (refusal === null) {
        this.#startHandshake()
        return
      }
      if (refusal !== 'gone') refuse(this.#client, this.#admission.request, refusal.error, refusal.detail)
      this.#release()
    })
  }

  /** Ends the session with `code`; resolves when its record is written. */
  close(code: number): Promise<void> {
    const client = this.#client
    const upstream = this.#upstream
    if (upstream === null || client.destroyed) {
      // Its handshake, if it was sent, ends with the connection, and the record is made there.
      client.destroy()
    } else if (!this.#finalized && this.#continueUnattended === null) {
      // Nothing of the upstream's may come behind the close frame.
      this.#separate(upstream)
      client.end(closeFrame(code))
      destroyAfterGrace(client)
      if (!this.#readOn(upstream)) this.#finish(upstream)
    }
    return this.#ended.promise
  }

  /** A connection that nobody reads does not show its end: what comes early is kept for the upstream. */
  #watchClient(): void {
    const client = this.#client
    this.#clientClosed = this.#watchForClose(this.#head)
    let earlyBytes = 0
    client.on('data', (chunk: Buffer) => {
      this.#clientClosed = this.#watchForClose(chunk)
      this.#meter?.clientSent(chunk)
      if (this.#upstream !== null || this.#finalized) return
      this.#early.push(chunk)
      earlyBytes += chunk.length
      if (earlyBytes > EARLY_BYTES) client.pause()
    })
    client.on('end', () => this.#clientLeft(false))
    client.on('close', () => this.#clientLeft(true))
    client.resume()
  }

  /** @param isClosed false: it has only ended its side of the connection */
  #clientLeft(isClosed: boolean): void {
    const upstream = this.#upstream
    if (this.#finalized || this.#continueUnattended !== null) return
    this.#clientGone = true
    if (upstream === null) {
      this.#client.destroy()
      this.#handshake?.destroy()
      if (this.#handshake !== null) this.#end('client_aborted')
      return
    }
    if (!this.#upstreamEnded && this.#readOn(upstream)) {
      this.#separate(upstream)
      this.#client.destroy()
    } else if (!isClosed) {
      upstream.end()
    } else {
      upstream.destroy()
      // Once the upstream has ended the session, the client's closing is only the echo.
      this.#end(this.#upstreamEnded ? 'complete' : 'client_aborted')
    }
  }

  /**
   * Goes on without the client for the response under way, if there is one. The upstream is not told yet: after a close
   * frame it would send no more.
   */
  #readOn(upstream: Duplex): boolean {
    const meter = this.#meter
    if (meter === null || !meter.underWay) return false
    const { unattended } = this.#options.services
    const { answerMs, usageMs } = unattended.limits
    const release = unattended.admit(this.#call.clientId, meter.mayHide ? answerMs : usageMs, () =>
      this.#finish(upstream),
    )
    this.#continueUnattended = release
    return release !== null
  }

  /** What comes from either side is read, and passed on no more. */
  #separate(upstream: Duplex): void {
    upstream.unpipe(this.#client)
    this.#client.unpipe(upstream)
    upstream.resume()
    this.#client.resume()
  }

  /** Nothing more is to be waited for: the upstream is told, and the session recorded. */
  #finish(upstream: Duplex): void {
    if (!this.#clientClosed && !upstream.destroyed) upstream.write(maskedCloseFrame(GOING_AWAY))
    upstream.end()
    this.#cutSoon(upstream)
    this.#end('client_aborted')
  }

  /** What still comes from either side is dropped, so that the end of the connection is seen behind it. */
  #cutSoon(upstream: Duplex): void {
    const client = this.#client
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

  #startHandshake(): void {
    const { upstream, target, dialect } = this.#admission.route
    const headers = forwardableRequestHeaders(this.#admission.request.rawHeaders, {
      host: upstream.host,
      credential: upstream.credential,
      // What answers in place of a session is read.
      askIdentity: dialect !== null,
      contentLength: null,
    })
    headers.push('connection', 'Upgrade', 'upgrade', 'websocket')
    const url = new URL(upstream.origin)
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const handshake = send({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: upstream.basePath + target.pathAndQuery,
      method: 'GET',
      headers,
      setDefaultHeaders: false,
      agent: false,
      timeout: this.#options.handshakeTimeoutMs,
      // Said outright, as for calls: no variable of the environment may send our credential to a stranger.
      rejectUnauthorized: true,
    })
    this.#handshake = handshake
    handshake.on('upgrade', (answer, socket, head) => this.#connectStreams(answer, socket, head))
    handshake.on('response', (answer) => this.#relayRejection(answer))
    handshake.on('timeout', () => {
      if (this.#status === null) this.#fail('upstream_timeout')
      handshake.destroy()
    })
    handshake.on('error', () => {
      if (this.#status === null) this.#fail('upstream_unreachable')
    })
    handshake.end()
  }

  #connectStreams(answer: IncomingMessage, upstream: Duplex, head: Buffer): void {
    upstream.on('error', () => upstream.destroy())
    if (answer.headers.upgrade?.toLowerCase() !== 'websocket') {
      // A protocol that nobody asked for, and nobody here can read.
      upstream.destroy()
      this.#fail('upstream_unreachable')
      return
    }
    const client = this.#client
    if (client.destroyed) {
      upstream.destroy()
      return
    }
    this.#status = answer.statusCode ?? 101
    this.#upstream = upstream
    const meter = this.#openMeter(answer)
    this.#meter = meter
    const headers = forwardableResponseHeaders(answer.rawHeaders, false)
    headers.push('connection', 'Upgrade', 'upgrade', 'websocket', 'x-tallygate-call-id', this.#call.callId)
    client.write(headText(this.#status, answer.statusMessage ?? 'Switching Protocols', headers), 'latin1')
    const read = (chunk: Buffer) => {
      if (this.#finalized) return
      meter?.push(chunk)
      if (this.#continueUnattended !== null && meter?.underWay === false) this.#finish(upstream)
    }
    upstream.on('data', read)
    upstream.on('end', () => {
      this.#upstreamEnded = true
    })
    upstream.on('close', () => this.#upstreamClosed(upstream))
    if (head.length > 0) {
      read(head)
      client.write(head)
    }
    for (const bytes of [this.#head, ...this.#early]) {
      if (bytes.length === 0) continue
      meter?.clientSent(bytes)
      upstream.write(bytes)
    }
    this.#early = []
    upstream.pipe(client)
    // The end is passed on by hand: a response may be under way.
    client.pipe(upstream, { end: false })
  }

  #upstreamClosed(upstream: Duplex): void {
    this.#client.end()
    this.#cutSoon(upstream)
    const isCut = !this.#upstreamEnded || this.#meter?.underWay === true
    const isClients = this.#clientClosed || this.#clientGone
    if (this.#continueUnattended !== null) this.#end('client_aborted')
    else this.#end(!isCut ? 'complete' : isClients ? 'client_aborted' : 'upstream_error')
  }

  /** Usage is in the messages the upstream sends; without a reader for this path only the session is counted. */
  #openMeter(answer: IncomingMessage): SessionMeter | null {
    const { route, caller } = this.#admission
    const { dialect } = route
    const { callId, clientId, provider, requestedModel } = this.#call
    const reader = dialect?.createMessageReader?.({
      method: 'GET',
      path: route.target.canonicalPath,
      model: requestedModel,
      stream: null,
    })
    if (dialect === null || reader === undefined) return null
    const { ledger, observer } = this.#options.services
    return new SessionMeter({
      dialect,
      reader,
      provider,
      clientId,
      requestedModel,
      onModel: (model) => {
        this.#call = { ...this.#call, requestedModel: cleanModel(model) }
      },
      extensions: answer.headers['sec-websocket-extensions'] ?? '',
      onNews: (observation) => {
        const snapshot = {
          // What the journal knows of the call is from before its client named the model.
          observation:
            requestedModel === null
              ? { ...observation, model: observation.model ?? this.#call.requestedModel }
              : observation,
          status: 101,
          clientName: caller.clientName,
          responseUse: 'created',
        } as const
        ledger.saveSnapshot(callId, encodeUsageSnapshot(snapshot))
      },
      onFailed: (error) => observer.readingFailed(provider, error),
    })
  }

  /** The upstream accepts no session: its answer is the client's, and a GET's. */
  #relayRejection(answer: IncomingMessage): void {
    this.#status = answer.statusCode ?? 502
    this.#finalized = true
    this.#early = []
    const rejected = { call: this.#call, admission: this.#admission, client: this.#client, answer }
    relayRejection(this.#options.services, rejected, () => this.#release())
  }

  #fail(error: 'upstream_timeout' | 'upstream_unreachable'): void {
    this.#end('upstream_error', () => refuse(this.#client, this.#admission.request, error))
  }

  #end(outcome: Outcome, afterwards: () => void = () => {}): void {
    if (this.#finalized) return
    this.#finalized = true
    this.#continueUnattended?.()
    const meter = this.#meter
    const result: CallResult = {
      call: this.#call,
      client: this.#admission.caller,
      endpoint: endpointContextOf(this.#admission.route.dialect),
      status: this.#status,
      outcome,
      observation: meter?.observation ?? null,
      // A session's length is no latency.
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    }
    const { pricing } = this.#options.services
    if (meter === null || !meter.underWay || result.observation?.usageSource === 'invalid') {
      this.#record(finalizeCall(result, pricing), afterwards)
      return
    }
    void meter.estimate().then((usage) => this.#record(finalizeEstimated(result, usage, pricing), afterwards))
  }

  #record(record: CallRecord, afterwards: () => void): void {
    const { ledger, observer } = this.#options.services
    ledger.close(record, () => {
      observer.callEnded(record)
      afterwards()
      this.#release()
    })
  }

  #release(): void {
    this.#onEnd()
    this.#ended.resolve()
  }
}
