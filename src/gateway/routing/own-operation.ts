import { canonicalPath } from './canonical-path.ts'

const OWN = /^\/v1\/(usage$|models(?:$|\/))/i

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
  const operation = canonical === null ? undefined : OWN.exec(canonical)?.[1]
  if (canonical === null || operation === undefined) return url
  const known = `/v1/${operation.toLowerCase()}`
  const id = canonical.slice(known.length)
  if (canonical === path && path.startsWith(known)) return url
  return `${basePath}${known}${encodeURI(id)}${queryStart === -1 ? '' : url.slice(queryStart)}`
}
