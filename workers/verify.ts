import { verifyLedger } from '../src/corrections/verify.ts'
import type { Logger } from '../src/lib/logger.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'
import { selectCallDays } from '../src/usage/calls/call-partitions.ts'

/** Differences that are named in the log; `ledger verify` names all. */
const NAMED = 20

/** The nightly audit: the totals of all days whose calls are kept, recomputed. Differences are errors in the log. */
export async function verify(pool: Postgres, log: Logger): Promise<void> {
  const [oldest] = [...(await selectCallDays(pool))].sort()
  if (oldest === undefined) return
  const { differences, proof, rows, calls } = await verifyLedger(pool, oldest)
  for (const { key, column, stored, recomputed, against } of differences.slice(0, NAMED)) {
    log.error(
      { event: 'verify.row_differs', ...key, column, stored, recomputed, against },
      'a total differs from what it is made of',
    )
  }
  if (proof.totals !== proof.counted) {
    const { counted, totals } = proof
    log.error(
      { event: 'verify.requests_differ', counted: `${counted}`, totals: `${totals}` },
      'the marks of the producers and the totals differ in how many requests there were',
    )
  }
  const isRight = differences.length === 0 && proof.totals === proof.counted
  const context = { differences: differences.length, rows, calls: Number(calls), since: oldest }
  if (isRight)
    log.info(
      { event: 'verify.passed', ...context },
      'verified: the totals are what their calls, prices and adjustments make',
    )
  else log.error({ event: 'verify.failed', ...context }, 'the totals are not right: see ledger verify')
}
