import type { Dialect } from '../dialects/dialect.ts'
import { selectDialect } from '../dialects/dialects.ts'
import type { UpstreamTable } from './upstream-table.ts'
import type { Upstream } from './upstreams.ts'

/** Where a call goes, and how its answer is read. */
export interface Route {
  readonly upstream: Upstream
  /** What to ask the upstream for, prefix taken off. */
  readonly pathAndQuery: string
  /** The same without its query. */
  readonly path: string
  /** `null`: nothing on this path is metered beyond the call itself. */
  readonly dialect: Dialect | null
  /** The upstream depends on the model the body names: ask {@link withModel} once it is known. */
  readonly needsModel: boolean
  withModel(model: string | null): Route
}

/** The route of a call as far as method and path tell it. */
export function routeCall(table: UpstreamTable, method: string, pathAndQuery: string): Route {
  const prefixed = table.byPrefix(pathAndQuery)
  if (prefixed !== null) return routeTo(prefixed.upstream, method, prefixed.pathAndQuery)
  if (!table.needsModel) return routeTo(table.byModel(null), method, pathAndQuery)
  const path = withoutQuery(pathAndQuery)
  // A model in the path is asked of each upstream's own provider: their paths differ.
  for (const upstream of table.all) {
    if (upstream.pathPrefix !== null) continue
    const model =
      selectDialect(upstream.provider, method, path)?.modelInPath(path) ?? modelInQuery(pathAndQuery)
    if (model !== null && table.byModel(model) === upstream) return routeTo(upstream, method, pathAndQuery)
  }
  return {
    ...routeTo(table.byModel(null), method, pathAndQuery),
    needsModel: true,
    withModel: (model) => routeTo(table.byModel(model), method, pathAndQuery),
  }
}

function routeTo(upstream: Upstream, method: string, pathAndQuery: string): Route {
  const path = withoutQuery(pathAndQuery)
  const route: Route = {
    upstream,
    pathAndQuery,
    path,
    dialect: selectDialect(upstream.provider, method, path),
    needsModel: false,
    withModel: () => route,
  }
  return route
}

/** Realtime sessions name their model in the query; one that stands there twice is nobody's, as servers differ in which they take. */
export function modelInQuery(pathAndQuery: string): string | null {
  const question = pathAndQuery.indexOf('?')
  if (question === -1) return null
  const [model, ...others] = new URLSearchParams(pathAndQuery.slice(question)).getAll('model')
  return model === undefined || others.length > 0 ? null : model
}

function withoutQuery(pathAndQuery: string): string {
  const question = pathAndQuery.indexOf('?')
  return question === -1 ? pathAndQuery : pathAndQuery.slice(0, question)
}
