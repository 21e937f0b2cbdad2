import type { Command } from 'commander'
import type { PriceConfig } from '../../../config/yaml/price-config.ts'
import type { RepricingSums } from '../../../corrections/reprice.ts'
import { reprice } from '../../../corrections/reprice.ts'
import { Failure } from '../../../operations/failure.ts'
import { utcDayOf } from '../../../domain/utc-day.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { parseDay, parseModel, parseProvider, parseReason } from '../../arguments.ts'
import { type Cli, UNCHECKED } from '../../cli.ts'
import {
  addPriceOptions,
  describePriceSource,
  findPricesInForce,
  type PricesInForce,
  renderPricedBy,
} from '../../gateway-prices.ts'
import { operatorName } from '../../operator.ts'
import type { RepriceCommand } from './reprice-document.ts'
import { isBySumsAlone, noPriceOfDay, priceName, repriceDocument, repriceText } from './reprice-document.ts'

/** `prices reprice`: corrects the cost of past days by the current prices, as an audited adjustment. */
export function addPricesRepriceCommand(prices: Command, cli: Cli): void {
  const command = prices
    .command('reprice')
    .description('correct the cost of past days by the prices of now')
    .requiredOption(
      '--model <name>',
      'calls totalled under this name, or names that begin so and a *',
      parseModel,
    )
    .requiredOption('--since <day>', 'from this UTC day on', parseDay)
    .option('--provider <name>', 'at this provider alone', parseProvider)
    .option('--dry-run', 'only say what would change')
    .option('--leave-out', 'leave out, and name, what cannot be priced again, instead of stopping')
    .option('--progress', 'say on stderr how far it has come, as on a terminal')
    .option('--by <name>', 'who does it; without: the user of the system', parseReason)
    .option('--reason <text>', 'why', parseReason, 'prices corrected')
  addPriceOptions(command).action(async (options: RepriceCommand) => {
    const { model, since, provider = null, dryRun = false, leaveOut = false } = options
    if (since > utcDayOf(Date.now())) throw new Failure(`--since ${since} is still to come`)
    const { repriced, by } = await cli.withServers(async ({ pool }) => {
      const by = await pricesToReprice(pool, cli, options)
      const { config } = by
      const order = {
        scope: { model, provider, since },
        catalog: config.catalog,
        entries: config.source.entries,
        catalogText: config.source.text(),
        settings: config.settings,
        who: options.by ?? operatorName(),
        why: options.reason,
        hasPrice: hasPrice(config, model, provider),
        dryRun,
        leaveOut,
      }
      const progress = cli.progress('calls', options.progress === true)
      const repriced = await reprice(pool, order, { onProgress: (day, calls) => progress.at(day, calls) })
      return { repriced, by }
    })
    if (repriced.kind === 'refused') throw new Failure(refusal(repriced.sums))
    if (repriced.kind === 'priceless' && repriced.sums.unknownDay > 0n) {
      throw new Failure(`nothing is changed: ${noPriceOfDay(repriced.sums.unknownDay)}`)
    }
    if (repriced.kind === 'priceless') {
      throw new Failure(
        `${model} has no price now: add it to prices in the TALLYGATE_CONFIG of the gateways. ${repriced.sums.stillUnpriced} of its calls are unpriced`,
      )
    }
    cli.print(
      { ...repriceDocument(repriced, options), priced_by: renderPricedBy(by) },
      [repriceText(repriced, dryRun), describePriceSource(by)].join('\n'),
    )
    if (isBySumsAlone(repriced)) cli.fail(UNCHECKED)
  })
}

async function pricesToReprice(pool: Postgres, cli: Cli, options: RepriceCommand): Promise<PricesInForce> {
  try {
    return await findPricesInForce(pool, cli.env, { ...options, mustNamePrices: options.dryRun !== true })
  } catch (error) {
    throw error instanceof Failure ? new Failure(`nothing is changed: ${error.message}`) : error
  }
}

/** At any upstream; a prefix of names cannot be checked. */
function hasPrice({ catalog, upstreams }: PriceConfig, model: string, provider: string | null): boolean {
  const places = provider === null ? upstreams : [{ name: '', provider }]
  return (
    model.endsWith('*') ||
    places.some((place) => catalog.knowsModel(place.provider, place.name, model, Date.now()))
  )
}

const SHOWN_REFUSALS = 5

function refusal({ refused, rowsRefused }: RepricingSums): string {
  const named = refused
    .slice(0, SHOWN_REFUSALS)
    .map(
      ({ key, calls, reason }) =>
        `${key.day} ${key.model} (${calls} calls at ${priceName(key.priceId)}): ${reason}`,
    )
  const others = rowsRefused > SHOWN_REFUSALS ? `; and ${rowsRefused - SHOWN_REFUSALS} more` : ''
  return `nothing is changed, as the new cost of some rows is unknown: ${named.join('; ')}${others}. --leave-out goes on without them`
}
