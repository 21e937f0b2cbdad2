/** At most so many items of a list are in one answer of those that are asked for part by part. */
export const MAX_PAGE_LIMIT = 1_000

/** The text of an error behind the parameter's name. */
export const PAGE_LIMIT_RULE = 'must be one integer from 1 to 1000'
