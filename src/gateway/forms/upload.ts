import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable, type Transform } from 'node:stream'
import { setUploadIdleTimeout } from '../../http/socket-timeouts.ts'

/** Whether the request has a body; an announced length of 0 is none. */
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
 * Pipes what is left of the request through `body`: apart from the request's own stream, so that an
 * upstream's end does not take the client's connection with it.
 */
export function pipeUpload(request: IncomingMessage, body: Transform): Transform {
  setUploadIdleTimeout(request, () => !body.writableNeedDrain)
  request.on('close', () => {
    if (!request.complete) body.destroy(new Error('client left'))
  })
  return request.pipe(body)
}
