import type { PriceConfig } from '../config/price-config.ts'
import { buildPriceConfiguration, nameConfiguration } from '../domain/price-configuration.ts'
import { selectGatewayPrices } from '../store/gateway-prices.ts'
import type { Postgres } from '../store/postgres.ts'

/**
 * How the prices of this command differ from those of the gateways, in words that name both; `null`: they do not, or no
 * gateway has said yet what it prices by.
 */
export async function differenceFromGateways(pool: Postgres, config: PriceConfig): Promise<string | null> {
  const own = buildPriceConfiguration(config.source.entries.source, config.settings)
  const gateways = await selectGatewayPrices(pool)
  const others = gateways.filter(({ configuration }) => configuration.hash !== own.hash)
  if (others.length === 0) return null
  const named = others.map(
    ({ gateway, configuration }) => `gateway ${gateway} prices by ${nameConfiguration(configuration)}`,
  )
  return `${named.join('; ')}; this command by ${nameConfiguration(own)}`
}
