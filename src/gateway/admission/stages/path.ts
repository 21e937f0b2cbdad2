import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const PATH_NOT_ALLOWED: CallRefusal = { error: 'path_not_allowed' }

/**
 * Refuses a path that the rules of the key, of the upstream or of all calls do not allow. While the model
 * still chooses the upstream, nothing is decided: another upstream's rules would say nothing about this call.
 */
export function checkPath(
  admission: Admission,
  { pathPolicy }: Pick<AdmissionOptions, 'pathPolicy'>,
): CallRefusal | null {
  const { route, caller, method, hasBody } = admission
  if (admission.isPathAllowed || route.needsModel) return null
  admission.isPathAllowed = pathPolicy.permits(caller, method, hasBody, route)
  return admission.isPathAllowed ? null : PATH_NOT_ALLOWED
}
