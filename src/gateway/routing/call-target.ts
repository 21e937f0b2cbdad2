import { canonicalPath } from '../../domain/canonical-path.ts'

/** What a call asks for, below the gateway's base path. */
export interface CallTarget {
  /** As the client wrote it, and as the upstream gets it; begins with `/`. */
  readonly pathAndQuery: string
  /** The same without its query. */
  readonly path: string
  /** The path that every decision is made by; see {@link canonicalPath}. */
  readonly canonicalPath: string
}

/**
 * Reads a request's target. The base path has to be written as it is configured.
 *
 * @param url the target, without a key in its query.
 * @returns the target below the base path, or why the request is refused: no upstream may get this path.
 */
export function readCallTarget(url: string, basePath: string): CallTarget | 'invalid_request' | 'not_found' {
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
  return canonical === null ? null : { pathAndQuery, path, canonicalPath: canonical }
}

/** Whether `url` is `prefix` or continues below it. */
export function isUnder(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false
  const next = url[prefix.length]
  return next === undefined || next === '/' || next === '?'
}
