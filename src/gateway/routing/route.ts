import type { IncomingHttpHeaders } from 'node:http'
import type { ResponseUse } from '../../call/call-record.ts'
import { canonicalPath } from '../../domain/canonical-path.ts'
import type { Dialect } from '../../providers/dialect.ts'
import { apiFamilyOf, modelInPathOf, speaks } from '../../providers/paths/family.ts'
import { REFUSED_PATHS, REFUSED_WHOLE_PATHS } from '../../providers/paths/known-paths.ts'
import type { ApiFamily } from '../../providers/provider.ts'
import { type Reading, readingOf } from '../../providers/reading.ts'
import { entryOf, type Provider } from '../../providers/registry.ts'
import { type CallTarget, targetOf } from './call-target.ts'
import { withModelInPath, withModelInQuery } from './splice-model.ts'
import type { ModelRoute, RouteChoice, Upstream, UpstreamTable } from './upstream-table.ts'

/** What decides how a call is read, besides its path. */
export interface CallShape {
  readonly method: string
  /** Whether a body was announced. */
  readonly hasBody: boolean
  readonly webSocket: boolean
  readonly request: { readonly headers: IncomingHttpHeaders }
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
  /** The target of the configuration's `routes` that it is; `null`: it is none. */
  readonly choice: RouteChoice | null
  /** The upstream's provider has the path refused where no rule of the operator's allows it. */
  readonly isRefused: boolean
}

/** Why a call has no route: see {@link UpstreamTable.byPrefix}, and {@link UpstreamTable.choose}. */
export type NoRoute = 'misspelt' | 'unserved'

/** The targets that a call by a name of `routes` may go to, at least one. */
export type Targets = readonly [Route, ...Route[]]

/** The bytes of a file name no model, and Google's libraries call them JSON. */
const UPLOAD = /^\/upload\//i

/** The last route of a remembered target, and all that it depends on. */
interface KeptRoute {
  /** Others after each reload, where a table may stay the same object. */
  readonly upstreams: readonly Upstream[]
  readonly method: string
  readonly hasBody: boolean
  readonly webSocket: boolean
  readonly family: ApiFamily | null
  readonly route: Route | Targets
}

/** Of as many targets as are remembered. */
const keptRoutes = new WeakMap<CallTarget, KeptRoute>()

/** The route of a call as far as method, path and headers tell it. */
export function routeCall(
  table: UpstreamTable,
  shape: CallShape,
  target: CallTarget,
): Route | Targets | NoRoute {
  // One upstream gets everything, whatever it makes of it.
  const isOnly = table.all.length === 1 && table.routes === null
  const family = isOnly ? null : apiFamilyOf(target.canonicalPath, shape.request.headers)
  const kept = target.isRemembered ? keptRoutes.get(target) : undefined
  const { method, hasBody, webSocket } = shape
  if (
    kept !== undefined &&
    kept.upstreams === table.all &&
    kept.method === method &&
    kept.hasBody === hasBody &&
    kept.webSocket === webSocket &&
    kept.family === family
  )
    return kept.route
  const route = findRoute(table, shape, target, family)
  // Each call of an API that no upstream serves is reported.
  if (target.isRemembered && typeof route !== 'string')
    keptRoutes.set(target, { upstreams: table.all, method, hasBody, webSocket, family, route })
  return route
}

