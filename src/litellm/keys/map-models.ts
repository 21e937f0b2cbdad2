import { isModelPattern } from '../../domain/names.ts'

/** Which models a row of LiteLLM allows. */
export type Allowed =
  | { readonly kind: 'all' }
  | { readonly kind: 'list'; readonly models: readonly string[]; readonly unmapped: readonly string[] }
  /** None: the row says so, or nothing of its list can be said here. */
  | { readonly kind: 'none' }
  /** Those of its team. */
  | { readonly kind: 'team' }

const ALL = new Set(['*', 'all-proxy-models'])
const OF_TEAM = 'all-team-models'
const NONE = 'no-default-models'

/** Reads a column `models`. An empty one leaves the choice to the team, or allows all. */
export function readAllowed(models: readonly string[]): Allowed {
  if (models.length === 0 || models.some((name) => ALL.has(name))) return { kind: 'all' }
  if (models.includes(OF_TEAM)) return { kind: 'team' }
  const named = models.filter((name) => name !== NONE)
  const kept = named.filter(isModelPattern)
  return kept.length === 0
    ? { kind: 'none' }
    : {
        kind: 'list',
        models: [...new Set(kept)],
        unmapped: named.filter((name) => !isModelPattern(name)),
      }
}

/** What two lists of patterns both allow; `null` stands for all models, and `[]` for none. */
export function allowedByBoth(
  one: readonly string[] | null,
  other: readonly string[] | null,
): readonly string[] | null {
  if (one === null) return other
  if (other === null) return one
  return [
    ...new Set([
      ...one.filter((name) => other.some((pattern) => covers(pattern, name))),
      ...other.filter((name) => one.some((pattern) => covers(pattern, name))),
    ]),
  ]
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}
