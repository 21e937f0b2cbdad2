import type { ProviderEntry } from '../provider.ts'
import { type FindGroup, groupFinder, type PathGroup } from '../provider.ts'
import { entryOf, PROVIDERS, type Provider } from '../registry.ts'
import { FREE_EVERYWHERE } from './free-paths.ts'
import { REFUSED_EVERYWHERE } from './refused-paths.ts'

/** A group of paths, and the providers at which it holds. */
export interface ListedGroup extends PathGroup {
  /** Absent: all. */
  readonly providers?: readonly Provider[]
}

/** One kind of known paths: where it is looked up, and the whole list. */
interface KnownPaths {
  /** The first group at `provider` that the path belongs to; `path` is canonical, without a slash at its end. */
  find(provider: Provider, method: string, path: string): PathGroup | null
  /** All groups of all providers. */
  list(): readonly ListedGroup[]
}

/**
 * Requests with a body that are known to be free, or to begin work that is billed later. What is neither here nor a
 * metered endpoint is unread: without a price, never 0. Requests without a body are not looked up here.
 */
export const FREE_PATHS = knownPaths(FREE_EVERYWHERE, ({ freePaths = [] }) => freePaths)

/** Requests whose work the provider bills without figures in the answer: unread, so unpriced, never 0. */
export const BILLED_APART_PATHS = knownPaths([], ({ billedApartPaths = [] }) => billedApartPaths)

/** The paths that are refused unless the configuration's `paths.allow` lifts it. */
export const REFUSED_PATHS = knownPaths(REFUSED_EVERYWHERE, refusedAt)

/** The same by the path of the upstream's address with the call's behind it. */
export const REFUSED_WHOLE_PATHS = knownPaths([], ({ refusedWholePaths = [] }) => refusedWholePaths)

/** Changes of a server are refused wherever any server may stand, whichever it is. */
function refusedAt(entry: ProviderEntry): readonly PathGroup[] {
  if (entry.isAnyServer !== true) return entry.refusedPaths ?? []
  const servers = PROVIDERS.map(entryOf).filter(({ catalog }) => catalog === null)
  return [...new Set(servers.flatMap(({ refusedPaths = [] }) => refusedPaths))]
}

function knownPaths(
  everywhere: readonly PathGroup[],
  own: (entry: ProviderEntry) => readonly PathGroup[],
): KnownPaths {
  const finders = new Map<Provider, FindGroup>()
  return {
    find(provider, method, path) {
      let find = finders.get(provider)
      if (find === undefined) {
        find = groupFinder([...everywhere, ...own(entryOf(provider))])
        finders.set(provider, find)
      }
      return find(method, path)
    },
    list() {
      const holders = new Map<PathGroup, Provider[]>()
      for (const provider of PROVIDERS) {
        for (const group of own(entryOf(provider))) {
          holders.set(group, [...(holders.get(group) ?? []), provider])
        }
      }
      return [...everywhere, ...[...holders].map(([group, providers]) => ({ ...group, providers }))]
    },
  }
}
