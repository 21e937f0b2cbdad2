import type { CallRefusal } from '../../../http/errors.ts'
import { type NamesFound, namesInBody } from '../../../objects/names/body-names.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const UNREADABLE: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'Send one JSON document in UTF-8: what it names could not be read.' },
}
const READS_ACCOUNT: CallRefusal = {
  error: 'path_not_allowed',
  detail: { message: 'This reads what all clients of the account made, or cannot be shown not to.' },
}

/** Reads which objects and models the body names, where that decides whether the call may be made. */
export function readNames(admission: Admission): CallRefusal | null | Promise<CallRefusal | null> {
  const { body, route, caller } = admission
  if (body.plain === null || (route.upstream.objects === 'shared' && caller.models === null)) return null
  const found = namesInBody(
    route.target.canonicalPath,
    body.plain,
    body.scan,
    caller.clientId,
    () => !admission.client.destroyed,
  )
  return found instanceof Promise
    ? found.then((names) => keepNames(admission, names))
    : keepNames(admission, found)
}

/** Refuses a body that could name anything, and a call that reads the whole account, unless the path rules allow its path by name. */
export function checkReach(
  admission: Admission,
  { pathPolicy }: Pick<AdmissionOptions, 'pathPolicy'>,
): CallRefusal | null {
  const { names, route, caller, method } = admission
  if (admission.isBodyInDoubt) return UNREADABLE
  if (!names.readsWholeAccount || route.upstream.objects === 'shared') return null
  return pathPolicy.allowsByName(caller, method, route) ? null : READS_ACCOUNT
}

function keepNames(admission: Admission, names: NamesFound): null {
  // What a key may not use is said first.
  if (names === 'unreadable') admission.isBodyInDoubt = true
  else admission.names = names
  return null
}
