/** Which calls may pass, as the configuration says it for all calls, one upstream, or one key. */
export interface PathRules {
  /** Patterns such as `POST /v1/realtime/*`, on the canonical path as the upstream gets it; they win over `deny` beside them. */
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
