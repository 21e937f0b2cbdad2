import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'

/** How the last attempt went to fetch newer prices. `unchanged`: there were none. */
export type RefreshOutcome = 'taken' | 'unchanged' | 'refused' | 'unreachable'

/** The last attempt. */
export interface PriceRefresh {
  readonly attemptedAt: Date
  readonly outcome: RefreshOutcome
  /** Why nothing was taken; `null`: nothing was wrong. */
  readonly problem: string | null
  readonly url: string
  /** What its server called the data that was last taken, or found unchanged; `null`: nothing. */
  readonly etag: string | null
  /** When prices were last known to be the newest there are; `null`: never. */
  readonly freshAt: Date | null
}

/** `null`: none was made yet. */
export async function findPriceRefresh(pool: Postgres, kind: PriceCatalogKind): Promise<PriceRefresh | null> {
  const { rows } = await pool.query<{
    attempted_at: Date
    outcome: RefreshOutcome
    problem: string | null
    url: string
    etag: string | null
    fresh_at: Date | null
  }>(`select * from ${SCHEMA}.price_refreshes where kind = $1`, [kind])
  const [row] = rows
  if (row === undefined) return null
  const { attempted_at: attemptedAt, fresh_at: freshAt, ...rest } = row
  return {
    attemptedAt,
    outcome: rest.outcome,
    problem: rest.problem,
    url: rest.url,
    etag: rest.etag,
    freshAt,
  }
}

/** @param etag Where something was taken or found unchanged; else the one before stays. */
export async function recordPriceRefresh(
  pool: Postgres,
  kind: PriceCatalogKind,
  refresh: Pick<PriceRefresh, 'outcome' | 'problem' | 'url' | 'etag'>,
): Promise<void> {
  const { outcome, problem, url, etag } = refresh
  const isFresh = outcome === 'taken' || outcome === 'unchanged'
  await pool.query(
    `insert into ${SCHEMA}.price_refreshes as r (kind, attempted_at, outcome, problem, url, etag, fresh_at)
     values ($1, now(), $2, $3, $4, $5, case when $6::boolean then now() end)
     on conflict (kind) do update set
       attempted_at = excluded.attempted_at, outcome = excluded.outcome, problem = excluded.problem,
       etag = case when $6 then excluded.etag when r.url = excluded.url then r.etag end,
       url = excluded.url, fresh_at = coalesce(excluded.fresh_at, r.fresh_at)`,
    [kind, outcome, problem, url, etag, isFresh],
  )
}

/** Postgres's clock, in milliseconds since 1970. */
export async function readPostgresClock(pool: Postgres): Promise<number> {
  const { rows } = await pool.query<{ ms: string }>(
    'select floor(extract(epoch from clock_timestamp()) * 1000)::text as ms',
  )
  return Number(rows[0]?.ms)
}
