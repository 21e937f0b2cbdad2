import { type Finding, ok, warning } from '../../domain/conditions/finding.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { nameConfiguration, type PriceConfiguration } from '../price-configuration.ts'
import { type GatewayPrices, selectGatewayPrices } from '../refresh/gateway-prices.ts'

/** Names the gateways whose prices differ from `own`; `null`: all are equal. */
export function describeDisagreement(
  own: PriceConfiguration,
  gateways: readonly GatewayPrices[],
): string | null {
  if (gateways.every(({ configuration }) => configuration.hash === own.hash)) return null
  const named = gateways.map(
    ({ gateway, configuration }) => `${gateway} by ${nameConfiguration(configuration)}`,
  )
  return `The gateways do not price alike: ${named.join('; ')}; this one by ${nameConfiguration(own)}.`
}

/** What this process would price by, given what the gateways price by. */
export type OwnPrices = (theirs: PriceConfiguration) => PriceConfiguration

/** Checks that all gateways, and this process, use the same prices. */
async function checkGatewayPrices(pool: Postgres, ownPrices: OwnPrices): Promise<Finding> {
  const gateways = await selectGatewayPrices(pool)
  const [first] = gateways
  if (first === undefined) return ok('price configuration', 'no gateway has said yet what it prices by')
  const byHash = Map.groupBy(gateways, ({ configuration }) => configuration.hash)
  if (byHash.size === 1) {
    const own = ownPrices(first.configuration)
    if (own.hash !== first.configuration.hash) {
      return warning(
        'price configuration',
        `every gateway prices by ${nameConfiguration(first.configuration)}; this command has ${nameConfiguration(own)}`,
        'leave TALLYGATE_CONFIG unset here to price as they do, or give them this one, then tallygate reload',
      )
    }
    return ok('price configuration', `every gateway prices by ${nameConfiguration(first.configuration)}`)
  }
  const named = gateways.map(
    ({ gateway, configuration }) => `${gateway} by ${nameConfiguration(configuration)}`,
  )
  return warning(
    'price configuration',
    `gateways do not price alike: ${named.join('; ')}`,
    'give them one TALLYGATE_CONFIG and one catalog, then tallygate reload',
  )
}

export const PRICE_CONFIGURATION: Condition<{ readonly pool: Postgres; readonly ownPrices: OwnPrices }> = {
  name: 'price configuration',
  place: 'postgres',
  severity: 'note',
  find: ({ pool, ownPrices }) => checkGatewayPrices(pool, ownPrices),
}
