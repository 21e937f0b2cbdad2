import type { Dialect } from '../../providers/dialect.ts'
import { type Reading, readingOf } from '../../providers/reading.ts'
import type { CallTarget } from './call-target.ts'
import type { UpstreamTable } from './upstream-table.ts'
import type { Upstream } from './upstreams.ts'

/** What decides how a call is read, besides its path. */
export interface CallShape {
  readonly method: string
  /** Whether a body was announced. */
  readonly hasBody: boolean
  readonly webSocket: boolean
}

/** Where a call goes, and how its answer is read. */
export interface Route {
  readonly upstream: Upstream
  /** What to ask the upstream for, without the upstream's prefix. */
  readonly target: CallTarget
  /** `null`: the path is known to be free, and only the call itself is counted. */
  readonly dialect: Dialect | null
  /** `deferred`: the call begins work that is billed later. `unknown`: no table has this path. */
  readonly reading: Reading['reading']
  /** It fetches what an earlier call made, and runs no model. */
  readonly isFetch: boolean
  /** The model the path names; `null` without one. */
  readonly modelInPath: string | null
  /** The upstream depends on the model that the body names: ask {@link routeToModel} once it is known. */
  readonly needsModel: boolean
}

/**
 * The route of a call as far as method and path tell it; `null`: the prefix is not written as it is
 * configured.
 */
export function routeCall(table: UpstreamTable, shape: CallShape, target: CallTarget): Route | null {
  const prefixed = table.byPrefix(target)
  if (prefixed === 'misspelt') return null
  if (prefixed !== null) return routeTo(prefixed.upstream, shape, prefixed.target)
  if (!table.needsModel) return routeTo(table.byModel(null), shape, target)
  // Providers name models in different places of a path, so each upstream's provider reads it its own way.
  for (const upstream of table.all) {
    if (upstream.pathPrefix !== null) continue
    const route = routeTo(upstream, shape, target)
    // A body names its model itself: then the query decides nothing.
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
 * Realtime sessions name their model in the query, on Azure as `deployment`. A query that names two has no
 * model: servers differ in which one they take, and in whether `;` separates parameters.
 */
export function modelInQuery(pathAndQuery: string): string | null {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return null
  const parameters = new URLSearchParams(pathAndQuery.slice(queryStart))
  const [model, ...others] = [...parameters.getAll('model'), ...parameters.getAll('deployment')]
  return model === undefined || others.length > 0 || model.includes(';') ? null : model
}
