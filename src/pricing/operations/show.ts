import { z } from 'zod'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCount,
  shownCountOrNull,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { choiceField, clientField, dayField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import { VALUE } from '../../operations/read-input.ts'
import { notFound } from '../../operations/refuse.ts'
import { printable } from '../../operations/table.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { findKnownGap } from '../corrections/known-gaps.ts'
import {
  findShownPrices,
  pricedPlaces,
  renderShownPrice,
  type ShownPrice,
  type ShownPriceQuery,
  shownRates,
} from '../shown-prices.ts'
import {
  describePriceSource,
  PRICED_BY,
  type PricePorts,
  type PricesInForce,
  renderPricedBy,
} from './prices-in-force.ts'

const PRICE = shownDocument('ModelPrice', {
  upstream: shownTextOrNull('The name of the upstream. null: it only stands for its provider.'),
  provider: shownText('The provider of the upstream.'),
  price_id: shownText("The price's identity, as calls and totals have it."),
  source: shownText("Where it comes from: yaml, or a catalog's name and version."),
  line: shownCountOrNull('The line of the configuration file. null: it is not known here.'),
  catalog_provider: shownText('Whose price it is.'),
  catalog_model: shownText('The model it is the price of.'),
  from: shownTextOrNull('The first UTC day on which it is in force. null: since ever.'),
  hours: shownTextOrNull('The hours of the day in which it is. null: all.'),
  service_tier: shownTextOrNull('null: the standard one.'),
  context: z
    .strictObject({
      above: shownCount('Prompts of more tokens than this.'),
      up_to: shownCountOrNull('And of at most so many. null: of any size.'),
    })
    .nullable(),
  factor: shownText('The markups that are in it, multiplied; 1: none.'),
  rates: z
    .record(z.string(), z.string())
    .describe(
      'US dollars as decimal text, for as many as the fields of prices in the configuration are for: a million tokens, one request, an hour of audio.',
    ),
  unmetered: shownList(shownText('A class.'), 'What the model is billed for beside it.'),
})

interface FoundPrices {
  readonly query: ShownPriceQuery
  readonly shown: readonly ShownPrice[]
  readonly by: PricesInForce
}

export const showModelPrices = renderedOperation({
  name: 'prices.show',
  summary: 'Shows what a model costs at each upstream, and why.',
  description: 'Refused where gateways do not price alike.',
  role: 'read',
  http: { method: 'GET', path: '/prices', id: 'showPrices' },
  input: {
    model: z
      .string('must name one model')
      .min(1, 'must name one model')
      .meta({ description: 'As calls ask for it or answers report it.', [VALUE]: 'name' }),
    provider: choiceField(
      PROVIDERS,
      'At this provider, whether there is such an upstream or not. Without it: at all upstreams.',
      'name',
    ).optional(),
    client: clientField('The name of a client whose markups are in. Without it: none.').optional(),
    day: dayField('The UTC day. Without it: today.').optional(),
  },
  answer: shownDocument('ModelPrices', {
    model: shownText('As it was asked for.'),
    day: shownDay('The UTC day.'),
    prices: shownList(PRICE),
    priced_by: PRICED_BY,
  }),
  gives: 'Its prices; none: its calls are unpriced.',
  errors: ['conflict'],
  isPriced: true,
  needsNoStores: true,
  async run({ findPrices, now }: PricePorts, { model, provider = null, client = null, day: asked }) {
    const today = utcDayOf(now())
    const query = { model, provider, clientName: client, day: asked ?? today, today }
    const by = await findPrices()
    return { query, by, shown: findShownPrices(by.config, query) }
  },
  render: ({ query: { model, day }, shown, by }: FoundPrices) => ({
    model,
    day,
    prices: shown.map((price) => renderShownPrice(price, by.hasLines)),
    priced_by: renderPricedBy(by),
  }),
  command: { words: 'prices show', options: { model: '<model>' }, print: pricesText },
})

function withoutPrice({ query, by }: FoundPrices) {
  const { model, provider, day } = query
  if (findShownPrices(by.config, { ...query, today: day }).length > 0) {
    return notFound(
      `No price of ${model} is known for ${day}: the lists say what it costs since they were first seen here, and not what it cost then. ${describePriceSource(by)}`,
    )
  }
  const where = pricedPlaces(by.config.upstreams, provider).map((place) => place.provider)
  return notFound(
    `The model ${model} has no price (provider ${where.join(', ')}): its calls are unpriced${whyWithheld(where, model)}. Add it to prices in TALLYGATE_CONFIG. ${describePriceSource(by)}`,
  )
}

/** Why the sources' prices for a name are not used, where they have some. */
function whyWithheld(providers: readonly string[], model: string): string {
  const [gap] = providers.flatMap((provider) => findKnownGap(provider, model) ?? [])
  return gap === undefined ? '' : `, as is known: ${gap.why} (${gap.seen})`
}

/** @throws {GatewayError} Where there is no price, and why. */
function pricesText(found: FoundPrices): string {
  const { query, shown, by } = found
  if (shown.length === 0) throw withoutPrice(found)
  return [
    headOf(query.model, query.day),
    ...shown.flatMap((price) => linesOf(price, by)),
    '',
    describePriceSource(by),
  ]
    .map(printable)
    .join('\n')
}

function headOf(model: string, day: UtcDay): string {
  return `${model} on ${day} (UTC), US dollars:`
}

function linesOf({ price, place, line, unmetered }: ShownPrice, by: PricesInForce): readonly string[] {
  const { definition, id } = price
  const conditions = [
    definition.serviceTier === null ? 'standard tier' : `tier ${definition.serviceTier}`,
    ...(definition.context === null ? [] : [promptText(definition.context)]),
    ...(definition.hours === null ? [] : [`hours ${definition.hours}`]),
  ]
  const where = by.hasLines ? `line ${line} of the configuration` : `entry ${line} of prices`
  const origin = line === null ? '' : `, ${where}`
  return [
    '',
    `${place.name === '' ? '' : `${place.name}, `}${place.provider}: ${conditions.join(', ')}`,
    ...shownRates(price).map(({ name, unit, usd }) => `  ${name.padEnd(18)}  ${usd} per ${unit}`),
    `  from ${definition.source}${origin}: ${definition.provider}/${definition.model}`,
    `  in force ${definition.from === null ? 'since ever' : `since ${definition.from}`}`,
    ...(definition.factor === '1' ? [] : [`  markup in it: ${definition.factor}`]),
    ...(unmetered.length === 0 ? [] : [`  not metered: ${unmetered.join(', ')}`]),
    `  id ${id}`,
  ]
}

function promptText({ above, upTo }: { readonly above: number; readonly upTo: number | null }): string {
  if (upTo === null) return `prompts over ${above} tokens`
  return above === 0 ? `prompts up to ${upTo} tokens` : `prompts over ${above} up to ${upTo} tokens`
}
