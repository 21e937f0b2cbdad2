import type { Duplex } from 'node:stream'
import { errorHeaders } from '../../http/answer-error.ts'
import { ERRORS, type ErrorDetail, type ErrorName } from '../../http/errors.ts'
import { errorBody } from '../../http/shapes/error-body.ts'
import { errorHeadersIn, errorStatus } from '../../http/shapes/error-shape.ts'
import { destroyAfterGrace } from '../../http/socket-timeouts.ts'
import type { Admission } from '../admission/admission.ts'

/** The head of an answer, as bytes for the wire in latin1. */
export function headText(status: number, message: string, headers: readonly string[]): string {
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
