import type { CallRecord, CountedCall } from '../call/call-record.ts'
import { addEntries } from '../corrections/adjustments.ts'
import { parsedJson } from '../domain/json.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { UtcMonth } from '../domain/utc-month.ts'
import { addCharges } from '../limits/spent/charges.ts'
import { addRouteSpending } from '../limits/spent/route-spending.ts'
import { addValueSpending } from '../limits/spent/value-spending.ts'
import { renameUnpriced } from '../objects/table/jobs-table.ts'
import type { NewObject } from '../objects/table/objects-table.ts'
import { shareDays } from '../store/connection/advisory-locks.ts'
import { type PostgresSession, untilAllDone } from '../store/connection/postgres.ts'
import { addUsage } from '../usage/add-usage.ts'
import { addAxisUsage } from '../usage/axes/add-axis-usage.ts'
import type { CallSink } from '../usage/calls/add-calls.ts'
import type { SettledCall } from '../usage/daily-key.ts'
import { ensureUsageMonths } from '../usage/days/usage-days.ts'
import { addPrices } from '../usage/price-definitions.ts'
import { totalByAxis, totalByDay } from '../usage/total-by-day.ts'
import { limitAxes, VALUES_PER_DAY } from './axis-limit.ts'
import { addEstimates } from './jobs/kept-estimates.ts'
import { addMadeObjects, readJobFiles } from './jobs/made-objects.ts'
import { settleJobs } from './jobs/settle-jobs.ts'
import { createLateRepricing, type LateRepricing } from './late-repricing.ts'
import { createModelLimit, type ModelLimit } from './model-limit.ts'
import { countResponsesOnce } from './responses-once.ts'

/** The memory of the counting of records between transactions. */
export interface CountingMemory {
  readonly modelLimit: ModelLimit
  readonly lateRepricing: LateRepricing
  /** Months whose totals have a partition. */
  readonly usageMonths: Set<UtcMonth>
  /** A client's values on an axis and day that have totals of their own. */
  readonly axisValues: number
}

export function createCountingMemory(axisValues = VALUES_PER_DAY): CountingMemory {
  return {
    modelLimit: createModelLimit(),
    lateRepricing: createLateRepricing(),
    usageMonths: new Set(),
    axisValues,
  }
}

export interface CountedRecords {
  /** Counted calls whose day has no partition. */
  readonly callsSkipped: number
  /** To be called after the commit. */
  readonly remember: () => void
}

/** Some records belong to a day that a correction is at: the transaction is to be rolled back. */
export class DayBusy extends Error {
  override readonly name = 'DayBusy'
}

/**
 * Brings records into the totals and `calls`, as steps 5 and 6 of docs/ledger.md, section 5, in the caller's
 * transaction, which must hold corrections of all days out and see to it that each record comes once.
 *
 * @param sink Where the single calls go.
 * @param locked Days that corrections are held out of already.
 * @throws {DayBusy}
 */
export async function countRecords(
  session: PostgresSession,
  records: readonly CallRecord[],
  sink: CallSink,
  locked: ReadonlySet<UtcDay>,
  { modelLimit, lateRepricing, usageMonths, axisValues }: CountingMemory,
): Promise<CountedRecords> {
  const { made, jobsMadeAgain } = await addMadeObjects(session, records)
  const files = await readJobFiles(session, records)
  const once = await countResponsesOnce(session, files, jobsMadeAgain)
  const { calls, settled } = await settleJobs(session, once, files, made)
  // The use of jobs counts on the days of their submission, which are known only now.
  const counted = daysOf(calls, settled)
  const more = [...counted].filter((day) => !locked.has(day))
  if (more.length > 0 && !(await shareDays(session, more))) throw new DayBusy('a correction is at such a day')
  const underModels = await modelLimit.apply(session, calls)
  const limited = { ...underModels, records: await limitAxes(session, underModels.records, axisValues) }
  const noLonger = await underTheirTotals(session, settled, made, limited.records)
  await addEstimates(session, limited.records)
  if (limited.records.length === 0) return { callsSkipped: 0, remember: limited.remember }
  const months = await ensureUsageMonths(session, counted, usageMonths)
  // 5. All else first: what others wait for, the rows of the totals, is locked for the shortest time. Sent together, so
  // that the totals are made while Postgres inserts the calls.
  const adding = untilAllDone([
    sink.add(session, limited.records, noLonger),
    addDefinitions(session, records),
    addCharges(session, limited.records),
    lateRepricing.plan(session, limited.records),
  ])
  // Awaited below: it may fail before that.
  adding.catch(() => {})
  const totals = totalByDay(limited.records, noLonger)
  const [callsSkipped, , , late] = await adding
  // 6. In the order of the key: two shards cannot wait for one another in a circle.
  for (const some of totals) await addUsage(session, some)
  for (const some of totalByAxis(limited.records, noLonger)) await addAxisUsage(session, some)
  // Two shards with calls of one key by one route wait for one another here, too.
  await addRouteSpending(session, limited.records)
  await addValueSpending(session, limited.records)
  // Rows that are locked now: what a repricing gives to calls that come in after it.
  for (const { adjustmentId, entries } of late) await addEntries(session, adjustmentId, entries)
  return {
    callsSkipped,
    remember: () => {
      limited.remember()
      for (const month of months) usageMonths.add(month)
    },
  }
}

function daysOf(calls: readonly CountedCall[], settled: readonly SettledCall[]): ReadonlySet<UtcDay> {
  const days = new Set<UtcDay>()
  for (const { arrivedAtMs } of calls) days.add(utcDayOf(arrivedAtMs))
  for (const { arrivedAtMs } of settled) days.add(utcDayOf(arrivedAtMs))
  return days
}

/**
 * The calls that are unpriced no longer, by the models and values that they are totalled under. For calls of this batch
 * the limits have just decided these. Calls that are settled later are included.
 */
async function underTheirTotals(
  session: PostgresSession,
  settled: readonly SettledCall[],
  made: readonly NewObject[],
  limited: readonly CountedCall[],
): Promise<readonly SettledCall[]> {
  const waiting = made.filter(({ unpricedAs }) => unpricedAs !== null)
  if (waiting.length === 0) return settled
  const totalledOf = new Map(limited.map((call) => [call.callId, call]))
  const renamed = waiting.flatMap(({ upstream, foldedId, callId, unpricedAs, axes }) => {
    const call = totalledOf.get(callId)
    if (call === undefined || unpricedAs === null) return []
    const as = { model: call.model, axes: call.axes ?? null }
    return as.model === unpricedAs && as.axes === axes ? [] : [{ upstream, foldedId, callId, ...as }]
  })
  if (renamed.length > 0) await renameUnpriced(session, renamed)
  return settled.map((call) => {
    const { model, axes } = totalledOf.get(call.callId) ?? call
    return { ...call, model, axes }
  })
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
  return priceId !== null && price !== null && parsedJson(price) !== undefined
    ? [{ priceId, definition: price }]
    : NONE
}

interface NamedDefinition {
  readonly priceId: string
  readonly definition: string
}

const NONE: readonly never[] = []
