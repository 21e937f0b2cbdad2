import type { CallRecord } from '../src/domain/call-record.ts'
import { totalByDay } from '../src/domain/daily-usage.ts'
import { type UtcDay, utcDayOf } from '../src/domain/utc-day.ts'
import { addCalls } from '../src/store/add-calls.ts'
import { addUsage } from '../src/store/add-usage.ts'
import { addPrices } from '../src/store/ledger-transaction.ts'
import type { PostgresSession } from '../src/store/postgres.ts'
import { createLateRepricing, type LateRepricing } from './late-repricing.ts'
import { createModelLimit, type ModelLimit } from './model-limit.ts'
import { billCreators } from './object-owners.ts'
import { countResponsesOnce } from './responses-once.ts'

/** What the counting of records remembers between transactions. */
export interface CountingMemory {
  readonly modelLimit: ModelLimit
  readonly lateRepricing: LateRepricing
}

export function createCountingMemory(): CountingMemory {
  return { modelLimit: createModelLimit(), lateRepricing: createLateRepricing() }
}

export interface CountedRecords {
  /** Counted calls whose day has no partition. */
  readonly callsSkipped: number
  /** To be called after the commit. */
  readonly remember: () => void
}

/**
 * Brings records into the totals and `calls`, as steps 5 and 6 of docs/ledger.md, section 5, in the caller's
 * transaction, which must hold corrections out and see to it that each record comes once.
 *
 * @param days Those whose calls are kept.
 */
export async function countRecords(
  session: PostgresSession,
  records: readonly CallRecord[],
  days: ReadonlySet<UtcDay>,
  { modelLimit, lateRepricing }: CountingMemory,
): Promise<CountedRecords> {
  const once = await countResponsesOnce(session, records)
  const billed = await billCreators(session, once, records)
  const limited = await modelLimit.apply(session, billed)
  const kept = limited.records.filter(({ arrivedAtMs }) => days.has(utcDayOf(arrivedAtMs)))
  if (limited.records.length > 0) {
    // 5. In the order of the key: two shards cannot wait for one another in a circle.
    await addUsage(session, totalByDay(limited.records))
    // 6. The single calls, where their day is kept.
    if (kept.length > 0) await addCalls(session, kept)
    await addDefinitions(session, records)
    // Rows that 5 has locked: what a repricing gives to calls that come in after it.
    await lateRepricing.apply(session, limited.records)
  }
  return { callsSkipped: limited.records.length - kept.length, remember: limited.remember }
}

async function addDefinitions(session: PostgresSession, records: readonly CallRecord[]): Promise<void> {
  const prices = records.flatMap(({ priceId, price }) =>
    priceId !== null && price !== null && isJson(price) ? [{ priceId, definition: price }] : [],
  )
  if (prices.length > 0) await addPrices(session, prices)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
