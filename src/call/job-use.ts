import type { CallRecord, CallUse } from './call-record.ts'
import { FIELD_LIST } from './record-fields.ts'
import { BILLED_UNITS, NO_UNITS } from './usage.ts'

const USE_FIELDS = FIELD_LIST.flatMap(({ name, part }) => (part === 'use' ? [name] : []))

/** What a record says that was used, and no more. */
export function useOf(record: CallRecord): CallUse {
  return Object.fromEntries(USE_FIELDS.map((name) => [name, record[name]])) as unknown as CallUse
}

/** Whether a record tells figures that can be counted: tokens, or what is billed without any (films, pages). */
export function reportsUse({ usageSource, units }: Pick<CallRecord, 'usageSource' | 'units'>): boolean {
  if (usageSource === 'none') return units !== NO_UNITS && BILLED_UNITS.some((name) => units[name] !== null)
  return usageSource !== 'invalid'
}
