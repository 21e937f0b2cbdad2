import type { ResponseUse } from '../../call/response-use.ts'
import type { Dialect } from '../../providers/dialect.ts'

/** What an endpoint is, as far as the end of a call depends on it. */
export interface EndpointFacts {
  /**
   * Whether an answer that tells no figures has a cost. `free`: none, the path or the endpoint is known to be free.
   * `metered`: one that we did not learn. `unknown`: nobody knows the path, so neither what it costs. `passes_by`: what
   * it leads to goes past the gateway.
   */
  readonly metering: 'free' | 'metered' | 'unknown' | 'passes_by'
  readonly responseUse: ResponseUse
}

const FREE: EndpointFacts = { metering: 'free', responseUse: 'created' }
const CREATED: EndpointFacts = { metering: 'metered', responseUse: 'created' }
const FETCHED: EndpointFacts = { metering: 'metered', responseUse: 'fetched' }
const UNKNOWN: EndpointFacts = { metering: 'unknown', responseUse: 'created' }
const PASSES_BY: EndpointFacts = { metering: 'passes_by', responseUse: 'created' }

/** The facts of an endpoint by its dialect; `null`: a path known to be free. */
export function endpointFactsOf(dialect: Dialect | null): EndpointFacts {
  if (dialect === null || dialect.isFree === true) return FREE
  if (dialect.isGeneric === true) return UNKNOWN
  if (dialect.passesBy === true) return PASSES_BY
  return dialect.responseUse === 'fetched' ? FETCHED : CREATED
}

/** Those of a call that a crash cut: somebody read its answer, so the endpoint is metered. */
export function endpointFactsOfCut(responseUse: ResponseUse): EndpointFacts {
  return responseUse === 'fetched' ? FETCHED : CREATED
}
