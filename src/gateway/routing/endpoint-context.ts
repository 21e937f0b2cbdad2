import type { ResponseUse } from '../../call/response-use.ts'
import type { Dialect } from '../../providers/dialect.ts'

/** What an endpoint is, as far as the end of a call depends on it. */
export interface EndpointContext {
  /**
   * Whether an answer that tells no figures has a cost. `free`: none, the path or the endpoint is known to be free.
   * `metered`: one that we did not learn. `unknown`: nobody knows the path, so neither what it costs. `passes_by`: what
   * it leads to goes past the gateway.
   */
  readonly metering: 'free' | 'metered' | 'unknown' | 'passes_by'
  readonly responseUse: ResponseUse
}

const FREE: EndpointContext = { metering: 'free', responseUse: 'created' }
const CREATED: EndpointContext = { metering: 'metered', responseUse: 'created' }
const FETCHED: EndpointContext = { metering: 'metered', responseUse: 'fetched' }
const UNKNOWN: EndpointContext = { metering: 'unknown', responseUse: 'created' }
const PASSES_BY: EndpointContext = { metering: 'passes_by', responseUse: 'created' }

/** The facts of an endpoint by its dialect; `null`: a path known to be free. */
export function endpointContextOf(dialect: Dialect | null): EndpointContext {
  if (dialect === null || dialect.isFree === true) return FREE
  if (dialect.isGeneric === true) return UNKNOWN
  if (dialect.passesBy === true) return PASSES_BY
  return dialect.responseUse === 'fetched' ? FETCHED : CREATED
}

/** Those of a call that a crash cut: somebody read its answer, so the endpoint is metered. */
export function endpointContextOfCut(responseUse: ResponseUse): EndpointContext {
  return responseUse === 'fetched' ? FETCHED : CREATED
}
