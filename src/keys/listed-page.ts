/** Which items of a list are wanted. */
export interface PageOrder {
  /** `null`: all. */
  readonly limit: number | null
  /** The id of the item that they come behind; `null`: from the first on. */
  readonly cursor: string | null
}

export const WHOLE_LIST: PageOrder = { limit: null, cursor: null }

/** Items of a list. */
export interface ListedPage<Item> {
  readonly items: readonly Item[]
  /** The cursor of those behind them; `null`: there are none. */
  readonly next: string | null
}

/** For `limit $n` in SQL: one more says whether there are others behind; `null`: no limit. */
export function rowsOf({ limit }: PageOrder): number | null {
  return limit === null ? null : limit + 1
}

/** @param rows As many as `rowsOf` says, at most. */
export function listedPage<Item extends { readonly id: string }>(
  rows: readonly Item[],
  { limit }: PageOrder,
): ListedPage<Item> {
  const items = limit === null ? rows : rows.slice(0, limit)
  return { items, next: items.length < rows.length ? (items.at(-1)?.id ?? null) : null }
}
