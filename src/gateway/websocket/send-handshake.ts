import { type ClientRequest, request as httpRequest, type IncomingMessage, ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type AnswerController, UpstreamError } from '#http-client/answer-handler.ts'
import type { OpenCall } from '../../call/call-record.ts'
import { errorHeaders } from '../../http/answer-error.ts'
import { errorBody, errorHeadersIn, errorStatus } from '../../http/error-shape.ts'
import { ERRORS, type ErrorDetail, type ErrorName } from '../../http/errors.ts'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import { readingOf } from '../../providers/reading.ts'
import type { Admission } from '../admission/admission.ts'
import type { AnswerRates } from '../admission/rate-headers.ts'
import { credentialOf, signatureFor } from '../credentials/fetched-credential.ts'
import { type CallServices, Exchange } from '../proxy/exchange.ts'
import { forwardableResponseHeaders } from '../proxy/headers/answer-headers.ts'
import { forwardableRequestHeaders } from '../proxy/headers/headers.ts'
import { addressMapper } from '../proxy/own-addresses.ts'
import type { AttemptSpan } from '../tracing/call-span.ts'

/** What becomes of a handshake. After a `failed` another may follow, which says nothing new. */
export interface HandshakeEvents {
  /** The upstream changes the protocol; `head`: what came with its answer. */
  accepted(answer: IncomingMessage, upstream: Duplex, head: Buffer): void
  /** The upstream answers as to a plain request. */
  rejected(answer: IncomingMessage): void
  failed(error: 'upstream_timeout' | 'upstream_unreachable', cause: Error): void
}

/** Sends a client's handshake to its upstream. */
export function sendHandshake(
  { request, route, key }: Admission,
  timeoutMs: number,
  events: HandshakeEvents,
  attempt: AttemptSpan | null,
): ClientRequest {
  const { upstream, target, dialect } = route
  const headers = forwardableRequestHeaders(request.rawHeaders, {
    host: upstream.host,
    credential: credentialOf(upstream),
    passesCredentialsBeside: upstream.takesClients ? (key ?? '') : null,
    // Frames are read as they come, as is an answer in the place of a session.
    askIdentity: dialect !== null,
    contentLength: null,
    ownsOrigins: upstream.ownsOrigins,
    ...(attempt === null ? {} : { trace: attempt.headers }),
  })
  const path = upstream.basePath + target.pathAndQuery
  headers.push(
    ...signatureFor(upstream, 'GET', path, null, headers),
    'connection',
    'Upgrade',
    'upgrade',
    'websocket',
  )
  const url = new URL(upstream.origin)
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  const handshake = send({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    path,
    method: 'GET',
    headers,
    setDefaultHeaders: false,
    agent: false,
    timeout: timeoutMs,
    // Set here, as for calls: an environment variable must not have our credential sent to an unverified
    // server.
    rejectUnauthorized: true,
  })
  handshake.on('upgrade', (answer, socket, head) => events.accepted(answer, socket, head))
  handshake.on('response', (answer) => events.rejected(answer))
  handshake.on('timeout', () => {
    events.failed('upstream_timeout', new UpstreamError('headers_timeout', 'no answer to a handshake'))
    handshake.destroy()
  })
  handshake.on('error', (error) => events.failed('upstream_unreachable', error))
  handshake.end()
  return handshake
}

/** The head by which the client learns that its session begins, as bytes in latin1. */
export function acceptanceText(answer: IncomingMessage, callId: string, rates: AnswerRates | null): string {
  // Whether a page may open a session is not for an answer's headers to say.
  const head = { dropContentLength: false, rates, ownsOrigins: false }
  const headers = forwardableResponseHeaders(answer.rawHeaders, head)
  headers.push('connection', 'Upgrade', 'upgrade', 'websocket', 'x-tallygate-call-id', callId)
  return headText(answer.statusCode ?? 101, answer.statusMessage ?? 'Switching Protocols', headers)
}

