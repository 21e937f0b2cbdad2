import { canonicalPath } from '../../domain/canonical-path.ts'

/**
 * Also where a client's base URL has no `/v1`, or one that its library adds again. Below `/models` alone, servers have
 * paths of their own.
 */
const OWN = /^(?:\/v1)+\/(usage$|models(?:$|\/))|^\/(usage|models)$/i
/** As Google's libraries ask; a colon begins one of its methods. */
const OWN_AS_GOOGLE = /^\/v1beta\/models(?=$|\/[^:]+$)/i

/** Whether a canonical path is one of the gateway's own operations. */
export function isOwnOperation(canonical: string): boolean {
  return OWN.test(canonical) || OWN_AS_GOOGLE.test(canonical)
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
  const found = canonical === null ? null : findOwn(canonical)
  if (canonical === null || found === null) return url
  const { known, id } = found
  if (canonical === path && path.startsWith(known)) return url
  return `${basePath}${known}${encodeURI(id)}${queryStart === -1 ? '' : url.slice(queryStart)}`
}

/** `known`: the path as the router knows it, without the `id` that follows. */
function findOwn(canonical: string): { readonly known: string; readonly id: string } | null {
  const own = OWN.exec(canonical)
  const name = own?.[1] ?? own?.[2]
  if (own !== null && name !== undefined) {
    return { known: `/v1/${name.toLowerCase()}`, id: canonical.slice(own[0].length) }
  }
  const asGoogle = OWN_AS_GOOGLE.exec(canonical)
  return asGoogle === null ? null : { known: '/v1beta/models', id: canonical.slice(asGoogle[0].length) }
}
