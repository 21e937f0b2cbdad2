import type { Logger } from '../../lib/logger.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { deliver } from './deliver.ts'
import { FIRST_PAUSE_MS, selectDueDeliveries } from './deliveries.ts'

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
