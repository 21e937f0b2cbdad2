import type { CallRefusal } from '../../../http/errors.ts'
import { jobsEndedBy } from '../../../objects/job-names.ts'
import { notFoundBody } from '../../../objects/not-found.ts'
import type { Verdict } from '../../../objects/objects.ts'
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
  const verdict = objects.judgeUpload(route.upstream, clientId, ids)
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
  const { route, method, webSocket } = admission
  const ended = webSocket ? null : jobsEndedBy(method, route.target.canonicalPath)
  if (ended === null) return null
  return jobs.settle(route.upstream, ended).then((before) => keepReported(admission, before))
}

function keepReported(admission: Admission, before: BeforeEnd): CallRefusal | null {
  if (before === 'running') return STILL_RUNNING
  if (before === 'unanswered') return UNANSWERED
  admission.reported = before
  return null
}
