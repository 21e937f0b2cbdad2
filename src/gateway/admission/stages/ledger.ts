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

const TOO_MANY: CallRefusal = { error: 'concurrency', detail: { headers: { 'retry-after': '1' } } }

/**
 * Refuses a call that runs a model while too many of its client's go on without it: none of those is cut, so that each
 * is charged what it costs. What they made may be deleted meanwhile, and fetched as often again.
 */
export function checkUnattended(
  { caller, route }: Admission,
  { unattended }: Pick<AdmissionOptions, 'unattended'>,
): CallRefusal | null {
  if (route.reading === 'free') return null
  return unattended.isFull(caller.clientId, route.isFetch) ? TOO_MANY : null
}
