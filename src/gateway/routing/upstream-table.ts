import type { IncomingHttpHeaders } from 'node:http'
import { ConnectionPool } from '#http-client/connection-pool.ts'
import type { RouteConfig } from '../../config/yaml/routes.ts'
import { fitsPattern } from '../../domain/model-name.ts'
import { ownFamily, speaks } from '../../providers/paths/family.ts'
import type { ApiFamily } from '../../providers/provider.ts'
import { entryOf, type Provider } from '../../providers/registry.ts'
import type { FetchedCredential } from '../credentials/fetched-credential.ts'
import { type CallTarget, isUnder, targetOf } from './call-target.ts'
import type { Circuits } from './circuits.ts'

/** An upstream found by its path prefix, and what to ask it for, without the prefix. */
export interface PrefixMatch {
  readonly upstream: Upstream
  readonly target: CallTarget
}

/** What a call asks for that no prefix leads anywhere. */
export interface AskedModel {
  /** `null`: it names none, or none is known yet. */
  readonly model: string | null
  /** `null`: unknown, so that any upstream may serve it. */
  readonly family: ApiFamily | null
  /** Canonical. */
  readonly path: string
}

/** Chooses the upstream of a call. */
export interface UpstreamTable {
  readonly all: readonly Upstream[]
  /**
   * By path prefix alone; `null` when no upstream's prefix matches. `misspelt`: some servers would take the
   * path for one below a prefix, but the prefix is not written as it is configured, so its end is unknown.
   */
  byPrefix(target: CallTarget): PrefixMatch | 'misspelt' | null
  /** Whether an upstream is chosen by model name, so that the model has to be known. */
  readonly needsModel: boolean
  /** Of the upstreams without a prefix, the one that the configuration names for the model; `null`: none. */
  byModel(asked: AskedModel & { readonly model: string }): Upstream | null
  /**
   * Chooses among these: by the name of the model, else by the API that the call speaks, else the default one. `null`:
   * all of them are known to speak other APIs, or have other models. What the call holds is not theirs to see.
   */
  choose(asked: AskedModel): Upstream | null
  /** The default upstream, whatever it speaks. */
  readonly fallback: Upstream
  /** Names of the configuration's that stand for models of several upstreams; `null`: there are none. */
  readonly routes: RouteTable | null
}

/** Whether `model` is one of `patterns`: exact names or `prefix*`. */
export function matchesModel(patterns: readonly string[], model: string): boolean {
  for (const pattern of patterns) if (fitsPattern(pattern, model)) return true
  return false
}

/** How well `model` fits: an exact name beats a prefix, and a longer prefix a shorter one; -1: not at all. */
function closeness(patterns: readonly string[], model: string): number {
  let best = -1
  for (const pattern of patterns) {
    if (!pattern.endsWith('*')) {
      if (model === pattern) return Number.POSITIVE_INFINITY
    } else if (pattern.length - 1 > best && model.startsWith(pattern.slice(0, -1))) {
      best = pattern.length - 1
    }
  }
  return best
}

const BELOW_OPENAI = /^\/openai\//i

interface DefaultConfig {
  readonly defaultUpstream: string
  /** `false`: it is only the first. */
  readonly isDefaultWritten?: boolean
}

/** @param unserved called for each call of an API that no upstream has, with whose API it is. */
export function buildUpstreamTable(
  upstreams: readonly Upstream[],
  { defaultUpstream, isDefaultWritten = true }: DefaultConfig,
  unserved: (family: ApiFamily) => void = () => {},
  routes: RouteTable | null = null,
): UpstreamTable {
  const fallback = defaultOf(upstreams, defaultUpstream)
  // The longest prefix comes first: otherwise /a would take the calls of /a/b.
  const prefixed = upstreams
    .filter((upstream) => upstream.pathPrefix !== null)
    .map((upstream) => {
      const prefix = upstream.pathPrefix ?? ''
      return { upstream, prefix, lowerPrefix: prefix.toLowerCase() }
    })
    .sort((a, b) => b.prefix.length - a.prefix.length)
  const named = upstreams.filter(({ pathPrefix, models }) => pathPrefix === null && models !== null)
  const roots = upstreams.filter(({ pathPrefix }) => pathPrefix === null)
  // Where the lists of several decide, the first of them is not meant by a model that stands in none.
  const takesRest = isDefaultWritten || roots.length < 2

  function byModel({ model, family, path }: AskedModel & { readonly model: string }): Upstream | null {
    // Google's libraries write it so into bodies.
    const name = model.startsWith('models/') ? model.slice('models/'.length) : model
    let best: Upstream | null = null
    let bestFit = -1
    for (const upstream of named) {
      const found = closeness(upstream.models ?? [], name)
      const isCloser =
        found === bestFit && best !== null
          ? !speaks(best.provider, family, path) && speaks(upstream.provider, family, path)
          : found > bestFit
      if (!isCloser) continue
      best = upstream
      bestFit = found
    }
    return best
  }

  /** Without a name, below `/openai`: who has OpenAI's API there. */
  function byPlace({ model, path }: AskedModel): Upstream | null {
    if (model !== null || !BELOW_OPENAI.test(path) || entryOf(fallback.provider).isAnyServer) return null
    return [fallback, ...roots].find(({ provider }) => entryOf(provider).isBelowOpenAi) ?? null
  }

  /** Without a name: the one whose own API it is, then any that serves it, the default one before the others. */
  function byFamily({ model, family, path }: AskedModel): Upstream | null {
    if (model === null && family !== null && ownFamily(fallback.provider) !== family) {
      const own = roots.find(({ provider }) => ownFamily(provider) === family)
      if (own !== undefined) return own
    }
    const hasApi = ({ provider }: Upstream) => speaks(provider, family, path)
    const serves = (one: Upstream) =>
      hasApi(one) && (model === null || one.models === null || (takesRest && one === fallback))
    const found = serves(fallback) ? fallback : roots.find(serves)
    if (found === undefined && family !== null && ![fallback, ...roots].some(hasApi)) unserved(family)
    return found ?? null
  }

  return {
    all: upstreams,
    fallback,
    routes,
    needsModel: named.length > 0 && upstreams.length > 1,
    byPrefix(target) {
      if (prefixed.length === 0) return null
      for (const { upstream, prefix } of prefixed) {
        if (!isUnder(target.pathAndQuery, prefix)) continue
        const rest = target.pathAndQuery.slice(prefix.length)
        const inner = targetOf(rest.startsWith('/') ? rest : `/${rest}`)
        return inner === null ? 'misspelt' : { upstream, target: inner }
      }
      const path = target.canonicalPath.toLowerCase()
      return prefixed.some(({ lowerPrefix }) => isUnder(path, lowerPrefix)) ? 'misspelt' : null
    },
    byModel,
    choose(asked) {
      const { model } = asked
      return (model === null ? null : byModel({ ...asked, model })) ?? byPlace(asked) ?? byFamily(asked)
    },
  }
}

