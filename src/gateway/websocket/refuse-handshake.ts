import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorHeaders, errorShapeOf } from '../../http/answer-error.ts'
import { ERRORS, type ErrorDetail, type ErrorName, errorBody } from '../../http/errors.ts'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'

/** The head of an answer, as bytes for the wire in latin1. */
export function headText(status: number, message: string, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${message}\r\n`
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

/** Answers a handshake with an error of the gateway's own, and ends the connection. */
export function refuse(
  socket: Duplex,
  request: IncomingMessage,
  name: ErrorName,
  detail: ErrorDetail = {},
): void {
  if (socket.destroyed) return
  const body = JSON.stringify(errorBody(errorShapeOf(request.url ?? ''), name, detail))
  const headers = errorHeaders(body, { ...detail.headers, connection: 'close' })
  socket.once('finish', () => destroyAfterGrace(socket))
  socket.end(headText(ERRORS[name].status, ERRORS[name].type, headers) + body)
}
