import { canonicalPath } from './canonical-path.ts'

/**
 * Also where a client's base URL has no `/v1`, or one that its library adds again. Below `/models` alone, servers have
 * paths of their own.
 */
const OWN = /^(?:\/v1)+\/(usage$|models(?:$|\/))|^\/(usage|models)$/i

/** Whether a canonical path is one of the gateway's own operations. */
export function isOwnOperation(canonical: string): boolean {
  return OWN.test(canonical)
}

/**
 * Writes the target of one of the gateway's own operations as the router knows it: `GET /v1/usage`, `GET
 * /v1/models` and `GET /v1/models/{id}`. Otherwise another spelling of them would go upstream as a call. All
 * other targets stay as they are.
 *
 * @param url the target as it came.
 */
export function ownOperationUrl(method: string | undefined, url: string, basePath: string): string {
  if ((method !== 'GET' && method !== 'HEAD') || !url.startsWith(basePath)) return url
  const queryStart = url.indexOf('?', basePath.length)
  const path = queryStart === -1 ? url.slice(basePath.length) : url.slice(basePath.length, queryStart)
  const canonical = canonicalPath(path)
  const found = canonical === null ? null : OWN.exec(canonical)
  if (canonical === null || found === null) return url
  const known = `/v1/${(found[1] ?? found[2] ?? '').toLowerCase()}`
  const id = canonical.slice(found[0].length)
  if (canonical === path && path.startsWith(known)) return url
  return `${basePath}${known}${encodeURI(id)}${queryStart === -1 ? '' : url.slice(queryStart)}`
}
