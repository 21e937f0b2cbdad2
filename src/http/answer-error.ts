import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { type ErrorShape, errorBody, errorHeadersIn, errorStatus } from './error-shape.ts'
import { ERRORS, type ErrorDetail, type ErrorName } from './errors.ts'
import { destroyAfterGrace } from './socket-timeouts.ts'

/** Answers with an error of the gateway's own, through Fastify. */
export function sendError(
  reply: FastifyReply,
  code: ErrorName,
  detail: ErrorDetail = {},
  shape: ErrorShape = 'openai',
): void {
  const { raw } = reply.request
  if (isBodyUnread(raw)) reply.header('connection', 'close')
  reply
    .headers(errorHeadersIn(shape, code, detail))
    .code(errorStatus(shape, code))
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(shape, code, detail)))
}

/** Answers with an error of the gateway's own on a response that Fastify no longer controls. */
export function writeError(
  response: ServerResponse,
  shape: ErrorShape,
  code: ErrorName,
  detail: ErrorDetail & { readonly callId?: string } = {},
): void {
  if (response.destroyed || response.headersSent) {
    cutAnswer(response)
    return
  }
  const body = JSON.stringify(errorBody(shape, code, detail))
  const headers = errorHeaders(body, errorHeadersIn(shape, code, detail))
  if (detail.callId !== undefined) headers.push('x-tallygate-call-id', detail.callId)
  // A connection whose request body was not read cannot carry another request.
  if (isBodyUnread(response.req)) headers.push('connection', 'close')
  response.writeHead(errorStatus(shape, code), headers)
  response.end(body)
}

/**
 * Closes the connection behind what was written of an answer. Those before it on the same connection come first: until
 * then it has no connection that Node would close.
 */
export function cutAnswer(response: ServerResponse): void {
  if (response.socket !== null || response.destroyed) response.destroy()
  else response.once('socket', () => setImmediate(() => response.destroy()))
}

/** The headers of an error: those of its JSON body, then its own. Name, value, name, value, ... */
export function errorHeaders(body: string, added: ErrorDetail['headers'] = {}): string[] {
  return [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    `${Buffer.byteLength(body)}`,
    ...Object.entries(added).flat(),
  ]
}

/**
 * Tells whether bytes of a body may follow. While its head is handled, a request without a body is incomplete, too.
 */
function isBodyUnread({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)
}

/**
 * Answers what Node's parser refused, in the shape of every other error. There is no request, only a socket.
 * For the `clientErrorHandler` of both listeners.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // An error below HTTP, such as a failed TLS handshake, has no request to answer.
  const isOfHttp = /^(?:HPE_|ERR_HTTP_)/.test(error.code ?? '')
  if (!isOfHttp || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const name =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'invalid_request'
  const body = JSON.stringify(errorBody('openai', name))
  const { status } = ERRORS[name]
  socket.once('finish', () => destroyAfterGrace(socket))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
