import { withoutKeys } from '../../../domain/api-key.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import { googleModelInPath } from '../../../providers/google/google-path.ts'
import { routeCall, routeToModel } from '../../routing/route.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const MISSPELT_PREFIX: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'Write the path prefix of the upstream as it is configured.' },
}

const UNSERVED_API: CallRefusal = {
  error: 'not_found',
  reason: 'api_unserved',
  detail: { message: 'No upstream of this gateway serves the API that this path belongs to.' },
}
const MAX_NAME_LENGTH = 128

/** Finds the route as far as method and path tell it. */
export function routeByHead(
  admission: Admission,
  { upstreams }: Pick<AdmissionOptions, 'upstreams'>,
): CallRefusal | null {
  const route = routeCall(upstreams, admission, admission.target)
  if (typeof route === 'object') admission.route = route
  else return route === 'misspelt' ? MISSPELT_PREFIX : unserved(admission)
  return null
}

/** Finds the route of a call that only its model tells. */
export function routeByModel(
  admission: Admission,
  { upstreams }: Pick<AdmissionOptions, 'upstreams'>,
): CallRefusal | null {
  const { route } = admission
  if (!route.needsModel) return null
  const found = routeToModel(upstreams, admission, route.target, admission.namedModel)
  if (found === null) return unserved(admission)
  admission.route = found
  return null
}

/** The default upstream speaks another API: what the call holds is not sent there. */
function unserved({ namedModel, target }: Admission): CallRefusal {
  const model = namedModel ?? googleModelInPath(target.canonicalPath)
  if (model === null) return UNSERVED_API
  const name = withoutKeys(model).slice(0, MAX_NAME_LENGTH)
  const message = `No upstream of this gateway serves the model '${name}' in the API of this path.`
  return { error: 'model_not_found', detail: { param: 'model', message } }
}
