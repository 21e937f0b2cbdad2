import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** From one piece of a body to the next, as other servers have it. */
const READ_IDLE_MS = 60_000
/** A client that takes nothing of what waits for it: as long as an upstream may be silent. */
const WRITE_IDLE_MS = 300_000
/** For a client to close its half of a connection that is over. */
const HALF_OPEN_MS = 2_000

// A socket's own timeout needs no further timer, restarts with every byte, and ends a connection that has no
// listener.

/** Ends the connection when nothing of the request's body comes for a minute. Returns how to stop that, once the body is read. */
export function setReadIdleTimeout({ socket }: IncomingMessage): () => void {
  socket.setTimeout(READ_IDLE_MS)
  return () => socket.setTimeout(0)
}

/**
 * As {@link setReadIdleTimeout}, until the body has ended, for one that goes upstream as it comes.
 *
 * @param isWanted false: the upstream takes no more just now, and the silence is not the client's.
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
 * Ends the connection when the client takes nothing of what was written for five minutes, until `event`: `drain`, or `finish` when
 * there is no more to come. Otherwise one that stays connected and never reads would hold its call, and the upstream's, for ever.
 */
export function setWriteIdleTimeout(response: ServerResponse, event: 'drain' | 'finish'): void {
  const { socket } = response
  if (socket === null) {
    // It waits for the answers before it on the same connection: until its turn the silence is not the client's.
    response.once('socket', () => setWriteIdleTimeout(response, event))
    return
  }
  socket.setTimeout(WRITE_IDLE_MS)
  // First, because at the end of an answer node sets the time for which the connection may be idle.
  response.prependOnceListener(event, () => socket.setTimeout(0))
}

/** After the last answer: what is still on its way is read, and a client that keeps its half open does not keep ours. */
export function destroyAfterGrace(socket: Duplex): void {
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), HALF_OPEN_MS)
  socket.once('close', () => clearTimeout(timer))
}
