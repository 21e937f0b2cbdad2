import type { CallRecord, CountedCall } from '../../call/call-record.ts'
import { foldObjectId } from '../../call/object-event.ts'
import { BILLED_UNITS, countsBy, TOKEN_CLASSES } from '../../call/usage.ts'
import { keepEstimates } from '../../objects/table/jobs-table.ts'
import type { Estimate, ObjectKey } from '../../objects/table/objects-table.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { sortedByKey } from './made-objects.ts'

/** An estimate that counts for a job which may tell its use later. */
export interface JobEstimate extends ObjectKey {
  /** The call that submitted the job. */
  readonly callId: string
  readonly estimate: Estimate
}

/** The estimates of jobs among these calls: of an answer that was cut, and of a fetch that was. */
export function estimatesOf(calls: readonly CountedCall[]): readonly JobEstimate[] {
  return calls.flatMap((call): readonly JobEstimate[] => {
    const { usageSource, costPico } = call
    // One without a cost stays unpriced until its job tells.
    if ((usageSource !== 'estimated' && usageSource !== 'partial') || costPico === null) return NONE
    const job = estimatedJob(call)
    if (job === null) return NONE
    const { upstream, model, reportedModel, usage, units, priceId } = call
    const estimate = { model, reportedModel, usageSource, usage, units, costPico, priceId }
    return [{ upstream, foldedId: foldObjectId(job.id), callId: job.callId, estimate }]
  })
}

/** Keeps those of jobs that have not reported their use, each under the model that it is totalled under. */
export async function addEstimates(session: PostgresSession, calls: readonly CountedCall[]): Promise<void> {
  const estimates = sortedByKey(estimatesOf(calls))
  if (estimates.length > 0) await keepEstimates(session, estimates)
}

/** The use that takes an estimate back: the same use, each count below 0. */
export function takenBack({ usage, units, costPico, ...estimate }: Estimate) {
  return {
    ...estimate,
    usage: countsBy(TOKEN_CLASSES, (name) => negative(usage[name])),
    units: countsBy(BILLED_UNITS, (name) => negative(units[name])),
    costPico: `${-BigInt(costPico ?? '0')}`,
    price: null,
    usageRaw: null,
    serviceTier: undefined,
    reportedCostPico: undefined,
    ownCostPico: undefined,
    costDiffers: undefined,
    partlyUnpriced: undefined,
    unpricedReason: undefined,
    suspect: undefined,
  } satisfies Partial<CallRecord>
}

const NONE: readonly never[] = []

function estimatedJob(call: CountedCall): { readonly id: string; readonly callId: string } | null {
  const { callId, objects, settlement, responseId } = call
  if (settlement === undefined) {
    const made = objects?.find(({ is, job }) => is === 'created' && job)
    return made === undefined ? null : { id: made.id, callId }
  }
  const { settles } = settlement
  return settles === null || responseId === null ? null : { id: responseId, callId: settles }
}

function negative(count: number | null | undefined): number | null {
  return count === null || count === undefined ? null : -count
}
