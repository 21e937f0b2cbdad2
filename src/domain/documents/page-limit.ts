/** At most so many items of a list are in one answer of those that are asked for part by part. */
export const MAX_PAGE_LIMIT = 1_000

/** The text of an error behind the parameter's name. */
export const PAGE_LIMIT_RULE = 'must be one integer from 1 to 1000'

/** A number of items, written plainly; `null`: it is none. */
export function parsePageLimit(text: string): number | null {
  if (!/^[1-9][0-9]{0,3}$/.test(text)) return null
  const limit = Number(text)
  return limit > MAX_PAGE_LIMIT ? null : limit
}
