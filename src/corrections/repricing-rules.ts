import type { UtcDay } from '../domain/utc-day.ts'
import type { CatalogEntries } from '../pricing/catalog/catalog-entries.ts'
import type { RepricingScope, RepricingSettings } from '../pricing/repricing/repricing-scope.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** A repricing that goes on: calls in its scope that are rolled up later are priced by it. */
export interface RepricingRule extends RepricingScope {
  /** The adjustment it belongs to. */
  readonly adjustmentId: string
  readonly madeAtMs: number
  /** Prices that it took the place of; '': none. */
  readonly superseded: ReadonlySet<string>
}

interface RuleRow {
  readonly adjustment_id: string
  readonly model: string
  readonly provider: string | null
  readonly since: UtcDay
  readonly made_at: Date
  readonly superseded: string[]
}

/** The rules in force, the newest first: of several for a call it decides. */
export async function selectRules(session: Postgres | PostgresSession): Promise<RepricingRule[]> {
  const { rows } = await session.query<RuleRow>(
    `select adjustment_id, model, provider, since, made_at, superseded from ${SCHEMA}.repricing_rules
     where ended_at is null order by adjustment_id desc`,
  )
  return rows.map((row) => ({
    adjustmentId: row.adjustment_id,
    model: row.model,
    provider: row.provider,
    since: row.since,
    madeAtMs: row.made_at.getTime(),
    superseded: new Set(row.superseded),
  }))
}

export interface RulePrices {
  readonly source: string
  /** The text of the price data. */
  readonly data: string
  readonly settings: RepricingSettings
}

/** The prices of one rule. @throws When there is no such rule. */
export async function getRulePrices(session: PostgresSession, adjustmentId: string): Promise<RulePrices> {
  const { rows } = await session.query<{ source: string; data: string; settings: RepricingSettings }>(
    `select c.source, c.data, r.settings from ${SCHEMA}.repricing_rules r
     join ${SCHEMA}.catalogs c on c.source = r.catalog_source where r.adjustment_id = $1`,
    [adjustmentId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`there is no repricing rule ${adjustmentId}`)
  return row
}

/**
 * Whether the newest rule of exactly this scope prices by the same, from that day or an earlier one: another
 * would change nothing.
 */
export async function isCovered(
  session: PostgresSession,
  scope: RepricingScope,
  entries: CatalogEntries,
  settings: RepricingSettings,
): Promise<boolean> {
  const { rows } = await session.query<{ covered: boolean }>(
    `select since <= $3 and catalog_source = $4 and settings = $5::jsonb as covered
     from ${SCHEMA}.repricing_rules
     where model = $1 and provider is not distinct from $2 and ended_at is null
     order by adjustment_id desc limit 1`,
    [scope.model, scope.provider, scope.since, entries.source, JSON.stringify(settings)],
  )
  return rows[0]?.covered === true
}

/**
 * The newest rule of exactly this scope and these prices whose repricing was cut before all past days had it;
 * `null`: there is none.
 */
export async function findUnfinishedRule(
  session: PostgresSession,
  scope: RepricingScope,
  entries: CatalogEntries,
  settings: RepricingSettings,
): Promise<string | null> {
  const { rows } = await session.query<{ adjustment_id: string }>(
    `select adjustment_id from ${SCHEMA}.repricing_rules
     where model = $1 and provider is not distinct from $2 and since = $3 and catalog_source = $4
       and settings = $5::jsonb and ended_at is null and applied_at is null
     order by adjustment_id desc limit 1`,
    [scope.model, scope.provider, scope.since, entries.source, JSON.stringify(settings)],
  )
  return rows[0]?.adjustment_id ?? null
}

/** Adds prices that a rule took the place of, found after it was made. */
export async function addSuperseded(
  session: PostgresSession,
  adjustmentId: string,
  superseded: ReadonlySet<string>,
): Promise<void> {
  await session.query(
    `update ${SCHEMA}.repricing_rules r set superseded = array(
       select unnest(r.superseded) union select unnest($2::text[]) order by 1)
     where adjustment_id = $1 and not r.superseded @> $2::text[]`,
    [adjustmentId, [...superseded]],
  )
}

/** Says that all past days have what the rule gives them. */
export async function setApplied(session: PostgresSession, adjustmentId: string): Promise<void> {
  await session.query(
    `update ${SCHEMA}.repricing_rules set applied_at = now() where adjustment_id = $1 and applied_at is null`,
    [adjustmentId],
  )
}

/** Keeps a rule, and the price data it needs. */
export async function addRule(
  session: PostgresSession,
  adjustmentId: string,
  scope: RepricingScope,
  superseded: ReadonlySet<string>,
  prices: RulePrices,
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.catalogs (source, data) values ($1, $2) on conflict do nothing`,
    [prices.source, prices.data],
  )
  await session.query(
    `insert into ${SCHEMA}.repricing_rules
       (adjustment_id, model, provider, since, made_at, superseded, catalog_source, settings)
     values ($1, $2, $3, $4, clock_timestamp(), $5, $6, $7)`,
    [
      adjustmentId,
      scope.model,
      scope.provider,
      scope.since,
      [...superseded].sort(),
      prices.source,
      JSON.stringify(prices.settings),
    ],
  )
}

/** A rule as operators see it. */
export interface RuleInForce extends RepricingScope {
  readonly adjustmentId: string
  readonly madeAt: Date
  readonly catalogSource: string
  readonly who: string
  readonly why: string
  /** What it has added so far, repriced rows and late calls together; 1e-12 USD. */
  readonly pico: bigint
}

/** The rules in force with who made them, the newest first. */
export async function selectRulesInForce(pool: Postgres): Promise<RuleInForce[]> {
  const { rows } = await pool.query<
    RuleRow & {
      readonly catalog_source: string
      readonly who: string
      readonly why: string
      readonly pico: string
    }
  >(
    `select r.*, a.who, a.why, (
       select coalesce(sum(pico), 0) from ${SCHEMA}.adjustment_entries e
       where e.adjustment_id = r.adjustment_id) as pico
     from ${SCHEMA}.repricing_rules r join ${SCHEMA}.adjustments a on a.id = r.adjustment_id
     where r.ended_at is null order by r.adjustment_id desc`,
  )
  return rows.map((row) => ({
    adjustmentId: row.adjustment_id,
    model: row.model,
    provider: row.provider,
    since: row.since,
    madeAt: row.made_at,
    catalogSource: row.catalog_source,
    who: row.who,
    why: row.why,
    pico: BigInt(row.pico),
  }))
}

/** Ends a rule: what is rolled up later stays as metered. @returns `false`: there is none in force. */
export async function endRule(pool: Postgres, adjustmentId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update ${SCHEMA}.repricing_rules set ended_at = now() where adjustment_id = $1 and ended_at is null`,
    [adjustmentId],
  )
  return rowCount === 1
}
