import type { IncomingHttpHeaders } from 'node:http'
import { compilePathPatterns } from '../../domain/path-patterns.ts'
import { bedrockModelInPath } from '../bedrock/bedrock-usage.ts'
import type { Dialect } from '../dialect.ts'
import { deploymentIn } from '../dialect.ts'
import { googleModelInPath } from '../google/google-path.ts'
import type { ApiFamily } from '../provider.ts'
import { endpointsOf, entryOf, modelListPathOf, type Provider } from '../registry.ts'
import { FREE_EVERYWHERE } from './free-paths.ts'

/** `/v1/messages/batches/{id}/results` is three below what an entry names. Longer paths only name objects. */
const MAX_PARENTS = 4
const MAX_LENGTH = 512
/** Clients ask for few paths, but for ids in them. */
const MAX_KEPT = 1_000
/** The first part of Cohere's second version, which OpenAI's API does not have. */
const SECOND_VERSION = /(?:^|\/)v2\//i
/** Formats of OpenAI's that every provider may have beside its own. */
const EVERYWHERE = /\/(?:chat\/completions|embeddings)$/i
const AWS_SIGNATURE = /^AWS4-/i

/** The facts that a path tells. */
interface Evidence {
  /** The families whose APIs have it, OpenAI's first. */
  readonly families: readonly ApiFamily[]
  /** Several families have it, those too that are not named: the headers decide. */
  readonly isCommon: boolean
}

const UNKNOWN: Evidence = { families: [], isCommon: false }
const kept = new Map<string, Evidence>()

/**
 * Whose API a call speaks, by the paths that the providers' entries name and the headers that their libraries send;
 * `null`: no entry tells.
 *
 * @param path canonical
 */
export function apiFamilyOf(path: string, headers: IncomingHttpHeaders): ApiFamily | null {
  const { families, isCommon } = evidenceOf(path)
  const [first] = families
  if (families.length === 1 && first !== undefined && !isCommon) return first
  const byHeader = familyByHeader(headers)
  if (first === undefined) return byHeader ?? (isCommon ? 'openai' : null)
  return byHeader !== null && (isCommon || families.includes(byHeader)) ? byHeader : first
}

/** Tells whether calls of `family` on a canonical path may go to `provider`. `null`: any may. */
export function speaks(provider: Provider, family: ApiFamily | null, path: string): boolean {
  if (family === null) return true
  const { apis = OPENAI } = entryOf(provider)
  return apis.includes(family) || (family === 'openai' && EVERYWHERE.test(path))
}

const OPENAI: readonly ApiFamily[] = ['openai']

/** Whose API is `provider`'s own. */
export function ownFamily(provider: Provider): ApiFamily {
  return entryOf(provider).apis?.[0] ?? 'openai'
}

/** The model that a canonical path names the way its family does; `null`: none. */
export function modelInPathOf(family: ApiFamily | null, path: string): string | null {
  if (family === 'google') return googleModelInPath(path)
  if (family === 'bedrock') return bedrockModelInPath(path)
  return family === 'openai' ? deploymentIn(path) : null
}

function evidenceOf(path: string): Evidence {
  if (path.length > MAX_LENGTH) return UNKNOWN
  let found = kept.get(path)
  if (found === undefined) {
    found = findEvidence(path)
    if (kept.size >= MAX_KEPT) kept.clear()
    kept.set(path, found)
  }
  return found
}

/** Whose entries say what the API of a family is. */
const HOMES: Readonly<Record<ApiFamily, readonly Provider[]>> = {
  openai: ['openai', 'azure-openai'],
  anthropic: ['anthropic'],
  google: ['gemini', 'vertex'],
  bedrock: ['bedrock'],
  ollama: ['ollama'],
  cohere: ['cohere'],
}
const FAMILIES = Object.keys(HOMES) as readonly ApiFamily[]

/** The paths in the entries of one family. */
interface Matchers {
  /** Tells whether an entry names the path, in whatever method. */
  has(path: string): boolean
  /** Tells whether an entry names all that is below a path above it. */
  hasAbove(path: string): boolean
  isOnlyHere(path: string): boolean
}

const made = new Map<ApiFamily, Matchers>()

/** The matchers of a family, made at its first call. */
function matchersOf(family: ApiFamily): Matchers {
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
  const lists = new Set(homes.map(({ provider }) => modelListPathOf(provider)?.replace(/\?.*$/, '')))
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

/** Tells whether it is a dialect of another family's, which every provider may have beside its own. */
function isOfOthers(dialect: Dialect): boolean {
  return FAMILIES.some(
    (family) =>
      family !== 'openai' &&
      HOMES[family].some((provider) =>
        entryOf(provider).endpoints.some((endpoint) => endpoint.dialect === dialect),
      ),
  )
}

/** Tells whether a canonical path is one of those that are free at every provider. */
const isFreeEverywhere = matcherOf(FREE_EVERYWHERE.flatMap(({ patterns }) => patterns))

/** Patterns of paths, whatever the methods that stand before them. */
function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  const match = compilePathPatterns([...new Set(patterns.map((pattern) => pattern.replace(/^\S+ +/, '')))])
  return (path) => match('GET', path) !== null
}

/** A path that no entry names belongs to what is above it: batches, results and counts are below what they are of. */
function findEvidence(path: string): Evidence {
  const own = FAMILIES.filter((family) => matchersOf(family).isOnlyHere(path))
  if (own.length > 0) return { families: own, isCommon: false }
  let isCommon = false
  let families: readonly ApiFamily[] = []
  let at = path
  for (let level = 0; level <= MAX_PARENTS && at !== ''; level += 1) {
    const isFree = isFreeEverywhere(at)
    if (families.length === 0) families = withCommon(familiesAt(at), isFree)
    // Paths below one that all have, all have too.
    isCommon ||= isFree
    at = at.slice(0, at.lastIndexOf('/'))
  }
  return { families, isCommon: isCommon && (families.length === 0 || families.includes('openai')) }
}

/** Paths that are free everywhere are OpenAI's first of all, as files are. */
function withCommon(families: readonly ApiFamily[], isCommon: boolean): readonly ApiFamily[] {
  return isCommon && families.length > 0 && !families.includes('openai') ? ['openai', ...families] : families
}

function familiesAt(path: string): readonly ApiFamily[] {
  const named = FAMILIES.filter((family) => matchersOf(family).has(path))
  const found = named.length > 0 ? named : FAMILIES.filter((family) => matchersOf(family).hasAbove(path))
  return found.includes('cohere') && SECOND_VERSION.test(path) ? ['cohere'] : found
}

/** Headers that only libraries of one family send: a version, or where there is none, that of the credential. */
const BY_HEADER: readonly (readonly [name: string, family: ApiFamily])[] = [
  ...FAMILIES.flatMap((family) =>
    HOMES[family].flatMap((provider) =>
      Object.keys(entryOf(provider).requestHeaders ?? {}).map((name) => [name, family] as const),
    ),
  ),
  ...FAMILIES.flatMap((family) =>
    HOMES[family]
      .map((provider) => entryOf(provider))
      .filter(({ credential, requestHeaders }) => {
        return requestHeaders === undefined && credential.name !== 'authorization'
      })
      .map(({ credential }) => [credential.name, family] as const),
  ),
]

function familyByHeader(headers: IncomingHttpHeaders): ApiFamily | null {
  if (AWS_SIGNATURE.test(headers.authorization ?? '')) return 'bedrock'
  return BY_HEADER.find(([name]) => headers[name] !== undefined)?.[1] ?? null
}
