import type { Dialect } from '../../providers/dialect.ts'
import { type Reading, readingOf } from '../../providers/reading.ts'
import type { CallTarget } from './call-target.ts'
import type { UpstreamTable } from './upstream-table.ts'
import type { Upstream } from './upstreams.ts'

/** What decides, beside the path, how a call is read. */
export interface CallShape {
  readonly method: string
  /** Whether a body was announced. */
  readonly hasBody: boolean
  readonly webSocket: boolean
}

/** Where a call goes, and how its answer is read. */
export interface Route {
  readonly upstream: Upstream
  /** What to ask the upstream for, prefix taken off. */
  readonly target: CallTarget
  /** `null`: the path is known to be free, nothing is metered beyond the call itself. */
  readonly dialect: Dialect | null
  /** `deferred`: begins work that is billed later. `unknown`: nobody knows this path. */
  readonly reading: Reading['reading']
  /** It fetches what a call before it made, and runs no model. */
  readonly isFetch: boolean
  /** The model the path names; `null` without one. */
  readonly modelInPath: string | null
  /** The upstream depends on the model that the body names: ask {@link routeToModel} once it is known. */
  readonly needsModel: boolean
}

/** The route of a call as far as method and path tell it; `null`: a prefix that is not written as it is configured. */
export function routeCall(table: UpstreamTable, shape: CallShape, target: CallTarget): Route | null {
  const prefixed = table.byPrefix(target)
  if (prefixed === 'misspelt') return null
  if (prefixed !== null) return routeTo(prefixed.upstream, shape, prefixed.target)
  if (!table.needsModel) return routeTo(table.byModel(null), shape, target)
  // A model in the path is asked of each upstream's own provider: their paths differ.
  for (const upstream of table.all) {
    if (upstream.pathPrefix !== null) continue
    const route = routeTo(upstream, shape, target)
    // A body names its model itself, and what stands in the query beside it chooses nothing.
    const model = route.modelInPath ?? (shape.hasBody ? null : modelInQuery(target.pathAndQuery))
    if (model !== null && table.byModel(model) === upstream) return route
  }
  return { ...routeTo(table.byModel(null), shape, target), needsModel: true }
}

/**
 * The route of a call whose `needsModel` is true.
 *
 * @param target of the route before.
 * @param model `null`: the call names none, and goes to the default upstream.
 */
export function routeToModel(
  table: UpstreamTable,
  shape: CallShape,
  target: CallTarget,
  model: string | null,
): Route {
  return routeTo(table.byModel(model), shape, target)
}

function routeTo(upstream: Upstream, shape: CallShape, target: CallTarget): Route {
  const { reading, dialect } = readingOf(upstream.provider, shape, target.canonicalPath)
  return {
    upstream,
    target,
    dialect,
    reading,
    isFetch: dialect?.responseUse === 'fetched' && !shape.hasBody && !shape.webSocket,
    modelInPath: dialect?.modelInPath(target.canonicalPath) ?? null,
    needsModel: false,
  }
}

/**
 * Realtime sessions name their model in the query, on Azure as `deployment`. One that stands there twice is nobody's, as servers
 * differ in which they take, and in whether a `;` parts parameters.
 */
export function modelInQuery(pathAndQuery: string): string | null {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return null
  const parameters = new URLSearchParams(pathAndQuery.slice(queryStart))
  const [model, ...others] = [...parameters.getAll('model'), ...parameters.getAll('deployment')]
  return model === undefined || others.length > 0 || model.includes(';') ? null : model
}
