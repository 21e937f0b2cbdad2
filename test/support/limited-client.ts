import { expect } from 'vitest'
import { addReceiver, removeReceiver } from '../../src/alerts/receivers.ts'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { type ReceivedAlert, startReceiver, status } from '../alerts/receiver.ts'

/** A deployment of other processes. */
export interface LimitedDeployment {
  /** Of its gateway. */
  readonly url: string
  readonly pool: Postgres
  readonly pepper: string
  /** Of `/v1/chat/completions`. */
  readonly body: object
}

const NAME = 'limited'
const WHO = 'limited-client'
const REQUESTS = 2
/** A worker looks every 15 s, and a delivery that failed comes again after 10 s. */
const DELIVERED_WITHIN_MS = 90_000

/**
 * Holds that limits and alerts work, whatever rights and servers the deployment has: a client with a budget and requests a
 * minute is refused by both, refusals are counted, and a receiver that fails at first takes the alert once. Two calls of
 * the client are counted beside those of the deployment.
 *
 * @returns The client's id.
 */
export async function expectLimitsAndAlerts({ url, pool, pepper, body }: LimitedDeployment): Promise<string> {
  const client = await createClient(pool, NAME)
  const order = { client: NAME, name: 'default', models: null, expiresInSeconds: null }
  const key = (await createClientKey(pool, order, pepper))?.key ?? ''
  if (client === null) throw new Error(`${NAME} exists`)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const scope = { clientId: client.id, keyId: null, model: null }

  /** @returns Its status, and the error's code. */
  const call = async (): Promise<readonly unknown[]> => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const { error } = (await answer.json()) as { readonly error?: { readonly code: string } }
    return [answer.status, error?.code]
  }
  const shown = async () => {
    const answer = await fetch(`${url}/v1/usage?include=limits`, { headers })
    const { limits = [] } = (await answer.json()) as { readonly limits?: readonly Record<string, unknown>[] }
    return limits.map(({ kind }) => kind).sort()
  }
  const receiver = await startReceiver()
  try {
    let isFirst = true
    receiver.answer((alert, response) => {
      status(isFirst ? 500 : 200)(alert, response)
      isFirst = false
    })
    const alerts = { url: receiver.url, kinds: ['budget'], format: 'generic', client: NAME } as const
    const added = await addReceiver(pool, { ...alerts, thresholds: [100], secret: null }, WHO)

    await setLimits(
      pool,
      scope,
      [{ kind: 'requests', per: null, isSoft: false, amount: BigInt(REQUESTS) }],
      WHO,
    )
    await expect.poll(shown).toEqual(['requests'])
    for (let calls = 0; calls < REQUESTS; calls += 1) expect(await call()).toEqual([200, undefined])
    expect(await call()).toEqual([429, 'rate_limit_exceeded'])

    // All of it is spent already: the counted calls and those that are not counted yet.
    const orders = [
      { kind: 'budget', per: 'month', isSoft: false, amount: 1n },
      { kind: 'requests', per: null, isSoft: false, amount: 1_000n },
    ] as const
    await setLimits(pool, scope, orders, WHO)
    await expect.poll(shown).toEqual(['budget', 'requests'])
    await expect.poll(call).toEqual([429, 'budget_exceeded'])

    const refusals = async () => {
      const sql = 'select reason from tallygate.refusals where client_id = $1 order by reason'
      return (await pool.query<{ reason: string }>(sql, [client.id])).rows.map(({ reason }) => reason)
    }
    await expect.poll(refusals).toEqual(['budget', 'requests'])
    const deliveries = async () => {
      const sql = 'select state, attempts from tallygate.alert_deliveries where receiver_id = $1'
      return (await pool.query(sql, [added?.id])).rows
    }
    await expect
      .poll(deliveries, { timeout: DELIVERED_WITHIN_MS })
      .toEqual([{ state: 'delivered', attempts: 2 }])
    const idOf = ({ headers: sent }: ReceivedAlert) => sent['x-tallygate-delivery']
    expect(receiver.received).toHaveLength(2)
    expect(new Set(receiver.received.map(idOf)).size).toBe(1)
    expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({ type: 'budget', client: NAME })
    expect(await removeReceiver(pool, added?.id ?? '', WHO)).not.toBeNull()
  } finally {
    await receiver.stop()
  }
  return client.id
}
