import type { CallRefusal } from '../../../http/errors.ts'
import { lacksHost, NO_HOST } from '../../../http/require-host.ts'
import type { Admission } from '../admission.ts'

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
