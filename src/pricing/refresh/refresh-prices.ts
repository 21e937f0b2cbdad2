import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { HeldRow } from '../history/read-rows.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'
import { FETCH_LIMITS, type FetchLimits } from './fetch-prices.ts'
import { confirmPriceCatalog, findCurrentSource } from './price-catalogs.ts'
import { putPriceDoubts } from './price-doubts.ts'
import { fetchOf } from './price-pages.ts'
import { findPriceRefresh, readPostgresClock, recordPriceRefresh } from './price-refreshes.ts'
import { judgePrices, putJudged } from './take-prices.ts'

/** What became of a refresh. In all but the first, the prices in force are those of before. */
export type Refreshed =
  | {
      readonly kind: 'taken'
      readonly before: string
      readonly source: string
      readonly from: UtcDay
      /** How many prices and models it changes. */
      readonly changes: number
      /** Models whose newer price waits for a person. */
      readonly held: readonly HeldRow[]
    }
  | { readonly kind: 'unchanged'; readonly held: readonly HeldRow[] }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }
  | { readonly kind: 'unreachable'; readonly problem: string }

export interface RefreshOptions {
  readonly pool: Postgres
  readonly kind: PriceCatalogKind
  readonly url: string
  /** Milliseconds since 1970; left out: by the clock of Postgres. */
  readonly now?: () => number
  readonly limits?: FetchLimits
}

/**
 * Fetches price data, and puts it in force for all gateways if nothing speaks against it as a whole. Models whose price is
 * doubted keep the old one. How it went, and what waits for a person, is kept in Postgres.
 *
 * @throws When Postgres is away: nothing is changed then.
 */
export async function refreshPrices(options: RefreshOptions): Promise<Refreshed> {
  const { pool, kind, url, limits = FETCH_LIMITS } = options
  // The day from which prices hold is that of the database: a worker's own clock may be wrong, and one is enough.
  const now = options.now?.() ?? (await readPostgresClock(pool))
  const last = await findPriceRefresh(pool, kind)
  const source = await findCurrentSource(pool, kind)
  // 1. Without an effect: a process that dies here has done nothing.
  const known = source !== null && last?.url === url ? last.etag : null
  const fetched = await fetchOf(kind)(url, known, limits)
  if (fetched.kind === 'unmodified') return await record({ kind: 'unchanged', held: [] }, known)
  if (fetched.kind === 'refused') return await record({ kind: 'refused', problems: [fetched.problem] }, null)
  if (fetched.kind === 'unreachable') return await record(fetched, null)
  const judged = await judgePrices(pool, { kind, text: fetched.text, origin: url }, now)
  const { catalog, from, held } = judged
  const problems = [...judged.problems, ...judged.doubts]
  if (problems.length > 0) return await record({ kind: 'refused', problems }, null)
  // What waits is asked for again: another source may confirm it, which no `etag` tells.
  const etag = held.length > 0 ? null : fetched.etag
  await putPriceDoubts(pool, kind, held, url)
  if (catalog === null || from === null) return await record({ kind: 'unchanged', held }, etag)
  // 2. One transaction: a repeat finds it done. Where another was first, its prices stand, and the next day compares.
  if (!(await putJudged(pool, judged))) return { kind: 'unchanged', held }
  const { before, changes } = judged
  return await record(
    { kind: 'taken', before, source: catalog.source, from, changes: changes.length, held },
    etag,
  )

  async function record<Outcome extends Refreshed>(outcome: Outcome, tag: string | null): Promise<Outcome> {
    if (outcome.kind === 'unchanged' && source !== null)
      await confirmPriceCatalog(pool, source, new Date(now))
    await recordPriceRefresh(pool, kind, {
      outcome: outcome.kind,
      problem: problemOf(outcome),
      url,
      etag: tag,
    })
    return outcome
  }
}

const SHOWN_PROBLEMS = 5
const SHOWN_LENGTH = 1_000

/** Why nothing was taken, on one line; `null`: nothing is wrong. */
export function problemOf(outcome: Refreshed): string | null {
  if (outcome.kind === 'unreachable') return onOneLine(outcome.problem)
  if (outcome.kind !== 'refused') return null
  const { problems } = outcome
  const more = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : ''
  return onOneLine((problems.slice(0, SHOWN_PROBLEMS).join('; ') + more).slice(0, SHOWN_LENGTH))
}

/** What was fetched may be quoted in it. */
function onOneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ')
}
