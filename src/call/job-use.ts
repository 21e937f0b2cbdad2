import type { CallRecord, JobUse } from './call-record.ts'
import { BILLED_UNITS, NO_UNITS } from './usage.ts'

/** What a record says that was used, and no more. */
export function useOf(record: CallRecord): Omit<JobUse, 'id' | 'isFile'> {
  const { reportedModel, model, usageSource, usage, units, usageRaw, costPico, priceId, price } = record
  const { serviceTier, reportedCostPico, ownCostPico, costDiffers, partlyUnpriced, unpricedReason, suspect } =
    record
  return {
    reportedModel,
    model,
    usageSource,
    usage,
    units,
    usageRaw,
    costPico,
    priceId,
    price,
    serviceTier,
    reportedCostPico,
    ownCostPico,
    costDiffers,
    partlyUnpriced,
    unpricedReason,
    suspect,
  }
}

/** Whether a record tells figures that can be counted: tokens, or what is billed without any (films, pages). */
export function reportsUse({ usageSource, units }: Pick<CallRecord, 'usageSource' | 'units'>): boolean {
  if (usageSource === 'none') return units !== NO_UNITS && BILLED_UNITS.some((name) => units[name] !== null)
  return usageSource !== 'invalid'
}
