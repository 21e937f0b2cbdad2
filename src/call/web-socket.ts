import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { MessageReader } from '../dialects/dialect.ts'
import { createFrameReader, type FrameReader } from '../dialects/wires/websocket-frames.ts'
import { buildCallRecord, cleanModel, cleanPath } from '../domain/build-call-record.ts'
import { newCallId } from '../domain/call-id.ts'
import type { OpenCall, Outcome } from '../domain/call-record.ts'
import type { Caller, CallerLookup } from '../domain/caller.ts'
import { ERRORS, type ErrorName, errorBody } from '../errors.ts'
import { errorShapeOf } from './answer-error.ts'
import { findCredential, refusalOf } from './authenticate.ts'
import { readCallTarget } from './call-target.ts'
import { letGoSoon } from './client-silence.ts'
import { endpointFactsOf } from './endpoint-facts.ts'
import { forwardableRequestHeaders, forwardableResponseHeaders } from './headers.ts'
import { mayUseModel } from './may-use-model.ts'
import type { PathPolicy } from './path-policy.ts'
import type { ProxiedCallParts } from './proxied-call.ts'
import { modelInQuery, type Route, routeCall } from './route.ts'
import { encodeSeen } from './seen.ts'
import { settle } from './settle.ts'
import type { UpstreamTable } from './upstream-table.ts'

export interface WebSocketOptions extends ProxiedCallParts {
  readonly basePath: string
  readonly upstreams: UpstreamTable
  readonly pathPolicy: PathPolicy
  readonly findCaller: (key: string) => CallerLookup | Promise<CallerLookup>
  /** Calls back when a key stops being active; returns how to stop listening. */
  readonly onDeactivated: (listener: (keyId: string) => void) => () => void
  /** Milliseconds to wait for the upstream's answer to the handshake. */
  readonly handshakeTimeoutMs: number
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/** The open sessions of a server: what a stopping process has to end. */
export interface WebSocketSessions {
  readonly count: number
  /** Closes them all (1001, going away); resolves when their records are written. */
  closeAll(): Promise<void>
}

const HANDSHAKE = { method: 'GET', hasBody: false, webSocket: true }

/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008
/** A side that was told the end and does not close its connection by then is cut. */
const CLOSING_MS = 2_000
/** What a client may send before its handshake is answered, which none has to; more waits in its socket. */
const EARLY_BYTES = 64 * 1024

/**
 * Sessions go through as the bytes they are: the handshake is the upstream's to accept or refuse, then both directions are joined,
 * with their own back-pressure, and the upstream's frames are watched for usage.
 */
export function acceptWebSockets(server: Server, options: WebSocketOptions): WebSocketSessions {
  const sessions = new Set<Session>()
  options.onDeactivated((keyId) => {
    for (const session of sessions) if (session.keyId === keyId) session.close(POLICY_VIOLATION)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    void admit(request, options).then(
      (admitted) => {
        if (typeof admitted === 'string') {
          refuse(socket, request, admitted)
          return
        }
        if (socket.destroyed) return
        const session = new Session(options, request, socket, head, admitted, () => sessions.delete(session))
        sessions.add(session)
        session.start()
      },
      (error: unknown) => {
        options.observer.readingFailed('websocket', error)
        refuse(socket, request, 'internal_error')
      },
    )
  })
  return {
    get count() {
      return sessions.size
    },
    async closeAll() {
      await Promise.all([...sessions].map((session) => session.close(GOING_AWAY)))
    },
  }
}

interface Admitted {
  readonly caller: Caller
  readonly route: Route
}

async function admit(request: IncomingMessage, options: WebSocketOptions): Promise<Admitted | ErrorName> {
  const credential = findCredential(request)
  if (credential.kind === 'ambiguous') return 'invalid_request'
  if (credential.kind === 'none') return 'invalid_api_key'
  const lookup = await options.findCaller(credential.key)
  if (lookup.kind !== 'active') return refusalOf(lookup) ?? 'invalid_api_key'
  const target = readCallTarget(credential.url, options.basePath)
  if (typeof target === 'string') return target
  if (!options.ledger.canTakeCalls) return 'metering_unavailable'
  const found = routeCall(options.upstreams, HANDSHAKE, target)
  if (found === null) return 'invalid_request'
  const queried = modelInQuery(target.pathAndQuery)
  const route = found.needsModel ? found.withModel(queried) : found
  if (!options.pathPolicy.permits(lookup.caller, 'GET', false, route)) return 'path_not_allowed'
  // Other sessions name models in their messages, which nobody holds against the key.
  const inQuery = /\/realtime$/i.test(target.canonicalPath) ? queried : null
  const named = { ...route, modelInPath: route.modelInPath ?? inQuery }
  if (!mayUseModel(lookup.caller, named, null)) return 'model_not_allowed'
  return { caller: lookup.caller, route }
}

/** One session, from the handshake to its record. */
class Session {
  readonly #options: WebSocketOptions
  readonly #request: IncomingMessage
  readonly #client: Duplex
  readonly #head: Buffer
  readonly #admitted: Admitted
  readonly #call: OpenCall
  readonly #onEnd: () => void
  readonly #ended = Promise.withResolvers<void>()
  /** Bytes that came before the handshake was answered. */
  #early: Buffer[] = []
  #handshake: ClientRequest | null = null
  #upstream: Duplex | null = null
  #reader: MessageReader | null = null
  #revision = 0
  #status: number | null = null
  #upstreamEnded = false
  #settled = false

