import type { CallRecord } from '../../../call/call-record.ts'
import type { CallCharge, Reservation } from '../limited-call.ts'

/**
 * A call's record is in the journal: what it used counts in place of what was reserved. Without a number the record
 * is in no journal (yet), and its cost comes with the totals, if ever: `release` gives back what was reserved.
 */
export function settleCall(reservation: Reservation | null, record: CallRecord, sequence: number): void {
  if (reservation !== null && sequence > 0) reservation.settle(chargesOf(record), sequence)
}

const NO_CHARGES: readonly CallCharge[] = []

/**
 * What a record adds to the totals for sure. A fetched response counts only the first time, and so do jobs that an
 * answer lists: only Postgres knows whether this is the first. To charge them here would refuse a client that polls.
 */
function chargesOf({ responseUse, responseId, model, costPico, usage }: CallRecord): readonly CallCharge[] {
  if (responseUse === 'fetched' && responseId !== null) return NO_CHARGES
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  const cost = costPico === null ? 0n : BigInt(costPico)
  if (tokens === 0 && cost === 0n) return NO_CHARGES
  return [{ model, costPico: cost, tokens, cachedTokens: usage.cacheReadTokens ?? 0 }]
}
