import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** The longest time from one piece of a request's body to the next. Other servers have the same. */
const READ_IDLE_MS = 60_000
/** The longest time in which a client reads nothing of its answer. An upstream may be idle for as long. */
const WRITE_IDLE_MS = 300_000
/** The time that a client has to close its half of a connection that has ended. */
const HALF_OPEN_MS = 2_000

// A socket's own timeout needs no further timer, restarts with every byte, and ends a connection that has no
// listener.

/**
 * Ends the connection when no byte of the request's body comes for a minute. The result stops that, once the
 * body is read.
 */
export function setReadIdleTimeout({ socket }: IncomingMessage): () => void {
  socket.setTimeout(READ_IDLE_MS)
  return () => socket.setTimeout(0)
}

/**
 * As {@link setReadIdleTimeout}, for a body that goes upstream as it comes; ends with the body.
 *
 * @param isWanted false while the upstream takes no more bytes: then the client is not the one that is idle.
 */
export function setUploadIdleTimeout(request: IncomingMessage, isWanted: () => boolean): void {
  const endLimit = setReadIdleTimeout(request)
  const onTimeout = () => {
    if (isWanted()) request.socket.destroy()
    else setReadIdleTimeout(request)
  }
  request.on('timeout', onTimeout)
  request.once('end', () => {
    request.off('timeout', onTimeout)
    endLimit()
  })
}

/**
 * Ends the connection when the client reads nothing of what was written for five minutes. Otherwise a client
 * that stays connected and never reads would hold its call, and the upstream's connection, for ever.
 *
 * @param event ends the limit: `drain`, or `finish` for the last bytes.
 * @param emitter of the event: the response, or its connection where pieces are written to that.
 */
export function setWriteIdleTimeout(
  response: ServerResponse,
  event: 'drain' | 'finish',
  emitter: EventEmitter = response,
): void {
  const { socket } = response
  if (socket === null) {
    // Earlier answers on the same connection come first: until this one's turn, the client has nothing to
    // read.
    response.once('socket', () => setWriteIdleTimeout(response, event, emitter))
    return
  }
  socket.setTimeout(WRITE_IDLE_MS)
  // Before Node's own listener, which sets the time for which a connection may be idle after an answer.
  emitter.prependOnceListener(event, () => socket.setTimeout(0))
}

/**
 * After the last answer: reads what is still on its way, and destroys a connection whose client keeps its
 * half open.
 */
export function destroyAfterGrace(socket: Duplex): void {
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), HALF_OPEN_MS)
  socket.once('close', () => clearTimeout(timer))
}