  constructor(
    options: WebSocketOptions,
    request: IncomingMessage,
    client: Duplex,
    head: Buffer,
    admitted: Admitted,
    onEnd: () => void,
  ) {
    this.#options = options
    this.#request = request
    this.#client = client
    this.#head = head
    this.#admitted = admitted
    this.#onEnd = onEnd
    const { caller, route } = admitted
    const model = route.modelInPath ?? modelInQuery(route.target.pathAndQuery)
    this.#call = {
      callId: newCallId(options.now()),
      arrivedAtMs: options.now(),
      clientId: caller.clientId,
      keyId: caller.keyId,
      upstream: route.upstream.name,
      provider: route.upstream.provider,
      method: 'GET',
      path: cleanPath(route.target.path),
      requestedModel: cleanModel(model),
      webSocket: true,
    }
  }

  get keyId(): string {
    return this.#call.keyId
  }

  start(): void {
    const { ledger, observer } = this.#options
    this.#watchClient()
    ledger.open(this.#call, (error) => {
      if (error !== null) {
        refuse(this.#client, this.#request, 'metering_unavailable')
        this.#forget()
      } else if (this.#client.destroyed) {
        ledger.discard(this.#call.callId)
        this.#forget()
      } else {
        observer.callStarted(this.#call)
        this.#shakeHands()
      }
    })
  }

  /** Ends the session with `code`; resolves when its record is written. */
  close(code: number): Promise<void> {
    const client = this.#client
    const upstream = this.#upstream
    if (upstream === null || client.destroyed) {
      // Its handshake, if it was sent, ends with the connection, and the record is made there.
      client.destroy()
    } else {
      // Nothing of the upstream's may come behind the close frame.
      upstream.unpipe(client)
      client.unpipe(upstream)
      client.end(closeFrame(code))
      upstream.end()
      this.#cutSoon(upstream)
      this.#end('client_aborted')
    }
    return this.#ended.promise
  }

  /** A connection that nobody reads does not show its end: what comes early is kept for the upstream. */
  #watchClient(): void {
    const client = this.#client
    let earlyBytes = 0
    client.on('data', (chunk: Buffer) => {
      if (this.#upstream !== null) return
      this.#early.push(chunk)
      earlyBytes += chunk.length
      if (earlyBytes > EARLY_BYTES) client.pause()
    })
    client.on('end', () => {
      if (this.#upstream === null) client.destroy()
    })
    client.on('close', () => {
      this.#handshake?.destroy()
      this.#upstream?.destroy()
      // Once the upstream has ended the session, the client's closing is only the echo.
      if (this.#handshake !== null) this.#end(this.#upstreamEnded ? 'complete' : 'client_aborted')
    })
    client.resume()
  }

  /** What still comes from either side is dropped, so that the end of the connection is seen behind it. */
  #cutSoon(upstream: Duplex): void {
    const client = this.#client
    const timer = setTimeout(() => {
      client.destroy()
      upstream.destroy()
    }, CLOSING_MS)
    client.on('close', () => clearTimeout(timer))
    client.resume()
    upstream.resume()
  }

  #shakeHands(): void {
    const { upstream, target } = this.#admitted.route
    const headers = forwardableRequestHeaders(this.#request.rawHeaders, {
      host: upstream.host,
      credential: upstream.credential,
      askIdentity: false,
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
    handshake.on('upgrade', (answer, socket, head) => this.#join(answer, socket, head))
    handshake.on('response', (answer) => this.#passRefusal(answer))
    handshake.on('timeout', () => {
      if (this.#status === null) this.#fail('upstream_timeout')
      handshake.destroy()
    })
    handshake.on('error', () => {
      if (this.#status === null) this.#fail('upstream_unreachable')
    })
    handshake.end()
  }

  #join(answer: IncomingMessage, upstream: Duplex, head: Buffer): void {
    this.#status = answer.statusCode ?? 101
    this.#upstream = upstream
    const client = this.#client
    if (client.destroyed) {
      upstream.destroy()
      return
    }
    const frames = this.#openReader(answer)
    const headers = forwardableResponseHeaders(answer.rawHeaders, false)
    headers.push('connection', 'Upgrade', 'upgrade', 'websocket', 'x-tallygate-call-id', this.#call.callId)
    client.write(headText(this.#status, answer.statusMessage ?? 'Switching Protocols', headers), 'latin1')
    upstream.on('error', () => upstream.destroy())
    upstream.on('data', (chunk: Buffer) => frames?.push(chunk))
    upstream.on('end', () => {
      this.#upstreamEnded = true
    })
    upstream.on('close', () => {
      client.end()
      this.#cutSoon(upstream)
      this.#end(this.#upstreamEnded ? 'complete' : 'upstream_error')
    })
    if (head.length > 0) {
      frames?.push(head)
      client.write(head)
    }
    for (const bytes of [this.#head, ...this.#early]) if (bytes.length > 0) upstream.write(bytes)
    this.#early = []
    upstream.pipe(client)
    client.pipe(upstream)
  }

  /** Usage is in the messages the upstream sends; without a reader for this path only the session is counted. */
  #openReader(answer: IncomingMessage): FrameReader | null {
    const { route } = this.#admitted
    const reader = route.dialect?.createMessageReader?.({
      method: 'GET',
      path: route.target.canonicalPath,
      model: this.#call.requestedModel,
      stream: null,
    })
    if (reader === undefined) return null
    this.#reader = reader
    const extensions = answer.headers['sec-websocket-extensions'] ?? ''
    return createFrameReader({
      deflate: extensions.includes('permessage-deflate'),
      serverNoContextTakeover: extensions.includes('server_no_context_takeover'),
      onMessage: (bytes) => this.#read(reader, bytes),
    })
  }

  #read(reader: MessageReader, bytes: Uint8Array): void {
    if (this.#settled || this.#reader === null) return
    try {
      reader.message(bytes)
      if (reader.revision === this.#revision) return
      this.#revision = reader.revision
      const { clientName } = this.#admitted.caller
      const seen = { observation: reader.peek(), status: 101, clientName, responseUse: 'created' } as const
      this.#options.ledger.note(this.#call.callId, encodeSeen(seen))
    } catch (error) {
      this.#reader = null
      this.#options.observer.readingFailed(this.#call.provider, error)
    }
  }

  /** The upstream refused the handshake: its answer is the client's. */
  #passRefusal(answer: IncomingMessage): void {
    this.#status = answer.statusCode ?? 502
    const client = this.#client
    const headers = forwardableResponseHeaders(answer.rawHeaders, false)
    headers.push('connection', 'close', 'x-tallygate-call-id', this.#call.callId)
    client.write(headText(this.#status, answer.statusMessage ?? '', headers), 'latin1')
    answer.on('data', (chunk: Buffer) => {
      if (!client.write(chunk)) {
        answer.pause()
        client.once('drain', () => answer.resume())
      }
    })
    answer.on('close', () =>
      this.#end(answer.complete ? 'complete' : 'upstream_error', () => client.end(() => letGoSoon(client))),
    )
  }

  #fail(error: 'upstream_timeout' | 'upstream_unreachable'): void {
    this.#end('upstream_error', () => refuse(this.#client, this.#request, error))
  }

  #end(outcome: Outcome, afterwards: () => void = () => {}): void {
    if (this.#settled) return
    this.#settled = true
    const { ledger, pricing, observer } = this.#options
    const end = settle(
      {
        call: this.#call,
        clientName: this.#admitted.caller.clientName,
        endpoint: endpointFactsOf(this.#admitted.route.dialect),
        status: this.#status,
        outcome,
        observation: this.#reader?.peek() ?? null,
        // A session's length is no latency.
        latencyUs: null,
        ttftUs: null,
        estimates: null,
      },
      pricing,
    )
    const record = buildCallRecord(this.#call, end)
    ledger.close(record, () => {
      observer.callEnded(record)
      afterwards()
      this.#forget()
    })
  }

  #forget(): void {
    this.#onEnd()
    this.#ended.resolve()
  }
}

/** An unmasked close frame, as a server sends it. */
function closeFrame(code: number): Buffer {
  return Buffer.from([0x88, 2, code >> 8, code & 0xff])
}

function headText(status: number, message: string, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${message}\r\n`
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

function refuse(socket: Duplex, request: IncomingMessage, name: ErrorName): void {
  if (socket.destroyed) return
  const body = JSON.stringify(errorBody(errorShapeOf(request.url ?? ''), name))
  socket.once('finish', () => letGoSoon(socket))
  socket.end(
    headText(ERRORS[name].status, ERRORS[name].type, [
      'content-type',
      'application/json; charset=utf-8',
      'content-length',
      `${Buffer.byteLength(body)}`,
      'connection',
      'close',
    ]) + body,
  )
}
