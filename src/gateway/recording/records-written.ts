import { setTimeout as delay } from 'node:timers/promises'
import type { LedgerStats } from '../../ledger/ledger.ts'
import { giveUpCounts } from '../estimation/estimate.ts'

/** A ledger, by what is under way in it. */
interface Ledger {
  stats(): Pick<LedgerStats, 'openCalls'>
}

/** After the last connection, the time to count the tokens of cut calls: a thread may have to start for it. */
const COUNT_GRACE_MS = 4_000
/** Then the time to write the records of those that were not counted. */
const WRITE_GRACE_MS = 1_000

/**
 * Waits until no call is open. What is not counted in time is estimated by its length: a call that is open still gets
 * its record from the process that adopts the journal, which knows nothing of what was delivered.
 */
export async function recordsWritten(
  ledger: Ledger,
  { countMs = COUNT_GRACE_MS, giveUp = giveUpCounts } = {},
): Promise<void> {
  if (await isIdle(ledger, countMs)) return
  giveUp()
  await isIdle(ledger, WRITE_GRACE_MS)
}

async function isIdle(ledger: Ledger, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (ledger.stats().openCalls > 0) {
    if (performance.now() >= deadline) return false
    await delay(10)
  }
  return true
}
