import { findCurrentSource } from '../../pricing/refresh/price-catalogs.ts'
import { findPriceRefresh } from '../../pricing/refresh/price-refreshes.ts'
import { BUNDLED_SOURCE } from '../../pricing/sources/catalog-bundle.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Finding, ok, warning } from '../finding.ts'

const NAME = 'price data'
/** A source may be unreachable this long before it is reported. */
const STALE_MS = 7 * 86_400_000

/** Checks that prices were refreshed recently, and reports why not. */
export async function checkPriceRefresh(pool: Postgres, nowMs = Date.now()): Promise<Finding> {
  const source = (await findCurrentSource(pool, 'genai-prices')) ?? `${BUNDLED_SOURCE}, of this release`
  const last = await findPriceRefresh(pool, 'genai-prices')
  if (last === null) return ok(NAME, `${source}; newer ones were never asked for`)
  const { outcome, problem, url, attemptedAt, freshAt } = last
  const when = attemptedAt.toISOString().slice(0, 10)
  if (outcome === 'refused') {
    return warning(
      NAME,
      `${source} stands; what was fetched on ${when} was not taken: ${problem}`,
      `see tallygate prices diff; if it is right, tallygate prices update --force; else see ${url}`,
    )
  }
  const fresh = freshAt === null ? 'never' : `last on ${freshAt.toISOString().slice(0, 10)}`
  if (outcome === 'unreachable' && nowMs - (freshAt?.getTime() ?? 0) > STALE_MS) {
    return warning(
      NAME,
      `${source}; newer ones were ${fresh === 'never' ? 'never fetched' : `fetched ${fresh}`}: ${problem}`,
      'let the workers reach PRICES_URL, or set it to a copy, or PRICES_REFRESH=off',
    )
  }
  return ok(NAME, outcome === 'unreachable' ? `${source}; ${fresh} fresh` : `${source}, fresh on ${when}`)
}
