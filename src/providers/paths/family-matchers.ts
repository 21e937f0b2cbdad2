import { compilePathPatterns } from '../../domain/path-patterns.ts'
import type { Dialect } from '../dialect.ts'
import { endpointsOf } from '../dialects.ts'
import type { ApiFamily } from '../provider.ts'
import { entryOf, modelListPathOf, type Provider } from '../registry.ts'
import { FREE_EVERYWHERE } from './free-paths.ts'

/** Whose entries say what the API of a family is. */
export const HOMES: Readonly<Record<ApiFamily, readonly Provider[]>> = {
  openai: ['openai', 'azure-openai'],
  anthropic: ['anthropic'],
  google: ['gemini', 'vertex'],
  bedrock: ['bedrock'],
  ollama: ['ollama'],
  cohere: ['cohere'],
}
export const FAMILIES = Object.keys(HOMES) as readonly ApiFamily[]

/** What the entries of one family say of paths. */
interface Matchers {
  /** Whether an entry names the path, in whatever method. */
  has(path: string): boolean
  /** Whether an entry names all that is below a path above it. */
  hasAbove(path: string): boolean
  isOnlyHere(path: string): boolean
}

const made = new Map<ApiFamily, Matchers>()

/** The matchers of a family, made at its first call. */
export function matchersOf(family: ApiFamily): Matchers {
  let matchers = made.get(family)
  if (matchers === undefined) {
    matchers = makeMatchers(family)
    made.set(family, matchers)
  }
  return matchers
}

function makeMatchers(family: ApiFamily): Matchers {
  const homes = HOMES[family].map((provider) => ({ provider, entry: entryOf(provider) }))
  // Formats of others stand among the endpoints that every provider may have.
  const endpoints = homes.flatMap(({ provider, entry }) =>
    family === 'openai'
      ? endpointsOf(provider).filter(({ dialect }) => !isOfOthers(dialect))
      : entry.endpoints,
  )
  const groups = homes.flatMap(({ entry }) => [
    ...(entry.freePaths ?? []),
    ...(entry.billedApartPaths ?? []),
    ...(entry.refusedPaths ?? []),
  ])
  const patterns = groups.flatMap((group) => group.patterns)
  const matches = matcherOf(patterns.filter((pattern) => !pattern.endsWith('/**')))
  const isOnlyHere = matcherOf(homes.flatMap(({ entry }) => entry.ownPaths ?? []))
  const lists = new Set(homes.map(({ provider }) => modelListPathOf(provider).replace(/\?.*$/, '')))
  return {
    has(path) {
      const lowerPath = path.toLowerCase()
      return (
        lists.has(lowerPath) ||
        endpoints.some((endpoint) => endpoint.matches(path, lowerPath)) ||
        matches(path)
      )
    },
    hasAbove: matcherOf(patterns.filter((pattern) => pattern.endsWith('/**'))),
    isOnlyHere,
  }
}

/** Whether it is a dialect of another family's, which every provider may have beside its own. */
function isOfOthers(dialect: Dialect): boolean {
  return FAMILIES.some(
    (family) =>
      family !== 'openai' &&
      HOMES[family].some((provider) =>
        entryOf(provider).endpoints.some((endpoint) => endpoint.dialect === dialect),
      ),
  )
}

/** Whether a canonical path is one of those that are free at every provider. */
export const isFreeEverywhere = matcherOf(FREE_EVERYWHERE.flatMap(({ patterns }) => patterns))

/** Patterns of paths, whatever the methods that stand before them. */
function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  const match = compilePathPatterns([...new Set(patterns.map((pattern) => pattern.replace(/^\S+ +/, '')))])
  return (path) => match('GET', path) !== null
}
