/** The members that lead to a claim of a token: `['realm_access', 'roles']`. */
export type ClaimPath = readonly string[]

/** The value that a path leads to; `undefined`: nothing is there. */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const name of path) {
    if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Whether a value is a JSON object. */
export function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
