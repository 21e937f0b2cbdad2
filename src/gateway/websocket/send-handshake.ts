import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { errorHeaders } from '../../http/answer-error.ts'
import { UpstreamError } from '../../http/client/answer-handler.ts'
import { errorBody, errorHeadersIn, errorStatus } from '../../http/error-shape.ts'
import { ERRORS, type ErrorDetail, type ErrorName } from '../../http/errors.ts'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import type { Admission } from '../admission/admission.ts'
import type { AnswerRates } from '../admission/rate-headers.ts'
import { forwardableResponseHeaders } from '../proxy/headers/answer-headers.ts'
import { forwardableRequestHeaders } from '../proxy/headers/headers.ts'

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
  { request, route }: Admission,
  timeoutMs: number,
  events: HandshakeEvents,
): ClientRequest {
  const { upstream, target, dialect } = route
  const headers = forwardableRequestHeaders(request.rawHeaders, {
    host: upstream.host,
    credential: upstream.credential,
    // Frames are read as they come, as is an answer in the place of a session.
    askIdentity: dialect !== null,
    contentLength: null,
    ownsOrigins: upstream.ownsOrigins,
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
