import type { CallRefusal } from '../../../http/errors.ts'
import { routeCall, routeToModel } from '../../routing/route.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const MISSPELT_PREFIX: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'Write the path prefix of the upstream as it is configured.' },
}

/** Finds the route as far as method and path tell it. */
export function routeByHead(
  admission: Admission,
  { upstreams }: Pick<AdmissionOptions, 'upstreams'>,
): CallRefusal | null {
  const route = routeCall(upstreams, admission, admission.target)
  if (route === null) return MISSPELT_PREFIX
  admission.route = route
  return null
}

/** Finds the route of a call that only its model tells. */
export function routeByModel(admission: Admission, { upstreams }: Pick<AdmissionOptions, 'upstreams'>): null {
  const { route } = admission
  if (route.needsModel) {
    admission.route = routeToModel(upstreams, admission, route.target, admission.namedModel)
  }
  return null
}
