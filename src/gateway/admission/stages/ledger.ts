import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

export const METERING_UNAVAILABLE: CallRefusal = { error: 'metering_unavailable' }

/** Refuses a call that could not be recorded: the journal is full, or the disk takes no writes. */
export function checkLedger(
  _admission: Admission,
  { ledger }: Pick<AdmissionOptions, 'ledger'>,
): CallRefusal | null {
  return ledger.canTakeCalls ? null : METERING_UNAVAILABLE
}
