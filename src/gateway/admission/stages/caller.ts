import type { CallerLookup } from '../../../call/caller.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const UNKNOWN_KEY: CallRefusal = { error: 'invalid_api_key' }
const KEY_INACTIVE: CallRefusal = { error: 'key_inactive' }
const CLIENT_DISABLED: CallRefusal = { error: 'client_disabled' }
const KEYS_UNAVAILABLE: CallRefusal = { error: 'storage_unavailable' }

/** Finds whose key it is; at once for a key that this process knows. */
export function findCaller(
  admission: Admission,
  options: Pick<AdmissionOptions, 'findCaller'>,
): CallRefusal | null | Promise<CallRefusal | null> {
  if (admission.key === null) return UNKNOWN_KEY
  const found = options.findCaller(admission.key)
  if (!(found instanceof Promise)) return take(admission, found)
  return found.then(
    (lookup) => take(admission, lookup),
    () => KEYS_UNAVAILABLE,
  )
}

function take(admission: Admission, lookup: CallerLookup): CallRefusal | null {
  switch (lookup.kind) {
    case 'active':
      admission.caller = lookup.caller
      return null
    case 'unknown':
      return UNKNOWN_KEY
    case 'key_inactive':
      return KEY_INACTIVE
    case 'client_disabled':
      return CLIENT_DISABLED
    case 'unavailable':
      return KEYS_UNAVAILABLE
    default:
      return lookup satisfies never
  }
}