function defaultOf(upstreams: readonly Upstream[], name: string): Upstream {
  const found = upstreams.find((upstream) => upstream.name === name) ?? upstreams[0]
  if (found === undefined) throw new Error('an upstream table needs an upstream')
  return found
}

/** A backend as the stages need it: where its bytes go and how its answers are read. */
export interface Upstream {
  readonly name: string
  /** `scheme://host:port`. */
  readonly origin: string
  /** `host[:port]` for the Host header. */
  readonly host: string
  /**
   * Put before the client's path, '' or `/x`. By concatenation, so that no byte of the client's is
   * normalised.
   */
  readonly basePath: string
  readonly provider: Provider
  /** Name and value of the header that carries our key; `null`: none is sent. */
  readonly credential: readonly [name: string, value: string] | null
  /** In place of a key, a credential that ends: see `credentialOf`, and `signatureFor`. */
  readonly fetched: FetchedCredential | null
  /** The client's own credential goes there, and no other. */
  readonly takesClients: boolean
  readonly models: readonly string[] | null
  /** Path and query of its list of models; `null`: it has none. */
  readonly modelsPath: string | null
  readonly pathPrefix: string | null
  readonly includeUsage: 'auto' | 'always' | 'never'
  /** Which files, batches, responses and so on a client sees and uses: its own, or all of the account's. */
  readonly objects: 'owned' | 'shared'
  /** The names of all upstreams at the same address, its own among them: they share their objects. */
  readonly account: readonly string[]
  /** The gateway's base path. */
  readonly mountedAt: string
  /** Where clients reach the gateway, its base path included; `null`: where a call was sent. */
  readonly publicUrl: string | null
  /** The gateway says itself which web pages may read its answers: what an upstream says of that ends here. */
  readonly ownsOrigins: boolean
  readonly pool: ConnectionPool
}

/** A name that clients use, with the upstreams that its calls may go to. */
export interface ModelRoute extends Omit<RouteConfig, 'to'> {
  readonly targets: readonly RouteTarget[]
}

export interface RouteTarget {
  readonly upstream: Upstream
  /** What the model is called there. */
  readonly model: string
  readonly weight: number
}

/** A route's target, as one that a call may go to. */
export interface RouteChoice {
  readonly rules: ModelRoute
  /** The name that the client wrote. */
  readonly asked: string
  readonly model: string
  /** `model`, as it stands in a body. */
  readonly written: Buffer
  /** The place in the configuration, from 0. */
  readonly place: number
}

/** Whose call it is, as far as the order of its targets depends on that. */
export interface OrderedCall {
  readonly caller: { readonly clientId: string; readonly clientName: string }
  readonly request: { readonly headers: IncomingHttpHeaders }
}

/** A place that a call may go to, as far as its turn depends on that. */
export interface OrderedRoute {
  readonly upstream: { readonly name: string }
  readonly choice: RouteChoice | null
}

/** The routes of one reading of the configuration. */
export interface RouteTable {
  readonly names: readonly string[]
  find(name: string): ModelRoute | null
  /** The targets in the order in which they are to be tried: those whose circuit is open come last. */
  order<Found extends OrderedRoute>(found: readonly Found[], call: OrderedCall): readonly Found[]
  readonly circuits: Circuits
}

interface PoolLimits {
  /** Milliseconds to wait for the response's headers. */
  readonly headersTimeoutMs: number
  /** Milliseconds between two pieces of a body. */
  readonly idleTimeoutMs: number
}

/**
 * Connections to one origin, as many as there are calls under way.
 *
 * @param keepAlive Whether one is used again: where an upstream answers twice, the second answer would be another call's.
 */
export function openPool(
  origin: string,
  { headersTimeoutMs, idleTimeoutMs }: PoolLimits,
  keepAlive = true,
): ConnectionPool {
  const limits = { connectMs: 10_000, headersMs: headersTimeoutMs, bodyMs: idleTimeoutMs }
  return new ConnectionPool(origin, limits, keepAlive)
}
