import { isObject } from './json.ts'

/** The members that lead to a claim of a token: `['realm_access', 'roles']`. */
export type ClaimPath = readonly string[]

/** The value that a path leads to; `undefined`: nothing is there. */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/**
 * Parses JSON in which ids stand: a whole number of more digits than a number holds is a bigint. Rounded it would be another
 * id, and that of several.
 *
 * @throws {SyntaxError}
 */
export function parseExactly(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown, { source = '' }: { readonly source?: string } = {}) => {
    const isRounded = typeof value === 'number' && !Number.isSafeInteger(value)
    return isRounded && /^-?[0-9]+$/.test(source) ? BigInt(source) : value
  })
}

/** An id as text: a text, or a number as it is written; `null`: it is none. */
export function idText(value: unknown): string | null {
  return ['string', 'number', 'bigint'].includes(typeof value) ? `${value}` : null
}
