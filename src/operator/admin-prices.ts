import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { isDay, utcDayOf } from '../domain/utc-day.ts'
import { GatewayError } from '../http/errors.ts'
import type { PriceConfiguration } from '../pricing/price-configuration.ts'
import { type Accepted, renderDoubt } from '../pricing/refresh/accept-doubts.ts'
import { findShownPrices, renderShownPrice, type ShownFrom } from '../pricing/shown-prices.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { anyName, noQuery, parseInput } from './admin-input.ts'

/** The prices of this gateway. */
export interface AdminPrices extends ShownFrom {
  readonly configuration: PriceConfiguration
}

export interface AdminPricesOptions {
  readonly prices: () => AdminPrices
  /** Names the gateways whose prices differ from this one's; `null`: all are equal. */
  readonly findDisagreement: () => Promise<string | null>
  readonly acceptDoubt: (provider: string, model: string) => Promise<Accepted>
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

const query = z.strictObject({
  model: z.string('must name one model').min(1, 'must name one model'),
  provider: z.enum(PROVIDERS, 'must be one of the providers that upstreams may have').optional(),
  client: anyName.optional(),
  day: z.string('must be a day').refine(isDay, 'must be a day that exists, such as 2026-01-31').optional(),
})

const doubted = z.strictObject({
  provider: z.string('must name a provider of the list').min(1, 'must name a provider of the list'),
  model: z.string('must name one model').min(1, 'must name one model'),
})

/** `/prices`: the price of a model and its source, as all gateways use it. */
export function adminPrices(app: FastifyInstance, options: AdminPricesOptions): void {
  app.post('/prices/doubts/accept', async (request) => {
    parseInput(noQuery, request.query)
    const { provider, model } = parseInput(doubted, request.body)
    const accepted = await options.acceptDoubt(provider, model)
    if (accepted.kind === 'accepted') {
      return { accepted: accepted.doubts.map(renderDoubt), in_force_from: accepted.from }
    }
    const name = `${provider}/${model}`
    const why = {
      missing: `no newer price of ${name} waits`,
      unreadable: `the newer price of ${name} cannot be read`,
      overtaken: 'other prices were taken at the same time: look again',
    }[accepted.kind]
    throw new GatewayError('invalid_request', { message: why })
  })
  app.get('/prices', async (request) => {
    const asked = parseInput(query, request.query)
    const today = utcDayOf(options.now())
    const { model, provider = null, client = null, day = today } = asked
    const disagreement = await options.findDisagreement()
    if (disagreement !== null) throw new GatewayError('invalid_request', { message: disagreement })
    const from = options.prices()
    const shown = findShownPrices(from, { model, provider, clientName: client, day, today })
    return {
      model,
      day,
      prices: shown.map((price) => renderShownPrice(price, false)),
      priced_by: { configuration: from.configuration.hash, catalog: from.configuration.catalog },
    }
  })
}
