import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission } from '../admission.ts'

const MISSING: CallRefusal = { error: 'upstream_credential_missing' }

/**
 * Refuses a call whose upstream would get no valid credential of ours. Waits only where none is valid and one is being
 * fetched: after a start, and after failures.
 */
export function checkUpstreamCredential({
  route,
}: Admission): CallRefusal | null | Promise<CallRefusal | null> {
  const { fetched } = route.upstream
  if (fetched === null) return null
  const isUsable = fetched.usable()
  if (typeof isUsable === 'boolean') return isUsable ? null : MISSING
  return isUsable.then((is) => (is ? null : MISSING))
}
