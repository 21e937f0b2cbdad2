import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { ERRORS, type ErrorDetail, type ErrorName, type ErrorShape, errorBody } from './errors.ts'

// Before a call is routed, only its path tells which client libraries will read the error.
const ANTHROPIC_PATH = /\/v1\/(?:messages|complete)(?:$|[/?])/i

/** The error shape that the client library behind `path` understands. */
export function errorShapeOf(path: string): ErrorShape {
  return ANTHROPIC_PATH.test(path) ? 'anthropic' : 'openai'
}

/** Answers with an error of the gateway's own, through Fastify. */
export function sendError(reply: FastifyReply, code: ErrorName, detail: ErrorDetail = {}): void {
  const { raw } = reply.request
  if (isBodyUnread(raw)) reply.header('connection', 'close')
  if (detail.headers !== undefined) reply.headers(detail.headers)
  reply
    .code(ERRORS[code].status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(errorShapeOf(raw.url ?? ''), code, detail)))
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
  const headers = errorHeaders(body, detail.headers)
  if (detail.callId !== undefined) headers.push('x-tallygate-call-id', detail.callId)
  // A connection whose request body was not read cannot carry another request.
  if (isBodyUnread(response.req)) headers.push('connection', 'close')
  response.writeHead(ERRORS[code].status, headers)
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
