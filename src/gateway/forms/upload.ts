import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable, type Transform } from 'node:stream'
import { setUploadIdleTimeout } from '../../http/socket-timeouts.ts'

/** Whether the request has a body. An announced length of 0 is none. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0)
}

/** A body that goes upstream as it comes; `null`: there is none. */
export function streamedBody(request: IncomingMessage): Readable | null {
  if (!announcesBody(request)) return null
  return pipeUpload(request, new PassThrough())
}

/**
 * Pipes the rest of the request through `body`. This separates it from the request's own stream: otherwise an
 * upstream that closes would take the client's connection with it.
 */
export function pipeUpload(request: IncomingMessage, body: Transform): Transform {
  setUploadIdleTimeout(request, () => !body.writableNeedDrain)
  request.on('close', () => {
    if (!request.complete) body.destroy(new Error('client left'))
  })
  return request.pipe(body)
}
