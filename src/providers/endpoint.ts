import type { Dialect } from './dialect.ts'

/** One metered endpoint of a provider. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** Tells whether a canonical path means this endpoint; `lowerPath` is the same in lower case. */
  readonly matches: (path: string, lowerPath: string) => boolean
  readonly dialect: Dialect
}

/** A POST endpoint known by the end of its path, in lower case, whatever prefix a provider puts before it. */
export function postTo(end: string, dialect: Dialect): Endpoint {
  return { method: 'POST', matches: (_path, lowerPath) => lowerPath.endsWith(end), dialect }
}

/** An endpoint known by a pattern of its path, whatever the case of its letters. */
export function endpoint(method: Endpoint['method'], pattern: RegExp, dialect: Dialect): Endpoint {
  const anyCase = new RegExp(pattern.source, 'i')
  return { method, matches: (path) => anyCase.test(path), dialect }
}

/** An endpoint that asks for a response that was made before, by the id in its path: its usage counts once. */
export function fetching(method: Endpoint['method'], pattern: RegExp, dialect: Dialect): Endpoint {
  return endpoint(method, pattern, { ...dialect, responseUse: 'fetched' })
}

const DEPLOYMENT = /\/(?:deployments|serving-endpoints)\/([^/]+)\//i

/** The deployment that Azure and Databricks name in the path; `null` without one. */
export function deploymentIn(path: string): string | null {
  return DEPLOYMENT.exec(`${path}/`)?.[1] ?? null
}
