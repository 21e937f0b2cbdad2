import type { CallRefusal } from '../../../http/errors.ts'
import type { Route } from '../../routing/route.ts'
import type { Admission } from '../admission.ts'
import { takeTargets } from './target.ts'

const MISSING: CallRefusal = { error: 'upstream_credential_missing' }

/**
 * Refuses a call whose upstream would get no valid credential of ours, and leaves out such targets where it has several.
 * Waits only where none is valid and one is being fetched: after a start, and after failures.
 */
export function checkUpstreamCredential(
  admission: Admission,
): CallRefusal | null | Promise<CallRefusal | null> {
  const { route, candidates } = admission
  const places = candidates.length === 0 ? [route] : candidates
  if (places.every(({ upstream }) => upstream.fetched === null)) return null
  const usable = places.map(({ upstream }) => upstream.fetched?.usable() ?? true)
  const now = places.filter((_place, at) => usable[at] === true)
  if (now.length > 0 || usable.every((one) => one === false)) return keep(now, admission)
  return Promise.all(usable).then((known) =>
    keep(
      places.filter((_place, at) => known[at] === true),
      admission,
    ),
  )
}

function keep([first, ...others]: readonly Route[], admission: Admission): CallRefusal | null {
  if (first === undefined) return MISSING
  if (admission.candidates.length > 0) takeTargets(admission, [first, ...others])
  return null
}
