import { setTimeout as delay } from 'node:timers/promises'
import type { Ledger } from '../../ledger/ledger.ts'

/** After the last connection, the time to write the records of cut calls: their tokens may be estimated. */
const RECORD_GRACE_MS = 5_000

/** Waits until no call is open; a call that still is gets its record from the process that adopts the journal. */
export async function recordsWritten(ledger: Pick<Ledger, 'stats'>): Promise<void> {
  const deadline = performance.now() + RECORD_GRACE_MS
  while (ledger.stats().openCalls > 0 && performance.now() < deadline) await delay(10)
}
