import type { CallRecord } from '../call/call-record.ts'
import type { CountedCall } from '../call/settlement.ts'
import { renameUnpriced } from '../objects/table/jobs-table.ts'
import type { NewObject } from '../objects/table/objects-table.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { addUsage } from '../usage/add-usage.ts'
import type { CallSink } from '../usage/calls/call-sink.ts'
import type { SettledCall } from '../usage/daily-key.ts'
import { addPrices } from '../usage/price-definitions.ts'
import { MAX_TOTALLED, totalByDay } from '../usage/total-by-day.ts'
import { readJobFiles } from './jobs/job-files.ts'
import { addMadeObjects } from './jobs/made-objects.ts'
import { settleJobs } from './jobs/settle-jobs.ts'
import { createLateRepricing, type LateRepricing } from './late-repricing.ts'
import { createModelLimit, type ModelLimit } from './model-limit.ts'
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
 * @param sink Where the single calls go.
 */
export async function countRecords(
  session: PostgresSession,
  records: readonly CallRecord[],
  sink: CallSink,
  { modelLimit, lateRepricing }: CountingMemory,
): Promise<CountedRecords> {
  const { made, jobsMadeAgain } = await addMadeObjects(session, records)
  const files = await readJobFiles(session, records)
  const once = await countResponsesOnce(session, files, jobsMadeAgain)
  const { calls, settled } = await settleJobs(session, once, files, made)
  const limited = await modelLimit.apply(session, calls)
  const noLonger = await underTheirModels(session, settled, made, limited.records)
  let callsSkipped = 0
  if (limited.records.length > 0) {
    // 5. In the order of the key: two shards cannot wait for one another in a circle.
    for (let from = 0; from < limited.records.length; from += MAX_TOTALLED) {
      const some = limited.records.slice(from, from + MAX_TOTALLED)
      await addUsage(session, totalByDay(some, from === 0 ? noLonger : []))
    }
    // 6. The single calls, where they are kept.
    callsSkipped = await sink.add(session, limited.records, noLonger)
    await addDefinitions(session, records)
    // Rows that 5 has locked: what a repricing gives to calls that come in after it.
    await lateRepricing.apply(session, limited.records)
  }
  return { callsSkipped, remember: limited.remember }
}

/**
 * The calls that are unpriced no longer, by the models that they are totalled under. For calls of this batch
 * the limit has just decided that model. Calls that are settled later are included.
 */
async function underTheirModels(
  session: PostgresSession,
  settled: readonly SettledCall[],
  made: readonly NewObject[],
  limited: readonly CountedCall[],
): Promise<readonly SettledCall[]> {
  const waiting = made.filter(({ unpricedAs }) => unpricedAs !== null)
  if (waiting.length === 0) return settled
  const modelOf = new Map(limited.map(({ callId, model }) => [callId, model]))
  const renamed = waiting.flatMap(({ upstream, foldedId, callId, unpricedAs }) => {
    const model = modelOf.get(callId) ?? unpricedAs
    return model === null || model === unpricedAs ? [] : [{ upstream, foldedId, callId, model }]
  })
  if (renamed.length > 0) await renameUnpriced(session, renamed)
  return settled.map((call) => ({ ...call, model: modelOf.get(call.callId) ?? call.model }))
}

async function addDefinitions(session: PostgresSession, records: readonly CallRecord[]): Promise<void> {
  const prices = records.flatMap(({ priceId, price, jobs }) =>
    jobs === undefined
      ? definitionOf(priceId, price)
      : jobs.flatMap((job) => definitionOf(job.priceId, job.price)),
  )
  if (prices.length > 0) await addPrices(session, prices)
}

function definitionOf(priceId: string | null, price: string | null): readonly NamedDefinition[] {
  return priceId !== null && price !== null && isJson(price) ? [{ priceId, definition: price }] : NONE
}

interface NamedDefinition {
  readonly priceId: string
  readonly definition: string
}

const NONE: readonly never[] = []

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
