import { nameConfiguration } from '../../domain/price-configuration.ts'
import { selectGatewayPrices } from '../../store/gateway-prices.ts'
import type { Postgres } from '../../store/postgres.ts'
import { type Finding, note, ok } from './finding.ts'

/** Whether all gateways price alike. */
export async function checkGatewayPrices(pool: Postgres): Promise<Finding> {
  const gateways = await selectGatewayPrices(pool)
  const [first] = gateways
  if (first === undefined) return ok('price configuration', 'no gateway has said yet what it prices by')
  const byHash = Map.groupBy(gateways, ({ configuration }) => configuration.hash)
  if (byHash.size === 1) {
    return ok('price configuration', `every gateway prices by ${nameConfiguration(first.configuration)}`)
  }
  const named = gateways.map(
    ({ gateway, configuration }) => `${gateway} by ${nameConfiguration(configuration)}`,
  )
  return note(
    'price configuration',
    `gateways do not price alike: ${named.join('; ')}`,
    'give them one TALLYGATE_CONFIG and one catalog, and send SIGHUP to those that read theirs before',
  )
}
