import type { Postgres } from '../../store/connection/postgres.ts'
import { renderAlert } from './alert-body.ts'
import { type ClaimedDelivery, claimDelivery, FIRST_PAUSE_MS, setDelivered, setFailed } from './deliveries.ts'
import { findAddress } from './receivers.ts'
import { type SendResult, sendAlert } from './send-alert.ts'

/** What came of a delivery that was due. */
export type Delivered =
  /** There was nothing to do: another worker does it, or it is done. */
  | { readonly kind: 'none' }
  | { readonly kind: 'delivered'; readonly delivery: ClaimedDelivery }
  | {
      readonly kind: 'failed'
      readonly delivery: ClaimedDelivery
      readonly error: string
      readonly againInMs: number | 'given_up'
    }

/**
 * Makes one attempt of one delivery, if it is due.
 *
 * 1. It is claimed in Postgres: of several workers that were given it, one sends.
 * 2. It is sent.
 * 3. What came of it is kept. A worker that is killed before sends again half a minute later, with the same id: a
 *    receiver that wants no alert twice remembers ids.
 *
 * @throws When Postgres is away.
 */
export async function deliver(pool: Postgres, id: string, firstPauseMs = FIRST_PAUSE_MS): Promise<Delivered> {
  const delivery = await claimDelivery(pool, id)
  if (delivery === null) return { kind: 'none' }
  const address = await findAddress(pool, delivery.receiverId)
  if (address === null) return { kind: 'none' }
  const sent = await sendAlert(address, id, renderAlert(delivery.alert, address.format))
  if (sent.kind !== 'delivered') return await keepFailure(pool, delivery, sent, firstPauseMs)
  await setDelivered(pool, id, sent.status)
  return { kind: 'delivered', delivery }
}

async function keepFailure(
  pool: Postgres,
  delivery: ClaimedDelivery,
  { kind, status, error }: Exclude<SendResult, { kind: 'delivered' }>,
  firstPauseMs: number,
): Promise<Delivered> {
  const againInMs = await setFailed(pool, delivery, { status, error, isFinal: kind === 'gone', firstPauseMs })
  return againInMs === null ? { kind: 'none' } : { kind: 'failed', delivery, error, againInMs }
}