/** @param family whose API the call speaks; `null`: unknown, or it makes no difference. */
function findRoute(
  table: UpstreamTable,
  shape: CallShape,
  target: CallTarget,
  family: ApiFamily | null,
): Route | Targets | NoRoute {
  const prefixed = table.byPrefix(target)
  if (prefixed === 'misspelt') return prefixed
  if (prefixed !== null) return routeTo(prefixed.upstream, shape, prefixed.target)
  if (table.all.length === 1 && table.routes === null) return routeTo(table.fallback, shape, target)
  const path = target.canonicalPath
  const inPath = modelInPathOf(family, path)
  const rules = inPath === null ? undefined : table.routes?.find(inPath)
  if (rules) return targetsOf(rules, shape, target, family, 'path') ?? 'unserved'
  // A session is read where its target has such sessions; a body only where its API is known.
  const mayBeRoute = table.routes !== null && inPath === null && (family !== null || shape.webSocket)
  if (table.all.length === 1) return { ...routeTo(table.fallback, shape, target), needsModel: mayBeRoute }
  // Providers name models in different places of a path, so each upstream's provider reads it its own way.
  for (const upstream of table.needsModel ? table.all : []) {
    if (upstream.pathPrefix !== null) continue
    const route = routeTo(upstream, shape, target)
    // A body names its model itself: then the query decides nothing.
    const model = route.modelInPath ?? inPath ?? (shape.hasBody ? null : modelInQuery(target.pathAndQuery))
    if (model !== null && table.byModel({ model, family, path }) === upstream) return route
  }
  // What OpenAI's libraries write into a path is a deployment, and the body has the model.
  const model = family === 'openai' ? null : inPath
  const chosen = table.choose({ model, family, path })
  const isOpen = (table.needsModel || mayBeRoute) && model === null && !UPLOAD.test(path)
  if (chosen === null && !isOpen) return 'unserved'
  return { ...routeTo(chosen ?? table.fallback, shape, target), needsModel: isOpen }
}

/**
 * The route of a call whose `needsModel` is true; `null`: no upstream serves it.
 *
 * @param target of the route before.
 * @param model `null`: the call names none.
 */
export function routeToModel(
  table: UpstreamTable,
  shape: CallShape,
  target: CallTarget,
  model: string | null,
): Route | Targets | null {
  const path = target.canonicalPath
  const family = apiFamilyOf(path, shape.request.headers)
  const rules = model === null ? undefined : table.routes?.find(bareModel(model))
  if (rules)
    return shape.webSocket
      ? targetsOf(rules, shape, target, family, 'query')
      : targetsOfBody(rules, shape, target, family)
  // One upstream gets everything, whatever it makes of it.
  const chosen = table.all.length === 1 ? table.fallback : table.choose({ model, path, family })
  return chosen === null ? null : routeTo(chosen, shape, target)
}

/**
 * The targets of a route that can read this call, with their own model in path or query; `null`: none of them can.
 * What a body holds is sent to no provider of another API, and on paths that no table knows, to none of them.
 */
function targetsOf(
  rules: ModelRoute,
  shape: CallShape,
  target: CallTarget,
  family: ApiFamily | null,
  place: 'path' | 'query' | 'body',
): Targets | null {
  if (family === null && !shape.webSocket) return null
  const [first, ...others] = rules.targets.flatMap(({ upstream, model }, at): readonly Route[] => {
    if (!speaks(upstream.provider, family, target.canonicalPath)) return []
    const named =
      place === 'body' || model === rules.model
        ? target
        : place === 'path'
          ? withModelInPath(target, rules.model, model)
          : withModelInQuery(target, model)
    if (named === null) return []
    const route = routeTo(upstream, shape, named)
    if (route.reading === 'unknown') return []
    // The messages of its sessions name the model, and are not edited.
    if (place === 'query' && route.dialect?.queryNamesModel !== true) return []
    const { modelInPath } = route
    // An ARN has the name that is read of it as a part. A path that names a model itself runs that one, whatever
    // stands elsewhere, and neither a key's list nor a model's limits were asked for it.
    if (place === 'path' ? !model.includes(modelInPath ?? ' ') : modelInPath !== null) return []
    const written = Buffer.from(JSON.stringify(model))
    return [{ ...route, choice: { rules, asked: rules.model, model, written, place: at } }]
  })
  return first === undefined ? null : [first, ...others]
}

interface TargetsOfBody {
  readonly pathAndQuery: string
  readonly method: string
  readonly hasBody: boolean
  readonly family: ApiFamily | null
  readonly targets: Targets | null
}

/** The last ones of each route: most of its calls differ in their bodies alone. */
const lastOfBody = new WeakMap<ModelRoute, TargetsOfBody>()

function targetsOfBody(
  rules: ModelRoute,
  shape: CallShape,
  target: CallTarget,
  family: ApiFamily | null,
): Targets | null {
  const { method, hasBody } = shape
  const { pathAndQuery } = target
  const last = lastOfBody.get(rules)
  if (
    last?.pathAndQuery === pathAndQuery &&
    last.method === method &&
    last.hasBody === hasBody &&
    last.family === family
  )
    return last.targets
  const targets = targetsOf(rules, shape, target, family, 'body')
  lastOfBody.set(rules, { pathAndQuery, method, hasBody, family, targets })
  return targets
}

