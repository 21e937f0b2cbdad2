import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { CatalogChange } from '../history/catalog-changes.ts'
import { type CatalogInForce, dataDayOfText, judgeRefresh } from '../history/catalog-refresh.ts'
import { BUNDLED_DAY, BUNDLED_SOURCE, bundledText } from '../sources/catalog-bundle.ts'
import { priceCatalogSource, sha256Of } from '../sources/price-catalog-source.ts'
import {
  confirmPriceCatalog,
  findCurrentPriceCatalog,
  type PriceCatalog,
  putPriceCatalog,
  wasFetchedBefore,
} from './price-catalogs.ts'

/** Price data to be put in force for all gateways. */
export interface OfferedPrices {
  readonly text: string
  /** A URL, a path, or the package's name. */
  readonly origin: string
}

/** What would become of it. */
export interface Judged {
  /** The source in force. */
  readonly before: string
  /** Why it may not be taken. */
  readonly problems: readonly string[]
  /** Why only a person may take it. */
  readonly doubts: readonly string[]
  readonly changes: readonly CatalogChange[]
  /** The first day of what it changes. */
  readonly from: UtcDay | null
  /** What would be put; `null`: it changes nothing, or may not be taken. */
  readonly catalog: PriceCatalog | null
  /** The source in Postgres, which it would take the place of; `null`: there is none. */
  readonly stored: string | null
}

/** Judges price data against what is in force: in Postgres, else in the package. */
export async function judgePrices(pool: Postgres, offered: OfferedPrices, nowMs: number): Promise<Judged> {
  const stored = await findCurrentPriceCatalog(pool, 'genai-prices')
  const inForce: CatalogInForce = stored ?? bundledCatalog()
  const judgement = judgeRefresh(inForce, offered.text, nowMs)
  const before = { before: stored?.source ?? BUNDLED_SOURCE, stored: stored?.source ?? null }
  if (judgement.kind === 'unreadable') {
    return { ...before, problems: judgement.problems, doubts: [], changes: [], from: null, catalog: null }
  }
  const { text, changes, from, dataDay } = judgement
  const fetchedSha256 = sha256Of(offered.text)
  const isKnown =
    text !== null &&
    stored?.fetchedSha256 !== fetchedSha256 &&
    (await wasFetchedBefore(pool, 'genai-prices', fetchedSha256))
  const doubts = [...(isKnown ? ['it is older: it was in force before'] : []), ...judgement.doubts]
  const fetchedAt = new Date(nowMs)
  const catalog: PriceCatalog | null =
    text === null
      ? null
      : {
          source: priceCatalogSource('genai-prices', utcDayOf(nowMs), text),
          kind: 'genai-prices',
          fetchedSha256,
          origin: offered.origin,
          dataDay,
          fetchedAt,
          inForceFrom: from,
          text,
        }
  return { ...before, problems: [], doubts, changes, from, catalog }
}

/** @returns `false`: something else was put since it was judged, and nothing is changed. */
export async function putJudged(pool: Postgres, { catalog, stored }: Judged): Promise<boolean> {
  return catalog === null || (await putPriceCatalog(pool, catalog, stored))
}

/**
 * Where the package of this release is newer than what is in Postgres, puts its data there, with the old
 * prices for the past. It was reviewed with the release, so nothing of it is doubted.
 *
 * @returns What was put; `null`: nothing.
 */
export async function putNewerPackage(pool: Postgres, nowMs: number): Promise<PriceCatalog | null> {
  const stored = await findCurrentPriceCatalog(pool, 'genai-prices')
  if (stored === null || !isPackageNewer(stored)) return null
  const judged = await judgePrices(pool, { text: bundledText(), origin: BUNDLED_SOURCE }, nowMs)
  if (judged.catalog === null) await confirmPriceCatalog(pool, stored.source, new Date(nowMs))
  return (await putJudged(pool, judged)) ? judged.catalog : null
}

/** Whether the data that came with this release was published after that in Postgres was fetched. */
export function isPackageNewer({ fetchedAt }: Pick<PriceCatalog, 'fetchedAt'>): boolean {
  return utcDayOf(fetchedAt.getTime()) < BUNDLED_DAY
}

function bundledCatalog(): CatalogInForce {
  const text = bundledText()
  return { text, dataDay: dataDayOfText(text, BUNDLED_DAY) }
}
