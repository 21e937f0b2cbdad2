import { compilePathPatterns } from '../../domain/path-patterns.ts'

/** Paths that no dialect reads, and what is known of them. */
export interface PathGroup {
  /** As {@link compilePathPatterns} takes them. */
  readonly patterns: readonly string[]
  readonly why: string
  /** The request only begins work: what reports the usage of that. Absent: nothing is left to report. */
  readonly reportedBy?: string
}

/** Finds the first group of a list that a path belongs to; `path` is canonical, without a slash at its end. */
export type FindGroup = (method: string, path: string) => PathGroup | null

/** Compiles `groups` for {@link FindGroup}. Do it once, not for every call. */
export function groupFinder(groups: readonly PathGroup[]): FindGroup {
  const byPattern = new Map<string, PathGroup>()
  for (const group of groups) {
    for (const pattern of group.patterns) if (!byPattern.has(pattern)) byPattern.set(pattern, group)
  }
  const match = compilePathPatterns([...byPattern.keys()])
  return (method, path) => {
    const pattern = match(method, path)
    return pattern === null ? null : (byPattern.get(pattern) ?? null)
  }
}
