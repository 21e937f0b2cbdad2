import {
  configurationJson,
  type PriceConfiguration,
  type PriceSettings,
} from '../domain/price-configuration.ts'
import { SCHEMA } from './migrate.ts'
import { inTransaction, type Postgres } from './postgres.ts'

/** What a gateway prices by, or priced by when it was last seen. */
export interface GatewayPrices {
  /** Its host and port. */
  readonly gateway: string
  readonly configuration: PriceConfiguration
}

/** A gateway that has not said for so long what it prices by has stopped. Three times as long as between its words. */
const RUNNING_SECONDS = 180
/** How often a gateway says it. */
export const TELL_PRICES_MS = 60_000

export async function tellGatewayPrices(
  pool: Postgres,
  gateway: string,
  configuration: PriceConfiguration,
): Promise<void> {
  await inTransaction(pool, async (session) => {
    await session.query(
      `insert into ${SCHEMA}.price_configurations (hash, configuration) values ($1, $2) on conflict do nothing`,
      [configuration.hash, configurationJson(configuration)],
    )
    await session.query(
      `insert into ${SCHEMA}.gateway_prices (gateway, hash) values ($1, $2)
       on conflict (gateway) do update set hash = excluded.hash, at = now()`,
      [gateway, configuration.hash],
    )
  })
}

/** Of the gateways that run; where none does, of the one that was seen last. By their names. */
export async function selectGatewayPrices(pool: Postgres): Promise<GatewayPrices[]> {
  const { rows } = await pool.query<{
    gateway: string
    hash: string
    configuration: { catalog: string } & PriceSettings
  }>(
    `select g.gateway, g.hash, c.configuration from ${SCHEMA}.gateway_prices g
     join ${SCHEMA}.price_configurations c using (hash)
     where g.at >= least(now() - make_interval(secs => $1), (select max(at) from ${SCHEMA}.gateway_prices))
     order by g.gateway`,
    [RUNNING_SECONDS],
  )
  return rows.map(({ gateway, hash, configuration: { catalog, ...settings } }) => ({
    gateway,
    configuration: { hash, catalog, settings },
  }))
}
