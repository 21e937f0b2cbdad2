import { canonicalPath } from '../../../src/domain/canonical-path.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { selectDialect } from '../../../src/providers/registry.ts'

/** The dialect of a call whose path is written as a client sends it. */
export function dialectOf(provider: Provider, method: string, path: string): Dialect | null {
  return selectDialect(provider, method, canonicalPath(path) ?? path)
}

/** The model that such a path names, as its dialect reads it. */
export function modelInPathOf(provider: Provider, method: string, path: string): string | null {
  const canonical = canonicalPath(path) ?? path
  return selectDialect(provider, method, canonical)?.modelInPath(canonical) ?? null
}
