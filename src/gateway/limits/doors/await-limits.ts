import type { LimitRefusal, Reservation } from '../limited-call.ts'

/** Where an answer goes: closed once the client has left. */
export interface AnsweredClient {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  removeListener(event: 'close', listener: () => void): unknown
}

/**
 * What `admitted` comes to, unless the client leaves before: then `gone`, at once, and what comes is given back.
 * Rejects as `admitted` does.
 */
export function awaitLimits(
  admitted: Promise<Reservation | LimitRefusal | null>,
  client: AnsweredClient,
): Promise<Reservation | LimitRefusal | 'gone' | null> {
  return new Promise((resolve, reject) => {
    let isGone = client.destroyed
    const onClose = () => {
      isGone = true
      resolve('gone')
    }
    if (isGone) onClose()
    else client.once('close', onClose)
    admitted.then((found) => {
      client.removeListener('close', onClose)
      if (!isGone) resolve(found)
      else if (isReservation(found)) found.release()
    }, reject)
  })
}

export function isReservation(found: Reservation | LimitRefusal | null): found is Reservation {
  return found !== null && !('error' in found)
}
