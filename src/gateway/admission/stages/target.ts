import { withoutKeys } from '../../../domain/api-key.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import { lacksHost, NO_HOST } from '../../../http/listener.ts'
import { googleModelInPath } from '../../../providers/google/google-path.ts'
import { isOwnOperation, readCallTarget } from '../../routing/call-target.ts'
import {
  modelInQuery,
  queryNamesOther,
  type Route,
  routeCall,
  routeToModel,
  type Targets,
} from '../../routing/route.ts'
import type { UpstreamTable } from '../../routing/upstream-table.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const INVALID_TARGET: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'The path of the request is not a valid one.' },
}
const OUTSIDE_BASE_PATH: CallRefusal = { error: 'not_found' }
const NO_SESSION: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'This operation is not available over WebSocket.' },
}

/**
 * Reads what the call asks for. Refuses `OPTIONS *` and other targets that are about this server, since they
 * cannot be appended to an upstream's address.
 */
export function readTarget(
  admission: Admission,
  { config }: Pick<AdmissionOptions, 'config'>,
): CallRefusal | null {
  const target = readCallTarget(admission.urlWithoutKey, config.basePath)
  if (target === 'invalid_request') return INVALID_TARGET
  if (target === 'not_found') return OUTSIDE_BASE_PATH
  admission.target = target
  return null
}

/**
 * Refuses a session with one of the gateway's own operations. Over HTTP they have routes, and never get here.
 */
export function refuseOwnOperation(
  { webSocket, target }: Admission,
  { config }: Pick<AdmissionOptions, 'config'>,
): CallRefusal | null {
  return webSocket && isOwnOperation(target.canonicalPath, config.compat) ? NO_SESSION : null
}

const FRAGMENT: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'The target of a request has no fragment.' },
}

/** Refuses a target with a `#`: the router would cut it off there, and so do some upstreams, but not all. */
export function checkFragment({ request }: Admission): CallRefusal | null {
  return request.url?.includes('#') === true ? FRAGMENT : null
}

/** Refuses a request of HTTP/1.1 without a Host header (RFC 9112, 3.2). */
export function checkHost({ request }: Admission): CallRefusal | null {
  return lacksHost(request) ? NO_HOST : null
}

const PATH_NOT_ALLOWED: CallRefusal = { error: 'path_not_allowed' }

/**
 * Refuses a path that the rules of the key, of the upstream or of all calls do not allow. While the model
 * still chooses the upstream, nothing is decided: another upstream's rules would say nothing about this call.
 */
export function checkPath(
  admission: Admission,
  { pathPolicy }: Pick<AdmissionOptions, 'pathPolicy'>,
): CallRefusal | null {
  const { route, caller, method, hasBody, candidates } = admission
  if (admission.isPathAllowed || route.needsModel) return null
  if (candidates.length > 0) {
    const isPermitted = (one: Route) => pathPolicy.permits(caller, method, hasBody, one)
    admission.isPathAllowed = candidates.every(isPermitted)
    if (admission.isPathAllowed) return null
    const [first, ...others] = candidates.filter(isPermitted)
    if (first === undefined) return PATH_NOT_ALLOWED
    takeTargets(admission, [first, ...others])
    admission.isPathAllowed = true
    return null
  }
  admission.isPathAllowed = pathPolicy.permits(caller, method, hasBody, route)
  return admission.isPathAllowed ? null : PATH_NOT_ALLOWED
}

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
  if (typeof route === 'string') return route === 'misspelt' ? MISSPELT_PREFIX : unserved(admission)
  if ('upstream' in route) admission.route = route
  else takeTargets(admission, inOrder(route, admission, upstreams))
  return null
}

function inOrder(found: Targets, admission: Admission, { routes }: UpstreamTable): Targets {
  const ordered = routes?.order(found, admission) ?? found
  return isSome(ordered) ? ordered : found
}

function isSome(routes: readonly Route[]): routes is Targets {
  return routes.length > 0
}

/** The call may go to these, and goes to the first. */
export function takeTargets(admission: Admission, targets: Targets): void {
  admission.candidates = targets
  admission.route = targets[0]
}

/** Finds the route of a call that only its model tells. */
export function routeByModel(
  admission: Admission,
  { upstreams }: Pick<AdmissionOptions, 'upstreams'>,
): CallRefusal | null {
  const { route } = admission
  if (!route.needsModel) return null
  const found = routeToModel(upstreams, admission, route.target, leadingModel(admission))
  if (found === null) return unserved(admission)
  if ('upstream' in found) admission.route = found
  else return takeTargetsOfBody(found, admission, upstreams)
  return null
}

/** The model that leads a call to its upstream. Whether a session's query names the one that runs, its upstream tells. */
function leadingModel({ webSocket, target, namedModel }: Admission): string | null {
  return webSocket ? modelInQuery(target.pathAndQuery) : namedModel
}

const MODEL_IN_DOUBT: CallRefusal = {
  error: 'invalid_request',
  detail: { param: 'model', message: 'Name the model once, in a JSON object in UTF-8.' },
}
const NOT_IN_FORM: CallRefusal = {
  error: 'model_not_found',
  detail: {
    param: 'model',
    message: 'This name stands for models that are called otherwise, which cannot be written into a form.',
  },
}

/** Each target gets its own name for the model, so it must be beyond doubt. */
function takeTargetsOfBody(
  found: Targets,
  admission: Admission,
  upstreams: UpstreamTable,
): CallRefusal | null {
  const { body, webSocket } = admission
  // A query is not edited, and some servers put its model above the body's.
  const isSure = body.scan?.readable === true && !body.scan.duplicateModel
  if (!webSocket && (!isSure || queryNamesOther(admission.target.pathAndQuery, null))) return MODEL_IN_DOUBT
  if (body.form === null) {
    takeTargets(admission, inOrder(found, admission, upstreams))
    return null
  }
  const [first, ...others] = found.filter(({ choice }) => choice?.model === choice?.asked)
  if (first === undefined) return NOT_IN_FORM
  takeTargets(admission, inOrder([first, ...others], admission, upstreams))
  // What follows in the form must not name another model.
  admission.modelDecides = true
  return null
}

/** The default upstream speaks another API: what the call holds is not sent there. */
function unserved(admission: Admission): CallRefusal {
  const model = leadingModel(admission) ?? googleModelInPath(admission.target.canonicalPath)
  if (model === null) return UNSERVED_API
  const name = withoutKeys(model).slice(0, MAX_NAME_LENGTH)
  const message = `No upstream of this gateway serves the model '${name}' in the API of this path.`
  return { error: 'model_not_found', detail: { param: 'model', message } }
}