/** Google's libraries write it so into bodies. */
function bareModel(model: string): string {
  return model.startsWith('models/') ? model.slice('models/'.length) : model
}

/** A base URL that ends in `/v1` was given to a library that adds it itself. */
const DOUBLED = /^(?:\/v1)+(?=\/v1(?:\/|$))/
const HAS_VERSION = /\/v\d/i
const NO_HEADERS = {}

/**
 * The target as `provider` knows it, where the client's base URL has a `/v1` too many or none. Only what leaves no
 * doubt is changed, and what is sent is what every stage judges.
 */
function meantAt(provider: Provider, target: CallTarget): CallTarget {
  const { canonicalPath, pathAndQuery } = target
  if (canonicalPath.startsWith('/v1/')) {
    const extra = canonicalPath.startsWith('/v1/v1') ? DOUBLED.exec(pathAndQuery) : null
    return extra === null ? target : (targetOf(pathAndQuery.slice(extra[0].length)) ?? target)
  }
  if (canonicalPath === '' || HAS_VERSION.test(canonicalPath)) return target
  const { isBelowV1, apis = ['openai'] } = entryOf(provider)
  if (isBelowV1 !== true || canonicalPath.startsWith('/openai/')) return target
  const family = apiFamilyOf(`/v1${canonicalPath}`, NO_HEADERS)
  return family !== null && apis.includes(family) ? (targetOf(`/v1${pathAndQuery}`) ?? target) : target
}

function routeTo(upstream: Upstream, shape: CallShape, asked: CallTarget): Route {
  const target = meantAt(upstream.provider, asked)
  const { reading, dialect } = readingOf(upstream.provider, shape, target.canonicalPath)
  return {
    upstream,
    target,
    dialect,
    reading,
    isFetch: dialect?.responseUse === 'fetched' && !shape.hasBody && !shape.webSocket,
    modelInPath: dialect?.modelInPath(target.canonicalPath) ?? null,
    needsModel: false,
    choice: null,
    isRefused: isRefusedAt(upstream, shape, target.canonicalPath, reading),
  }
}

/** Methods that change nothing at a server that follows HTTP. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Many routers take any method for a path: such a request is judged as a POST, too. */
export function changesSomething(method: string, hasBody: boolean): boolean {
  return hasBody || !READS.has(method)
}

function isRefusedAt(
  upstream: Upstream,
  { method, hasBody, webSocket }: CallShape,
  path: string,
  reading: Route['reading'],
): boolean {
  const isRefused = (as: string) =>
    REFUSED_PATHS.find(upstream.provider, as, path) !== null || isWholeRefused(upstream, as, path, reading)
  return isRefused(method) || ((webSocket || changesSomething(method, hasBody)) && isRefused('POST'))
}

/** Few providers have such paths, and each call asks. */
function isWholeRefused(
  { provider, basePath }: Upstream,
  method: string,
  path: string,
  reading: Route['reading'],
): boolean {
  if (entryOf(provider).refusedWholePaths === undefined) return false
  const whole = wholePath(canonicalPath(basePath) ?? '', path, reading)
  return REFUSED_WHOLE_PATHS.find(provider, method, whole) !== null
}

/** The id of an account. What stands behind one may be called like an endpoint. */
const ACCOUNT = /^\/v\d+\/[\da-f]{32}\//i

/**
 * Where a path leads at the host itself: a proxy before it may have put a path of its own in front of the version. What
 * is read by a path without one is an endpoint of the proxy's, whose own address leads further.
 */
function wholePath(base: string, path: string, reading: Route['reading']): string {
  const version = /\/v\d+(?=\/|$)/.exec(base)
  if (version !== null) return `${base.slice(version.index)}${path}`
  return reading === 'unknown' || ACCOUNT.test(path) ? path : ''
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

/** Whether the query names a model other than `model`: LiteLLM's proxy runs that one, whatever the body says. */
export function queryNamesOther(pathAndQuery: string, model: string | null): boolean {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return false
  return new URLSearchParams(pathAndQuery.slice(queryStart)).getAll('model').some((name) => name !== model)
}

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
