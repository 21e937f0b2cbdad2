import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import {
  configurationJson,
  type PriceConfiguration,
  type PricedUpstream,
  type PriceSettings,
} from '../price-configuration.ts'

/** What a gateway prices by, or priced by when it was last seen. */
export interface GatewayPrices {
  /** Its host and port. */
  readonly gateway: string
  readonly configuration: PriceConfiguration
  /** Empty where a release recorded it that did not record them. */
  readonly upstreams: readonly PricedUpstream[]
}

/** What a gateway records. */
export interface RecordedPrices {
  readonly configuration: PriceConfiguration
  readonly upstreams: readonly PricedUpstream[]
  /** The text of its catalog, asked for where Postgres does not have it yet. */
  catalogText(): string
}

/** A gateway that has not said for so long what it prices by was killed. Three times as long as between its words. */
const RUNNING_SECONDS = 180
/** How often a gateway says it. */
export const RECORD_PRICES_MS = 60_000

/** For how long a gateway that is gone is remembered, and a catalog that neither a gateway nor a rule prices by. */
const KEPT_DAYS = 30

const DROP_UNUSED_CATALOGS = `
with gone as (
  delete from ${SCHEMA}.gateway_prices where at < now() - make_interval(days => $1)
    and at < (select max(at) from ${SCHEMA}.gateway_prices)
  returning gateway)
delete from ${SCHEMA}.catalogs c
where added_at < now() - make_interval(days => $1)
  and not exists (select from ${SCHEMA}.repricing_rules r where r.catalog_source = c.source)
  and not exists (
    select from ${SCHEMA}.gateway_prices g join ${SCHEMA}.price_configurations p using (hash)
    where p.configuration->>'catalog' = c.source and g.gateway not in (select gateway from gone))`

/** All that it takes to price as this gateway does: its settings, its upstreams, and the text of its catalog. */
export async function recordGatewayPrices(
  pool: Postgres,
  gateway: string,
  { configuration, upstreams, catalogText }: RecordedPrices,
): Promise<void> {
  const { catalog, hash } = configuration
  await inTransaction(pool, async (session) => {
    const known = await session.query(`select from ${SCHEMA}.catalogs where source = $1`, [catalog])
    if (known.rowCount === 0) {
      await session.query(
        `insert into ${SCHEMA}.catalogs (source, data) values ($1, $2) on conflict do nothing`,
        [catalog, catalogText()],
      )
      await session.query(DROP_UNUSED_CATALOGS, [KEPT_DAYS])
    }
    await session.query(
      `insert into ${SCHEMA}.price_configurations (hash, configuration) values ($1, $2) on conflict do nothing`,
      [hash, configurationJson(configuration)],
    )
    await session.query(
      `insert into ${SCHEMA}.gateway_prices (gateway, hash, upstreams) values ($1, $2, $3)
       on conflict (gateway) do update set hash = excluded.hash, upstreams = excluded.upstreams, at = now()`,
      [gateway, hash, JSON.stringify(upstreams)],
    )
  })
}

/** Has the prices of a gateway that stops be those of one that ran: it is the last where no other runs. */
export async function recordGatewayStopped(pool: Postgres, gateway: string): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.gateway_prices set at = now() - make_interval(secs => $2) where gateway = $1`,
    [gateway, RUNNING_SECONDS],
  )
}

/** The text of a catalog that some gateway or repricing used; `null`: none did. */
export async function findCatalogText(pool: Postgres, source: string): Promise<string | null> {
  const { rows } = await pool.query<{ data: string }>(
    `select data from ${SCHEMA}.catalogs where source = $1`,
    [source],
  )
  return rows[0]?.data ?? null
}

/** Of the gateways that run; where none does, of the one that was seen last. By their names. */
export async function selectGatewayPrices(pool: Postgres): Promise<GatewayPrices[]> {
  const { rows } = await pool.query<{
    gateway: string
    hash: string
    configuration: { catalog: string } & PriceSettings
    upstreams: PricedUpstream[]
  }>(
    `select g.gateway, g.hash, c.configuration, g.upstreams from ${SCHEMA}.gateway_prices g
     join ${SCHEMA}.price_configurations c using (hash)
     where g.at >= least(now() - make_interval(secs => $1), (select max(at) from ${SCHEMA}.gateway_prices))
     order by g.gateway`,
    [RUNNING_SECONDS],
  )
  return rows.map(({ gateway, hash, configuration: { catalog, ...settings }, upstreams }) => ({
    gateway,
    configuration: { hash, catalog, settings },
    upstreams,
  }))
}