/** The head of an answer, as bytes for the wire in latin1. */
function headText(status: number, message: string, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${message}\r\n`
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

/** Answers a handshake with an error of the gateway's own, and ends the connection. */
export function refuse(
  socket: Duplex,
  admission: Admission,
  name: ErrorName,
  detail: ErrorDetail = {},
): void {
  if (socket.destroyed) return
  const shape = admission.errorShape
  const body = JSON.stringify(errorBody(shape, name, detail))
  const headers = errorHeaders(body, { ...errorHeadersIn(shape, name, detail), connection: 'close' })
  socket.once('finish', () => destroyAfterGrace(socket))
  socket.end(headText(errorStatus(shape, name), ERRORS[name].type, headers) + body)
}

const PLAIN_GET = { method: 'GET', hasBody: false, webSocket: false }

interface RejectedHandshake {
  readonly call: OpenCall
  readonly admission: Admission
  readonly client: Duplex
  /** The upstream's answer, whose status is not 101. */
  readonly answer: IncomingMessage
  readonly attempt: AttemptSpan | null
}

/**
 * Passes on an answer that accepts no session. An upstream that ignores `Upgrade` saw a GET, and may answer
 * it with a response and its usage. So the call is read, priced and recorded as that GET.
 */
export function relayRejection(services: CallServices, rejected: RejectedHandshake, onEnd: () => void): void {
  const { client, answer, admission } = rejected
  const call: OpenCall = { ...rejected.call, webSocket: false }
  const { upstream, target } = admission.route
  const path = target.canonicalPath
  const { dialect } = readingOf(upstream.provider, PLAIN_GET, path)
  const response = new ServerResponse(admission.request)
  const exchange = new Exchange(services, {
    call,
    request: { method: 'GET', path, model: call.requestedModel, stream: null },
    client: admission.caller,
    arrivedAt: admission.arrivedAt,
    dialect,
    requestBody: null,
    requestBytes: 0,
    upperUse: null,
    response,
    stripUsageEvent: false,
    limits: admission.limits,
    errorShape: () => admission.errorShape,
    ownsOrigins: upstream.ownsOrigins,
    hasOurCredential: upstream.credential !== null || upstream.fetched !== null,
    rates: admission.rates,
    mapAddress: addressMapper(upstream, admission.request),
    span: admission.span,
    attemptSpan: rejected.attempt,
    onEnd,
  })
  // The server's parser has released the connection, so it cannot carry another request.
  response.shouldKeepAlive = false
  if (client instanceof Socket) response.assignSocket(client)
  client.on('drain', () => response.emit('drain'))
  response.on('finish', () => client.end(() => destroyAfterGrace(client)))
  // A server does the same for a client that ends its side before it has its answer.
  client.on('end', () => {
    if (!response.writableFinished) client.destroy()
  })
  client.on('close', () => {
    if (!response.writableFinished) exchange.clientLeft()
  })
  relayAnswer(answer, exchange)
}

/** Calls the handler of the call as the client of calls would. */
function relayAnswer(answer: IncomingMessage, call: Exchange): void {
  const controller: AnswerController = {
    aborted: false,
    paused: false,
    isWhole: false,
    reason: null,
    rawHeaders: answer.rawHeaders,
    pause: () => answer.pause(),
    resume: () => answer.resume(),
    abort(reason) {
      answer.destroy()
      call.onResponseError(controller, reason)
    },
  }
  call.onRequestStart(controller)
  call.onResponseStart(controller, answer.statusCode ?? 502, answer.headers, answer.statusMessage ?? '')
  answer.on('data', (chunk: Buffer) => call.onResponseData(controller, chunk))
  answer.on('error', () => {})
  answer.on('end', () => call.onResponseEnd(controller, null))
  // After the end of the answer, this changes nothing.
  answer.on('close', () => call.onResponseError(controller, new Error('the upstream broke off')))
}
