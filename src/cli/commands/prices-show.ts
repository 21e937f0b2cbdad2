import type { Command } from 'commander'
import { loadPriceConfig, type PriceConfig, type PricedUpstream } from '../../config/price-config.ts'
import { serviceTiersAt } from '../../domain/catalog-service-tiers.ts'
import type { LinearPrice } from '../../domain/price.ts'
import { RATE_CLASSES, type RateClass } from '../../domain/price-rates.ts'
import { TOKEN_FIELDS, UNIT_DIMENSIONS } from '../../domain/usage.ts'
import { picoToUsdText } from '../../domain/usage-summary.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { parseDay, parseProvider } from '../arguments.ts'
import { type Cli, Failure } from '../cli.ts'
import { printable } from '../table.ts'

/** `prices show`: what a model costs at each upstream, by day and hour, size of prompt and service tier, and why. */
export function addPricesShowCommand(prices: Command, cli: Cli): void {
  prices
    .command('show')
    .description('what a model costs, and why')
    .argument('<model>', 'its name, as calls ask for it or answers report it')
    .option('--provider <name>', 'at this provider, whether there is such an upstream or not', parseProvider)
    .option('--client <name>', 'for this client, its markups in')
    .option('--day <day>', 'on this UTC day instead of today', parseDay)
    .action((model: string, { provider, client, day = utcDayOf(Date.now()) }: ShowOptions) => {
      const config = loadPriceConfig(cli.env)
      const places = placesOf(config, provider)
      const shown = places.flatMap((place) => pricesAt(config, place, model, client ?? null, day))
      if (shown.length === 0) {
        const where = places.map((place) => place.provider).join(', ')
        throw new Failure(
          `${model} has no price (provider ${where}): its calls are unpriced. Add it to prices in TALLYGATE_CONFIG`,
        )
      }
      cli.print({ model, day, prices: shown.map(document) }, text(model, day, shown))
    })
}

interface ShowOptions {
  readonly provider?: string
  readonly client?: string
  readonly day?: string
}

/** The upstreams of the configuration, or one that only stands for a provider. */
function placesOf({ upstreams }: PriceConfig, provider: string | undefined): readonly PricedUpstream[] {
  const fitting = upstreams.filter((upstream) => provider === undefined || upstream.provider === provider)
  if (fitting.length > 0) return fitting
  return [{ name: '', provider: provider ?? 'openai-compatible', pricesOf: null, trustReportedCost: false }]
}

interface ShownPrice {
  readonly place: PricedUpstream
  readonly price: LinearPrice
  /** Line of the configuration; `null`: from the catalog. */
  readonly line: number | null
  readonly unmetered: readonly string[]
}

/** At the standard tier, and at those that have a price. */
function pricesAt(
  config: PriceConfig,
  place: PricedUpstream,
  model: string,
  clientName: string | null,
  day: string,
): ShownPrice[] {
  const named = config.settings.prices.flatMap(({ service_tier: tier }) =>
    tier === undefined ? [] : [`${tier}`],
  )
  const tiers = [null, ...new Set([...serviceTiersAt(place.pricesOf ?? place.provider), ...named])]
  const shown = new Map<string, ShownPrice>()
  for (const tier of tiers) {
    const answers = config.catalog.findPricesOfDay({
      provider: place.provider,
      upstream: place.name,
      clientName,
      model,
      serviceTier: tier,
      atMs: Date.parse(`${day}T00:00:00Z`),
    })
    for (const { found } of answers) {
      for (const { usual } of found?.prices.tiers ?? []) {
        const isOwn = tier === null || usual.definition.serviceTierPriced
        if (found === null || !isOwn) continue
        shown.set(usual.id, { place, price: usual, line: found.line, unmetered: found.unmetered })
      }
    }
  }
  return [...shown.values()]
}

/** As people write prices: for a million tokens, a request, an hour of audio, a million of anything else. */
const PER: ReadonlyMap<RateClass, { readonly name: string; readonly times: bigint; readonly unit: string }> =
  new Map([
    ...TOKEN_FIELDS.map(({ field, rate }) => perOf(rate, field, 1_000_000n, 'M tokens')),
    perOf('request', 'per_request', 1n, 'request'),
    ...UNIT_DIMENSIONS.map(({ field, rate, per, perText }) => perOf(rate, field, per, perText)),
  ])

function perOf(rate: RateClass, name: string, times: bigint, unit: string) {
  return [rate, { name, times, unit }] as const
}

function ratesOf({ definition: { rates } }: LinearPrice) {
  return RATE_CLASSES.flatMap((rateClass) => {
    const pico = rates[rateClass]
    const per = PER.get(rateClass)
    if (pico === undefined || per === undefined) return []
    return [{ name: per.name, unit: per.unit, usd: picoToUsdText(pico * per.times) }]
  })
}

function document({ place, price, line, unmetered }: ShownPrice) {
  const { definition } = price
  return {
    upstream: place.name === '' ? null : place.name,
    provider: place.provider,
    price_id: price.id,
    source: definition.source,
    line,
    catalog_provider: definition.provider,
    catalog_model: definition.model,
    from: definition.from,
    hours: definition.hours,
    service_tier: definition.serviceTier,
    context:
      definition.context === null
        ? null
        : { above: definition.context.above, up_to: definition.context.upTo },
    factor: definition.factor,
    /** USD as decimal text, for as many as the fields of `prices` in the configuration are for. */
    rates: Object.fromEntries(ratesOf(price).map(({ name, usd }) => [name, usd])),
    unmetered,
  }
}

function text(model: string, day: string, shown: readonly ShownPrice[]): string {
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
    for (const { name: rate, unit, usd } of ratesOf(entry.price)) {
      lines.push(`  ${rate.padEnd(18)}  ${usd} per ${unit}`)
    }
    const origin = entry.line === null ? '' : `, line ${entry.line} of the configuration`
    lines.push(`  from ${definition.source}${origin}: ${definition.provider}/${definition.model}`)
    lines.push(`  in force ${definition.from === null ? 'since ever' : `since ${definition.from}`}`)
    if (definition.factor !== '1') lines.push(`  markup in it: ${definition.factor}`)
    if (entry.unmetered.length > 0) lines.push(`  not metered: ${entry.unmetered.join(', ')}`)
    lines.push(`  id ${entry.price.id}`)
  }
  return lines.map(printable).join('\n')
}

function promptText({ above, upTo }: { readonly above: number; readonly upTo: number | null }): string {
  if (upTo === null) return `prompts over ${above} tokens`
  return above === 0 ? `prompts up to ${upTo} tokens` : `prompts over ${above} up to ${upTo} tokens`
}
