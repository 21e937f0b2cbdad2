import type { ResponseUse } from '../../call/response-use.ts'
import type { Dialect } from '../../providers/dialect.ts'

/** What the end of a call has to know of its endpoint. */
export interface EndpointContext {
  /**
   * Whether an answer without figures has a cost. `free`: it has none. `metered`: it has one that was not
   * reported. `unknown`: the path is unknown, and so is its cost. `passes_by`: the work that it leads to
   * bypasses the gateway.
   */
  readonly metering: 'free' | 'metered' | 'unknown' | 'passes_by'
  readonly responseUse: ResponseUse
}

const FREE: EndpointContext = { metering: 'free', responseUse: 'created' }
const CREATED: EndpointContext = { metering: 'metered', responseUse: 'created' }
const FETCHED: EndpointContext = { metering: 'metered', responseUse: 'fetched' }
const UNKNOWN: EndpointContext = { metering: 'unknown', responseUse: 'created' }
const PASSES_BY: EndpointContext = { metering: 'passes_by', responseUse: 'created' }

/** The context of an endpoint by its dialect; `null`: a path known to be free. */
export function endpointContextOf(dialect: Dialect | null): EndpointContext {
  if (dialect === null || dialect.isFree === true) return FREE
  if (dialect.isGeneric === true) return UNKNOWN
  if (dialect.passesBy === true) return PASSES_BY
  return dialect.responseUse === 'fetched' ? FETCHED : CREATED
}

/** The context of a call that a crash cut: a dialect was reading its answer, so the endpoint is metered. */
export function endpointContextOfCut(responseUse: ResponseUse): EndpointContext {
  return responseUse === 'fetched' ? FETCHED : CREATED
}
