import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const TOO_MANY: CallRefusal = { error: 'concurrency', detail: { headers: { 'retry-after': '1' } } }

/**
 * Refuses a call that runs a model while too many of its client's go on without it: none of those is cut, so that each
 * is charged what it costs. What they made may be fetched and deleted meanwhile.
 */
export function checkUnattended(
  { caller, route }: Admission,
  { unattended }: Pick<AdmissionOptions, 'unattended'>,
): CallRefusal | null {
  if (route.reading === 'free' || route.isFetch) return null
  return unattended.isFull(caller.clientId) ? TOO_MANY : null
}
