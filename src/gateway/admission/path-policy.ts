import type { Caller } from '../../call/call-ports.ts'
import type { KeyPathRules, PathRules } from '../../domain/path-patterns.ts'
import { compilePathPatterns } from '../../domain/path-patterns.ts'
import { changesSomething, type Route } from '../routing/route.ts'

/** Decides whether a call may go to its upstream at all. */
export interface PathPolicy {
  /** @param method In upper case. */
  permits(caller: Caller, method: string, hasBody: boolean, route: Route): boolean
  /** Whether rules allow the path, not only pass it because none mentions it. */
  allowsByName(caller: Caller, method: string, route: Route): boolean
}

export interface PathPolicyRules {
  readonly all: PathRules
  readonly byUpstream: ReadonlyMap<string, PathRules>
  /** The first one that names the caller applies. */
  readonly byKey: readonly KeyPathRules[]
}

interface CompiledRules {
  readonly allows: (method: string, path: string) => string | null
  readonly denies: (method: string, path: string) => string | null
  readonly unknown: PathRules['unknown']
}

/**
 * The narrowest rules that mention a path decide on it: those of the key, of the upstream, or of all calls. A
 * path that no rule mentions is refused if it is one of those that are refused by default.
 */
export function buildPathPolicy(rules: PathPolicyRules): PathPolicy {
  const all = compile(rules.all)
  const byUpstream = new Map([...rules.byUpstream].map(([name, written]) => [name, compile(written)]))
  const byKey = rules.byKey.map((written) => ({ ...written, compiled: compile(written) }))
  /** A change of a key or of its client, as its name, makes another caller. */
  const rulesOfKey = new WeakMap<Caller, CompiledRules | null>()

  function ofKey(caller: Caller): CompiledRules | null {
    if (byKey.length === 0) return null
    let found = rulesOfKey.get(caller)
    if (found === undefined) {
      found = byKey.find((entry) => names(entry, caller))?.compiled ?? null
      rulesOfKey.set(caller, found)
    }
    return found
  }

  const scopesOf = (caller: Caller, { upstream }: Route) => [
    ofKey(caller),
    byUpstream.get(upstream.name) ?? null,
    all,
  ]

  return {
    allowsByName(caller, method, route) {
      const path = route.target.canonicalPath
      for (const scope of scopesOf(caller, route)) {
        const verdict = scope === null ? null : verdictOf(scope, method, method !== 'POST', path)
        if (verdict !== null) return verdict
      }
      return false
    },
    permits(caller, method, hasBody, route) {
      const { target, reading, isRefused } = route
      const path = target.canonicalPath
      // Many routers take any method for a path: a request that may change something is judged as a POST,
      // too.
      const alsoPost = method !== 'POST' && changesSomething(method, hasBody)
      const scopes = scopesOf(caller, route)
      for (const scope of scopes) {
        const verdict = scope === null ? null : verdictOf(scope, method, alsoPost, path)
        if (verdict !== null) return verdict
      }
      if (isRefused) return false
      if (reading !== 'unknown') return true
      return scopes.find((scope) => scope !== null && scope.unknown !== null)?.unknown !== 'refuse'
    },
  }
}

/** `null`: the rules do not mention it. */
function verdictOf(rules: CompiledRules, method: string, alsoPost: boolean, path: string): boolean | null {
  if (rules.allows(method, path) !== null) return true
  return rules.denies(method, path) !== null || (alsoPost && rules.denies('POST', path) !== null)
    ? false
    : null
}

function compile(rules: PathRules): CompiledRules {
  return {
    allows: compilePathPatterns(rules.allow),
    denies: compilePathPatterns(rules.deny),
    unknown: rules.unknown,
  }
}

function names({ client, key }: KeyPathRules, caller: Caller): boolean {
  if (client !== null && client !== caller.clientName) return false
  return key === null || key === caller.keyId || key === caller.keyName
}
