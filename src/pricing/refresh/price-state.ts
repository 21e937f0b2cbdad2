import { BUNDLED } from '#prices/bundled-lists.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'
import { findCurrentSource } from './price-catalogs.ts'
import { selectPriceDoubts } from './price-doubts.ts'
import { findPriceRefresh, type PriceRefresh } from './price-refreshes.ts'

/** How fresh a source's price data is. */
export interface PriceState {
  /** What is in force. */
  readonly source: string
  /** Whether that came with this release. */
  readonly isBundled: boolean
  /** The last attempt; `null`: none was made. */
  readonly last: PriceRefresh | null
  /** When it was last known to be the newest there is; else the day of the release's data. */
  readonly freshAt: Date
  /** Models whose newer price waits for a person. */
  readonly held: number
}

export async function readPriceState(pool: Postgres, kind: PriceCatalogKind): Promise<PriceState> {
  const source = await findCurrentSource(pool, kind)
  const last = await findPriceRefresh(pool, kind)
  const bundledMs = Date.parse(BUNDLED[kind].day)
  return {
    source: source ?? BUNDLED[kind].source,
    isBundled: source === null,
    last,
    freshAt: new Date(Math.max(bundledMs, last?.freshAt?.getTime() ?? 0)),
    held: (await selectPriceDoubts(pool)).filter((doubt) => doubt.kind === kind).length,
  }
}

const MS_PER_DAY = 86_400_000
/** Prices older than this are mentioned, and older than that are warned of. */
export const AGED_DAYS = 7
export const OLD_DAYS = 30

/** Whole days since the data was last known to be the newest. */
export function ageInDays({ freshAt }: Pick<PriceState, 'freshAt'>, nowMs: number): number {
  return Math.floor((nowMs - freshAt.getTime()) / MS_PER_DAY)
}
