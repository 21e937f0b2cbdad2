import type { Dialect } from './dialect.ts'

/** One metered endpoint of a provider. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** Whether a path, without query and without a slash at its end, means this endpoint. */
  readonly matches: (path: string) => boolean
  readonly dialect: Dialect
}

/** A POST endpoint known by the end of its path, whatever prefix a provider puts before it. */
export function postTo(end: string, dialect: Dialect): Endpoint {
  return { method: 'POST', matches: (path) => path.endsWith(end), dialect }
}

/** An endpoint known by a pattern of its path. */
export function endpoint(method: Endpoint['method'], pattern: RegExp, dialect: Dialect): Endpoint {
  return { method, matches: (path) => pattern.test(path), dialect }
}
