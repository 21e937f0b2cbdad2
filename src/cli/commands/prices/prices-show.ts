import type { Command } from 'commander'
import { Failure } from '../../../operations/failure.ts'
import { utcDayOf } from '../../../domain/utc-day.ts'
import { printable } from '../../../operations/table.ts'
import { catalogPlaces } from '../../../pricing/catalog/catalog-providers.ts'
import { findKnownGap } from '../../../pricing/corrections/known-gaps.ts'
import { findWithoutPrice } from '../../../pricing/corrections/misnamed.ts'
import {
  findShownPrices,
  pricedPlaces,
  renderShownPrice,
  type ShownPrice,
  shownRates,
} from '../../../pricing/shown-prices.ts'
import { parseDay, parseProvider } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import {
  addPriceOptions,
  describePriceSource,
  findPrices,
  type PriceOptions,
  type PricesInForce,
  renderPricedBy,
} from '../../gateway-prices.ts'

/**
 * `prices show`: the price of a model at each upstream, by day and hour, prompt size and service tier, and
 * its source.
 */
export function addPricesShowCommand(prices: Command, cli: Cli): void {
  const command = prices
    .command('show')
    .description('what a model costs, and why')
    .argument('<model>', 'its name, as calls ask for it or answers report it')
    .option('--provider <name>', 'at this provider, whether there is such an upstream or not', parseProvider)
    .option('--client <name>', 'for this client, its markups in')
    .option('--day <day>', 'on this UTC day instead of today', parseDay)
  addPriceOptions(command).action(async (model: string, options: ShowOptions) => {
    const today = utcDayOf(Date.now())
    const { provider = null, client = null, day = today } = options
    const by = await findPrices(cli, options)
    const { config, hasLines } = by
    const query = { model, provider, clientName: client, day, today }
    const shown = findShownPrices(config, query)
    if (shown.length === 0 && findShownPrices(config, { ...query, today: day }).length > 0) {
      throw new Failure(
        `no price of ${model} is known for ${day}: the lists say what it costs since they were first seen here, and not what it cost then. ${describePriceSource(by)}`,
      )
    }
    if (shown.length === 0) {
      const where = pricedPlaces(config.upstreams, provider).map((place) => place.provider)
      throw new Failure(
        `${model} has no price (provider ${where.join(', ')}): its calls are unpriced${whyWithheld(where, model)}. Add it to prices in TALLYGATE_CONFIG. ${describePriceSource(by)}`,
      )
    }
    const prices = shown.map((price) => renderShownPrice(price, hasLines))
    cli.print({ model, day, prices, priced_by: renderPricedBy(by) }, text(model, day, shown, by))
  })
}

/** Why the sources' prices for a name are not used, where they have some. */
function whyWithheld(providers: readonly string[], model: string): string {
  const places = providers.flatMap((provider) => catalogPlaces(provider, model))
  const [found] = places.flatMap(({ providerId, name }) => findWithoutPrice(providerId, name) ?? [])
  if (found !== undefined) return `, as the sources contradict each other: ${found.why} (${found.source})`
  const [gap] = providers.flatMap((provider) => findKnownGap(provider, model) ?? [])
  return gap === undefined ? '' : `, as is known: ${gap.why} (${gap.seen})`
}

interface ShowOptions extends PriceOptions {
  readonly provider?: string
  readonly client?: string
  readonly day?: string
}

function text(model: string, day: string, shown: readonly ShownPrice[], by: PricesInForce): string {
  const lines = [`${model} on ${day} (UTC), US dollars:`]
  for (const entry of shown) {
    const { definition } = entry.price
    const { name, provider } = entry.place
    const conditions = [
      definition.serviceTier === null ? 'standard tier' : `tier ${definition.serviceTier}`,
      ...(definition.context === null ? [] : [promptText(definition.context)]),
      ...(definition.hours === null ? [] : [`hours ${definition.hours}`]),
    ]
    lines.push('', `${name === '' ? '' : `${name}, `}${provider}: ${conditions.join(', ')}`)
    for (const { name: rate, unit, usd } of shownRates(entry.price)) {
      lines.push(`  ${rate.padEnd(18)}  ${usd} per ${unit}`)
    }
    const where = by.hasLines ? `line ${entry.line} of the configuration` : `entry ${entry.line} of prices`
    const origin = entry.line === null ? '' : `, ${where}`
    lines.push(`  from ${definition.source}${origin}: ${definition.provider}/${definition.model}`)
    lines.push(`  in force ${definition.from === null ? 'since ever' : `since ${definition.from}`}`)
    if (definition.factor !== '1') lines.push(`  markup in it: ${definition.factor}`)
    if (entry.unmetered.length > 0) lines.push(`  not metered: ${entry.unmetered.join(', ')}`)
    lines.push(`  id ${entry.price.id}`)
  }
  lines.push('', describePriceSource(by))
  return lines.map(printable).join('\n')
}

function promptText({ above, upTo }: { readonly above: number; readonly upTo: number | null }): string {
  if (upTo === null) return `prompts over ${above} tokens`
  return above === 0 ? `prompts up to ${upTo} tokens` : `prompts over ${above} up to ${upTo} tokens`
}
