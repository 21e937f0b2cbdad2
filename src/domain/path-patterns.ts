interface CompiledPattern {
  readonly text: string
  /** `null`: any. */
  readonly methods: ReadonlySet<string> | null
  readonly glob: string
  /** The longest part without a star: what a path must hold to match at all. */
  readonly literal: string
}

/** Thrown by {@link compilePathPatterns} for an invalid pattern. */
export class PathPatternError extends Error {}

const PATTERN = /^(?:([A-Za-z]+(?:,[A-Za-z]+)*|\*) +)?((?:\/|\*\*)\S*)$/

/** Tells whether {@link compilePathPatterns} accepts `text`. */
export function isPathPattern(text: string): boolean {
  return PATTERN.test(text.trim())
}

/**
 * Compiles patterns such as `POST /v1/files/*` or `GET,DELETE /v1/files/*`: methods (none or `*`: any; GET includes
 * HEAD), then a whole canonical path (no query, no slash at its end) in which `*` is anything but a slash and `**` is
 * anything; letter case does not count. The function made gives the first pattern that matches, as it was written, or
 * `null`. Time is bounded by the length of the path times that of the pattern, whatever they hold. Throws
 * {@link PathPatternError}.
 */
export function compilePathPatterns(
  patterns: readonly string[],
): (method: string, path: string) => string | null {
  const compiled = patterns.map(compile)
  if (compiled.length === 0) return () => null
  const mayMatch = compiled.every(({ literal }) => literal.length > 1)
    ? new RegExp([...new Set(compiled.map(({ literal }) => escapeLiteral(literal)))].join('|'))
    : null
  return (method, path) => {
    // The root alone may end in a slash.
    const lower = path === '' ? '/' : path.toLowerCase()
    // Most calls match no pattern and end here, after one pass over the path.
    if (mayMatch !== null && !mayMatch.test(lower)) return null
    for (const pattern of compiled) {
      if (pattern.methods?.has(method) === false) continue
      if (lower.includes(pattern.literal) && matchesGlob(pattern.glob, lower)) return pattern.text
    }
    return null
  }
}

function compile(text: string): CompiledPattern {
  const [, methods, path] = PATTERN.exec(text.trim()) ?? []
  if (path === undefined) {
    throw new PathPatternError(
      `"${text}" is not a pattern such as POST /v1/files/*, with * for a segment and ** for anything`,
    )
  }
  const glob = path.replace(/\*{3,}/g, '**').toLowerCase()
  const literal = glob.split('*').reduce((longest, part) => (part.length > longest.length ? part : longest))
  return { text, methods: methodsOf(methods), glob, literal }
}

function methodsOf(written: string | undefined): ReadonlySet<string> | null {
  if (written === undefined || written === '*') return null
  const methods = new Set(written.toUpperCase().split(','))
  // A client that may not GET something must not learn of it by HEAD.
  if (methods.has('GET')) methods.add('HEAD')
  return methods
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** Walks both texts once and returns to the last `*` or `**` on a mismatch, so the time stays bounded. */
function matchesGlob(glob: string, path: string): boolean {
  let g = 0
  let p = 0
  let star = -1
  let starAt = 0
  let deep = -1
  let deepAt = 0
  while (p < path.length) {
    if (glob[g] === '*') {
      if (glob[g + 1] === '*') {
        g += 2
        deep = g
        deepAt = p
        star = -1
      } else {
        g += 1
        star = g
        starAt = p
      }
    } else if (g < glob.length && glob[g] === path[p]) {
      g += 1
      p += 1
    } else if (star !== -1 && path[starAt] !== '/') {
      starAt += 1
      p = starAt
      g = star
    } else if (deep !== -1) {
      deepAt += 1
      p = deepAt
      g = deep
      star = -1
    } else return false
  }
  while (glob[g] === '*') g += 1
  return g === glob.length
}

/** Which calls may pass, as the configuration says it for all calls, one upstream, or one key. */
export interface PathRules {
  /**
   * Patterns such as `POST /v1/realtime/*`, on the canonical path as the upstream gets it; they win over `deny` beside
   * them.
   */
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  /** How calls on paths without a dialect are treated; `null`: as the wider rules say. */
  readonly unknown: 'pass' | 'refuse' | null
}

/** Rules for the keys of a client, or for one key. */
export interface KeyPathRules extends PathRules {
  /** The client's name; `null`: of any client. */
  readonly client: string | null
  /** The key's id or label; `null`: every key of the client. */
  readonly key: string | null
}

export const NO_PATH_RULES: PathRules = { allow: [], deny: [], unknown: null }
