import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { ErrorDetail, ErrorName } from './errors.ts'
import { errorBody } from './shapes/error-body.ts'
import { type ErrorShape, errorHeadersIn, errorStatus } from './shapes/error-shape.ts'

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
 * Whether bytes of a body may follow. While its head is handled, a request without a body is incomplete, too.
 */
function isBodyUnread({ headers, complete }: IncomingMessage): boolean {
  return !complete && (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)
}
