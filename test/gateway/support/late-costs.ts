import { expect } from 'vitest'
import { verifyLedger } from '../../../src/corrections/verify.ts'
import type { TestClient, TestStack } from '../../support/servers/stack.ts'

/** How many calls in the client's totals have no cost. */
export async function countUnpriced({ pool }: TestStack, client: TestClient): Promise<number> {
  const { rows } = await pool.query<{ unpriced: number }>(
    'select coalesce(sum(unpriced), 0)::int as unpriced from tallygate.daily_usage where client_id = $1',
    [client.id],
  )
  return rows[0]?.unpriced ?? Number.NaN
}

/** The totals are those of the calls, and each call is in them once. */
export async function expectSoundLedger({ pool }: TestStack): Promise<void> {
  const { differences, proof } = await verifyLedger(pool, '2020-01-01')
  expect(differences).toEqual([])
  expect(proof.totals).toBe(proof.counted)
}
