import type { Logger } from '../lib/logger.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { renderAlert } from './alert-body.ts'
import {
  type ClaimedDelivery,
  claimDelivery,
  FIRST_PAUSE_MS,
  selectDueDeliveries,
  setDelivered,
  setFailed,
} from './deliveries.ts'
import { findAddress } from './receivers.ts'
import { type SendResult, sendAlert } from './send-alert.ts'

export interface DeliverOptions {
  readonly pool: Postgres
  readonly log: Logger
  /** Between the first attempt of a delivery and the second. */
  readonly firstPauseMs?: number | undefined
}

/** Receivers that do not answer hold up so many others at most. */
export const DELIVERIES_AT_ONCE = 8
/** Deliveries that are looked for at once. */
export const SWEPT = 500

/**
 * Makes one attempt of one delivery, if it is due, and logs what came of it.
 *
 * @returns In how many milliseconds it is to be tried again; `null`: it is not. Rejects when Postgres is away.
 */
export async function deliverOne(options: DeliverOptions, id: string): Promise<number | null> {
  const { pool, log, firstPauseMs = FIRST_PAUSE_MS } = options
  const done = await deliver(pool, id, firstPauseMs)
  if (done.kind === 'none') return null
  const { attempts, receiverId: receiver, alert } = done.delivery
  const context = { delivery: id, receiver, alert: alert.id, kind: alert.kind, attempts }
  if (done.kind === 'delivered') {
    log.info({ event: 'alerts.delivered', ...context }, 'an alert was delivered')
    return null
  }
  const { error, againInMs } = done
  if (againInMs === 'given_up') {
    log.error({ event: 'alerts.given_up', ...context, error }, 'an alert is not delivered any more')
    return null
  }
  if (attempts === 1)
    log.warn(
      { event: 'alerts.not_delivered', ...context, error },
      'an alert could not be delivered; it is tried again for a day',
    )
  return againInMs
}

/** Makes an attempt of each that is due, without the queue. `isStopped`: begins no other. Rejects without Postgres. */
export async function deliverDue(options: DeliverOptions, isStopped: () => boolean): Promise<void> {
  const next = (await selectDueDeliveries(options.pool, SWEPT)).values()
  const deliverAll = async () => {
    for (const id of next) {
      if (isStopped()) return
      await deliverOne(options, id)
    }
  }
  await Promise.all(Array.from({ length: DELIVERIES_AT_ONCE }, deliverAll))
}

/** What came of a delivery that was due. */
type Delivered =
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
