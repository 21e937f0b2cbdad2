import { randomUUID } from 'node:crypto'
import { randomBase62 } from '../domain/base62.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { renderAlert } from './alert-body.ts'
import { findAddress } from './receivers.ts'
import { type SendResult, sendAlert } from './send-alert.ts'

/** A sample that was sent, and what came back. */
export interface TestedReceiver {
  /** The sample's id as a delivery. */
  readonly delivery: string
  readonly result: SendResult
}

/** Sends a signed sample of the type `test` now, once. It is kept nowhere. `null`: there is no such receiver. */
export async function testReceiver(pool: Postgres, id: string): Promise<TestedReceiver | null> {
  const address = await findAddress(pool, id)
  if (address === null) return null
  const delivery = `dlv_${randomUUID().replaceAll('-', '')}`
  const sample = {
    id: `alt_${randomBase62(20)}`,
    kind: 'test',
    client: null,
    at: new Date(),
    payload: { message: 'This is a test of alerts: nothing has happened.' },
  }
  return { delivery, result: await sendAlert(address, delivery, renderAlert(sample, address.format)) }
}
