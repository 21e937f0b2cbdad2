import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ERRORS } from './errors.ts'
import { errorBody } from './shapes/error-body.ts'
import { destroyAfterGrace } from './socket-timeouts.ts'

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
