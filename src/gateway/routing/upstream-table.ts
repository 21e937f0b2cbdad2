import { type CallTarget, isUnder, targetOf } from './call-target.ts'
import type { Upstream } from './upstreams.ts'

/** An upstream found by its path prefix, and what to ask it for, without the prefix. */
export interface PrefixMatch {
  readonly upstream: Upstream
  readonly target: CallTarget
}

/** Chooses the upstream of a call. */
export interface UpstreamTable {
  readonly all: readonly Upstream[]
  /**
   * By path prefix alone; `null` when no upstream's prefix matches. `misspelt`: some servers would take the
   * path for one below a prefix, but the prefix is not written as it is configured, so its end is unknown.
   */
  byPrefix(target: CallTarget): PrefixMatch | 'misspelt' | null
  /** Whether an upstream is chosen by model name, so that the model has to be known. */
  readonly needsModel: boolean
  /** Chooses among upstreams without a prefix: by model name, else the default one. */
  byModel(model: string | null): Upstream
}

/** Whether `model` is one of `patterns`: exact names or `prefix*`. */
export function matchesModel(patterns: readonly string[], model: string): boolean {
  for (const pattern of patterns) {
    if (pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern) return true
  }
  return false
}

/** How well `model` fits: an exact name beats a prefix, and a longer prefix a shorter one; -1: not at all. */
function closeness(patterns: readonly string[], model: string): number {
  let best = -1
  for (const pattern of patterns) {
    if (!pattern.endsWith('*')) {
      if (model === pattern) return Number.POSITIVE_INFINITY
    } else if (pattern.length - 1 > best && model.startsWith(pattern.slice(0, -1))) {
      best = pattern.length - 1
    }
  }
  return best
}

export function buildUpstreamTable(upstreams: readonly Upstream[], defaultName: string): UpstreamTable {
  const fallback = upstreams.find(({ name }) => name === defaultName) ?? upstreams[0]
  if (fallback === undefined) throw new Error('an upstream table needs an upstream')
  // The longest prefix comes first: otherwise /a would take the calls of /a/b.
  const prefixed = upstreams
    .filter((upstream) => upstream.pathPrefix !== null)
    .map((upstream) => {
      const prefix = upstream.pathPrefix ?? ''
      return { upstream, prefix, lowerPrefix: prefix.toLowerCase() }
    })
    .sort((a, b) => b.prefix.length - a.prefix.length)
  const named = upstreams.filter(({ pathPrefix, models }) => pathPrefix === null && models !== null)
  return {
    all: upstreams,
    needsModel: named.length > 0 && upstreams.length > 1,
    byPrefix(target) {
      if (prefixed.length === 0) return null
      for (const { upstream, prefix } of prefixed) {
        if (!isUnder(target.pathAndQuery, prefix)) continue
        const rest = target.pathAndQuery.slice(prefix.length)
        const inner = targetOf(rest.startsWith('/') ? rest : `/${rest}`)
        return inner === null ? 'misspelt' : { upstream, target: inner }
      }
      const path = target.canonicalPath.toLowerCase()
      return prefixed.some(({ lowerPrefix }) => isUnder(path, lowerPrefix)) ? 'misspelt' : null
    },
    byModel(model) {
      if (model === null) return fallback
      let best = fallback
      let bestFit = -1
      for (const upstream of named) {
        const found = closeness(upstream.models ?? [], model)
        if (found > bestFit) {
          best = upstream
          bestFit = found
        }
      }
      return best
    },
  }
}
