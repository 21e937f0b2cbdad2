import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { GatewayConfig } from '../../config/config.ts'
import { canonicalPath } from '../../domain/canonical-path.ts'
import type { ErrorShape } from '../../http/error-shape.ts'
import { findLiteLlmPath } from '../../litellm/compat/own-paths.ts'
import { apiFamilyOf } from '../../providers/paths/family.ts'
import type { ApiFamily } from '../../providers/provider.ts'
import type { Provider } from '../../providers/registry.ts'

/** What a call asks for, below the gateway's base path. */
export interface CallTarget {
  /** As the client wrote it, and as the upstream gets it; begins with `/`. */
  readonly pathAndQuery: string
  /** The same without its query. */
  readonly path: string
  /** The path that every decision is made by; see {@link canonicalPath}. */
  readonly canonicalPath: string
  /** It is the same object for the next call that asks for it. */
  readonly isRemembered: boolean
}

/** Clients ask for few targets, but for ids in them; a client may write as many as it likes. */
const MAX_REMEMBERED = 500
const MAX_REMEMBERED_LENGTH = 200

/** Targets that were asked for before, by their base path and URL: to read one takes longer than to find it. */
const remembered = new Map<string, Map<string, CallTarget>>()

/**
 * Reads a request's target. The base path has to be written as it is configured.
 *
 * @param url the target, without a key in its query.
 * @returns the target below the base path, or why the request is refused: no upstream may get this path.
 */
export function readCallTarget(url: string, basePath: string): CallTarget | 'invalid_request' | 'not_found' {
  const known = remembered.get(basePath)?.get(url)
  if (known !== undefined) return known
  const target = readTarget(url, basePath)
  return typeof target === 'string' || url.length > MAX_REMEMBERED_LENGTH
    ? target
    : remember(url, basePath, target)
}

function remember(url: string, basePath: string, read: CallTarget): CallTarget {
  const target = { ...read, isRemembered: true }
  let targets = remembered.get(basePath)
  if (targets === undefined) {
    targets = new Map()
    remembered.set(basePath, targets)
  }
  if (targets.size >= MAX_REMEMBERED) targets.clear()
  targets.set(url, target)
  return target
}

function readTarget(url: string, basePath: string): CallTarget | 'invalid_request' | 'not_found' {
  if (basePath !== '' && !isUnder(url, basePath)) return 'not_found'
  const rest = basePath === '' ? url : url.slice(basePath.length)
  if (rest.includes('#')) return 'invalid_request'
  // This refuses absolute URLs, `*` and authorities. Directly below a base path, the slash may be missing.
  if (!rest.startsWith('/') && basePath === '') return 'invalid_request'
  return targetOf(rest.startsWith('/') ? rest : `/${rest}`) ?? 'invalid_request'
}

/** `null`: no upstream may get this path. */
export function targetOf(pathAndQuery: string): CallTarget | null {
  const queryStart = pathAndQuery.indexOf('?')
  const path = queryStart === -1 ? pathAndQuery : pathAndQuery.slice(0, queryStart)
  const canonical = canonicalPath(path)
  return canonical === null ? null : { pathAndQuery, path, canonicalPath: canonical, isRemembered: false }
}

/** Whether `url` is `prefix` or continues below it. */
export function isUnder(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false
  const next = url[prefix.length]
  return next === undefined || next === '/' || next === '?'
}

/**
 * Also where a client's base URL has no `/v1`, or one that its library adds again. Below `/models` alone, servers have
 * paths of their own.
 */
const OWN = /^(?:\/v1)+\/(usage(?=$|\/calls\/[^/]+$)|models(?:$|\/))|^\/(usage|models)$/i
const RECEIPTS = /^\/calls\//i
/** As Google's libraries ask; a colon begins one of its methods. */
const OWN_AS_GOOGLE = /^\/v1beta\/models(?=$|\/[^:]+$)/i

/** Whether a canonical path is one of the gateway's own operations. */
export function isOwnOperation(canonical: string, compat: GatewayConfig['compat']): boolean {
  return findOwn(canonical, compat) !== null
}

/**
 * Writes the target of one of the gateway's own operations as the router knows it: `GET /v1/usage`, `GET
 * /v1/usage/calls/{id}`, `GET /v1/models` and `GET /v1/models/{id}`. Otherwise another spelling of them would go upstream as a call. All
 * other targets stay as they are.
 *
 * @param url the target as it came.
 */
export function ownOperationUrl(
  method: string | undefined,
  url: string,
  { basePath, compat }: Pick<GatewayConfig, 'basePath' | 'compat'>,
): string {
  if ((method !== 'GET' && method !== 'HEAD') || !url.startsWith(basePath)) return url
  const queryStart = url.indexOf('?', basePath.length)
  const path = queryStart === -1 ? url.slice(basePath.length) : url.slice(basePath.length, queryStart)
  const canonical = canonicalPath(path)
  const found = canonical === null ? null : findOwn(canonical, compat)
  if (canonical === null || found === null) return url
  const { known, id } = found
  if (canonical === path && path.startsWith(known)) return url
  return `${basePath}${known}${encodeURI(id)}${queryStart === -1 ? '' : url.slice(queryStart)}`
}

/** `known`: the path as the router knows it, without the `id` that follows. */
function findOwn(
  canonical: string,
  compat: GatewayConfig['compat'],
): { readonly known: string; readonly id: string } | null {
  const own = OWN.exec(canonical)
  const name = own?.[1] ?? own?.[2]
  if (own !== null && name !== undefined) {
    const id = canonical.slice(own[0].length).replace(RECEIPTS, (word) => word.toLowerCase())
    return { known: `/v1/${name.toLowerCase()}`, id }
  }
  const asGoogle = OWN_AS_GOOGLE.exec(canonical)
  if (asGoogle !== null) return { known: '/v1beta/models', id: canonical.slice(asGoogle[0].length) }
  const known = compat === 'litellm' ? findLiteLlmPath(canonical) : null
  return known === null ? null : { known, id: '' }
}

const SHAPES: Readonly<Record<ApiFamily, ErrorShape>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  bedrock: 'aws',
  ollama: 'ollama',
  cohere: 'message',
}
/** Those whose paths are OpenAI's, and whose own libraries read other errors. */
const OWN_SHAPES: ReadonlyMap<Provider, ErrorShape> = new Map([
  ['mcp', 'json_rpc'],
  ['mistral', 'message'],
  ['xai', 'xai'],
])
/** Google serves OpenAI's API below its own. */
const OPENAI_WITHIN = /\/openai\//i

/**
 * The shape of errors that the client library behind a call reads: by the path and the header of its credential, and
 * where it is routed, by its provider.
 *
 * @param path canonical
 */
export function errorShapeOf(
  path: string,
  headers: IncomingHttpHeaders,
  provider: Provider | null,
): ErrorShape {
  const family = OPENAI_WITHIN.test(path) ? 'openai' : (apiFamilyOf(path, headers) ?? 'openai')
  return family === 'openai' && provider !== null ? (OWN_SHAPES.get(provider) ?? 'openai') : SHAPES[family]
}

/** The same for a request of which no stage knows anything yet. */
export function shapeOfRequest({ url = '/', headers }: IncomingMessage): ErrorShape {
  return errorShapeOf(targetOf(url)?.canonicalPath ?? '', headers, null)
}
