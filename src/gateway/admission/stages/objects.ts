import type { CallRefusal } from '../../../http/errors.ts'
import { type NamesFound, namesInBody } from '../../../objects/names/body-names.ts'
import { jobsEndedBy } from '../../../objects/object-path.ts'
import type { Objects, Verdict } from '../../../objects/objects.ts'
import type { Provider } from '../../../providers/registry.ts'
import type { BeforeEnd } from '../../jobs/job-settler.ts'
import type { Route } from '../../routing/route.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const OWNERS_UNAVAILABLE: CallRefusal = { error: 'storage_unavailable' }
const UNREADABLE: CallRefusal = { error: 'invalid_request' }
const STILL_RUNNING: CallRefusal = {
  error: 'still_running',
  // Clients' libraries would try again at once.
  detail: { headers: { 'x-should-retry': 'false' } },
}
const UNANSWERED: CallRefusal = {
  error: 'upstream_unreachable',
  detail: {
    message: 'The upstream does not say what this has used, which has to be known before it is ended.',
  },
}

/** Refuses a call about another client's object, in the words of an upstream that has no such object. */
export function checkObjects(
  admission: Admission,
  { objects }: Pick<AdmissionOptions, 'objects'>,
): CallRefusal | null | Promise<CallRefusal | null> {
  const { candidates, names } = admission
  if (candidates.length === 0 || names.ids.length === 0) return judge(admission, objects)
  const found = findHome(candidates, objects, names.ids)
  return found.then(
    (home) => {
      admission.candidates = [home]
      admission.route = home
      return judge(admission, objects)
    },
    () => OWNERS_UNAVAILABLE,
  )
}

/**
 * The target where one of the objects lives that a call names: it goes there alone. What no upstream is known to have
 * goes to one target whenever it is asked for, the first that is listed.
 */
async function findHome(
  candidates: readonly Route[],
  objects: Objects,
  ids: readonly string[],
): Promise<Route> {
  const listed = candidates.toSorted((a, b) => (a.choice?.place ?? 0) - (b.choice?.place ?? 0))
  for (const route of listed) if (await objects.hasAny(route.upstream, ids)) return route
  const [first] = listed
  if (first === undefined) throw new Error('a call by a route has no target')
  return first
}

function judge(admission: Admission, objects: Objects): CallRefusal | null | Promise<CallRefusal | null> {
  const { route, caller, method, names } = admission
  const { canonicalPath, pathAndQuery } = route.target
  const verdict = admission.webSocket
    ? objects.judgeHandshake(route.upstream, canonicalPath, pathAndQuery, caller.clientId)
    : objects.judge(route.upstream, method, canonicalPath, pathAndQuery, caller.clientId, names.ids)
  if (verdict === 'pass') return null
  if (typeof verdict === 'string') return refusalFor(verdict, route)
  return verdict.then(
    (found) => refusalFor(found, route),
    () => OWNERS_UNAVAILABLE,
  )
}

/** As {@link checkObjects}, of the ids that an upload was seen to name. */
export function refuseUpload(
  objects: AdmissionOptions['objects'],
  route: Route,
  clientId: string,
  ids: readonly string[],
): CallRefusal | null | Promise<CallRefusal | null> {
  const verdict = objects.judgeIds(route.upstream, clientId, ids)
  if (!(verdict instanceof Promise)) return refusalFor(verdict, route)
  return verdict.then((found) => refusalFor(found, route))
}

function refusalFor(verdict: Verdict, { upstream, target }: Route): CallRefusal | null {
  switch (verdict) {
    case 'pass':
      return null
    case 'hidden':
      return { error: 'not_found', detail: { body: notFoundBody(upstream.provider, target.canonicalPath) } }
    case 'unavailable':
      return OWNERS_UNAVAILABLE
    case 'unreadable':
      return UNREADABLE
    default:
      return verdict satisfies never
  }
}

/** Learns what jobs have used before the call deletes or cancels them. Refuses to delete one that still runs. */
export function checkEndedJobs(
  admission: Admission,
  { jobs }: Pick<AdmissionOptions, 'jobs'>,
): CallRefusal | null | Promise<CallRefusal | null> {
  const { route, method, webSocket, caller } = admission
  const ended = webSocket ? null : jobsEndedBy(method, route.target.canonicalPath)
  if (ended === null) return null
  return jobs.settle(route.upstream, ended, caller.clientId).then((before) => keepReported(admission, before))
}

function keepReported(admission: Admission, before: BeforeEnd): CallRefusal | null {
  if (before === 'running') return STILL_RUNNING
  if (before === 'unanswered') return UNANSWERED
  admission.reported = before
  return null
}

// The answer to a client about another's object: what the upstream itself would say of one that is not there.
/** Body of the 404, in the shape of the provider behind the path. */
function notFoundBody(provider: Provider, canonicalPath: string): object {
  if (provider === 'anthropic' || /\/messages(?:\/|$)/i.test(canonicalPath)) {
    return { type: 'error', error: { type: 'not_found_error', message: 'Not found' } }
  }
  if (provider === 'gemini' || provider === 'vertex') {
    return { error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' } }
  }
  if (provider === 'bedrock' || provider === 'cohere') return { message: 'The resource was not found.' }
  if (provider === 'openrouter') return { error: { message: 'Not found', code: 404 } }
  if (provider === 'mistral') return { detail: 'Not found' }
  return {
    error: {
      message: 'No such object: it does not exist, or is not yours.',
      type: 'invalid_request_error',
      param: 'id',
      code: null,
    },
  }
}

const IN_DOUBT: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'Send one JSON document in UTF-8: what it names could not be read.' },
}
const READS_ACCOUNT: CallRefusal = {
  error: 'path_not_allowed',
  detail: { message: 'This reads what all clients of the account made, or cannot be shown not to.' },
}

/** Reads which objects and models the body names, where that decides whether the call may be made. */
export function readNames(admission: Admission): CallRefusal | null | Promise<CallRefusal | null> {
  const { body, route, caller, candidates } = admission
  const isFree = candidates.length === 0 && route.upstream.objects === 'shared' && caller.models === null
  // Arguments of tools are of the tools' own.
  if (body.plain === null || isFree || route.dialect?.callsTools !== undefined) return null
  const found = namesInBody(
    route.target.canonicalPath,
    body.plain,
    body.scan,
    caller.clientId,
    () => !admission.client.destroyed,
    caller.models !== null,
    /urlencoded/i.test(admission.request.headers['content-type'] ?? ''),
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
  const { names, route, caller, method, candidates } = admission
  if (admission.isBodyInDoubt) return IN_DOUBT
  if (!names.readsWholeAccount) return null
  const mayGo = (to: Route) => to.upstream.objects === 'shared' || pathPolicy.allowsByName(caller, method, to)
  return mayGo(route) && candidates.every(mayGo) ? null : READS_ACCOUNT
}

function keepNames(admission: Admission, names: NamesFound): null {
  // What a key may not use is said first.
  if (names === 'unreadable') admission.isBodyInDoubt = true
  else admission.names = names
  return null
}
