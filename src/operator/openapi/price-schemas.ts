import { count, countOrNull, list, nullableText, object, ref, text } from './schema-parts.ts'
import type { Schema } from './types.ts'

/** The schemas of prices. */
export const PRICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  ModelPrices: object({
    model: text('As it was asked for.'),
    day: text('YYYY-MM-DD, UTC.', { format: 'date' }),
    prices: list(ref('ModelPrice')),
    priced_by: object({
      configuration: text('The hash of what all gateways price by.'),
      catalog: text('Their price data and its version.'),
    }),
  }),
  PriceDoubtName: object({
    provider: text('As the list of doubts names it.'),
    model: text('As the list of doubts names it.'),
  }),
  AcceptedPrices: object({
    accepted: list(ref('PriceDoubt')),
    in_force_from: text('The first UTC day on which they are in force.', { format: 'date' }),
  }),
  ModelPrice: object({
    upstream: nullableText('The name of the upstream; null: it only stands for its provider.'),
    provider: text('The provider of the upstream.'),
    price_id: text("The price's identity, as calls and totals have it."),
    source: text("Where it comes from: yaml, or a catalog's name and version."),
    line: { type: ['integer', 'null'], description: 'Of the configuration file; null: not known here.' },
    catalog_provider: text('Whose price it is.'),
    catalog_model: text('The model it is the price of.'),
    from: nullableText('The first UTC day on which it is in force; null: since ever.'),
    hours: nullableText('The hours of the day in which it is; null: all.'),
    service_tier: nullableText('null: the standard one.'),
    context: {
      anyOf: [
        object({
          above: count('Prompts of more tokens than this.'),
          up_to: countOrNull('And of at most so many; null: of any size.'),
        }),
        { type: 'null' },
      ],
    },
    factor: text('The markups that are in it, multiplied; 1: none.'),
    rates: {
      type: 'object',
      description:
        'US dollars as decimal text, for as many as the fields of prices in the configuration are for: a million tokens, one request, an hour of audio.',
      additionalProperties: { type: 'string' },
    },
    unmetered: { ...list({ type: 'string' }), description: 'What the model is billed for beside it.' },
  }),
}
