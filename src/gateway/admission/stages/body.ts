import type { CallRefusal } from '../../../http/errors.ts'
import { howToRead } from '../../bodies/body-reading.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const UNSUPPORTED: CallRefusal = { error: 'unsupported_encoding' }
const MODEL_BEHIND_FILE: CallRefusal = {
  error: 'invalid_request',
  detail: { param: 'model', message: 'Send model before file: the call depends on it.' },
}

/**
 * Decides how much of the body is read before the call goes on. Refuses a body that has to be read and cannot
 * be.
 */
export function planBody(
  admission: Admission,
  { objects }: Pick<AdmissionOptions, 'objects'>,
): CallRefusal | null {
  if (!admission.hasBody) return null
  const { route, caller } = admission
  const { headers } = admission.request
  admission.modelDecides = route.needsModel || caller.models !== null
  const type = headers['content-type'] ?? ''
  const namesObjects = objects.readsBody(route.upstream, route.target.canonicalPath, type)
  const reading = howToRead(headers, route.dialect, admission.modelDecides, namesObjects)
  if (reading.kind === 'unsupported') return UNSUPPORTED
  admission.bodyReading = reading
  return null
}

/**
 * Refuses a form whose model may stand behind its file, where the call depends on it: files are not held
 * here.
 */
export function requireModelFirst({ body, modelDecides, route }: Admission): CallRefusal | null {
  if (body.form === null || !modelDecides || route.modelInPath !== null) return null
  return body.form.modelMayFollow ? MODEL_BEHIND_FILE : null
}
