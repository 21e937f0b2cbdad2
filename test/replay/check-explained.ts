import { BUNDLED, type BundledKind, bundledProvider } from '#prices/bundled-lists.ts'
import { decimalOfText, scaleToInteger } from '#prices/decimal.ts'
import { MEDIA_PRICES_SOURCE } from '../../src/pricing/catalog/catalog-resolve.ts'
import { ADDED_RATES } from '../../src/pricing/corrections/added-rates.ts'
import { MEDIA_PRICES } from '../../src/pricing/corrections/media-price-list.ts'
import { MODEL_CORRECTIONS } from '../../src/pricing/corrections/models.ts'
import { TIER_PRICES } from '../../src/pricing/corrections/service-tiers.ts'
import type { LinearDefinition } from '../../src/pricing/price-definition.ts'
import type { RateClass } from '../../src/pricing/price-rates.ts'
import { rateShownAs } from '../../src/pricing/shown-prices.ts'
import type { ExplainedCall } from '../../src/usage/calls/explain-cost.ts'

const PICO = 1_000_000_000_000n

/** What is wrong with the lines of a call's cost, and how many of its unit prices were compared. */
export function checkExplained({ call, price, lines }: ExplainedCall): {
  readonly problems: readonly string[]
  readonly compared: number
} {
  const problems: string[] = []
  let compared = 0
  const sum = lines.reduce((pico, { amountPico }) => pico + amountPico, 0n)
  if (sum !== BigInt(call.costPico ?? 0)) problems.push(`lines of ${sum}, not ${call.costPico}`)
  for (const { name, class: rate, quantity, unitPico, amountPico } of lines) {
    if (rate === null || unitPico === null) continue
    const { times } = rateShownAs(rate)
    if (quantity * unitPico !== amountPico * times)
      problems.push(`${quantity} ${name} at ${unitPico} are not ${amountPico}`)
    const definition = price?.definition
    if (definition?.basis !== 'linear') continue
    compared += 1
    const { source, provider, model } = definition
    const found = [
      ...ownPrices(call.provider ?? '', definition, call.model, rate),
      ...listedIn(definition, call.model),
    ]
    // Rates are whole pico-dollars for one token or millisecond, and so rounded for as many as people write.
    const isListed = found.some((pico) => 2n * (pico < unitPico ? unitPico - pico : pico - unitPico) <= times)
    if (!isListed) problems.push(`${name} at ${unitPico} is not in ${source}: ${provider} ${model}`)
  }
  return { problems, compared }
}

/** What our corrections of the lists have of a class: rates, whole prices, and what a service tier makes of the lists'. */
function ownPrices(
  at: string,
  definition: LinearDefinition,
  called: string | null,
  rate: RateClass,
): ReadonlySet<bigint> {
  const { source, provider, model, serviceTier } = definition
  const { times } = rateShownAs(rate)
  const usd: { readonly usd: string; readonly per: bigint }[] = []
  if (source.startsWith(MEDIA_PRICES_SOURCE))
    for (const { providers, models, rates } of MEDIA_PRICES)
      if (providers.includes(provider) && models.test(model.toLowerCase()))
        usd.push(...rates.filter((one) => one.rate === rate))
  for (const { providers, models, rate: added, price } of ADDED_RATES)
    if (providers.includes(at) && models.test(model) && added === rate && 'usd' in price) usd.push(price)
  const found = new Set(usd.map((one) => picoOf(one.usd, times, one.per)))
  for (const { providers, models, tier, factor, except, ...fees } of TIER_PRICES) {
    if (tier !== serviceTier || !providers.includes(at) || !models.test(model)) continue
    for (const fee of [fees.requestsPerThousand, fees.searchesPerThousand])
      if (fee !== undefined) found.add(picoOf(fee, times, 1_000n))
    for (const pico of [...found, ...listedIn(definition, called)])
      found.add(scaleToInteger(decimalOfText(except?.[rate] ?? factor), pico, 1n))
  }
  return found
}

function picoOf(usd: string, times: bigint, per: bigint): bigint {
  return scaleToInteger(decimalOfText(usd), PICO * times, per)
}

const listed = new Map<string, ReadonlySet<bigint>>()

/** All amounts under a model's name in the lists that a price names, for a million and for a thousand. */
function listedIn({ source, provider, model }: LinearDefinition, called: string | null): ReadonlySet<bigint> {
  const name = JSON.stringify([source, provider, model, called])
  const known = listed.get(name)
  if (known !== undefined) return known
  const found = new Set<bigint>()
  for (const kind of Object.keys(BUNDLED) as BundledKind[]) {
    const isNamed = source.includes(BUNDLED[kind].source) && BUNDLED[kind].providers.includes(provider)
    const { models = [] } = isNamed ? Object(bundledProvider(kind, provider)) : {}
    // A list beside the first may have the model under the name that was called.
    for (const { id, prices, price_variants: variants } of models)
      if (id === model || id === called) collect([prices, variants], found)
  }
  if (source.startsWith('corrections@'))
    for (const { providerId, id, prices } of MODEL_CORRECTIONS)
      if (providerId === provider && id === model) collect(prices, found)
  listed.set(name, found)
  return found
}

function collect(value: unknown, found: Set<bigint>): void {
  if (typeof value === 'number' || typeof value === 'string') {
    if (!/^[0-9.]+$/.test(`${value}`)) return
    for (const per of [1n, 1_000n]) found.add(picoOf(`${value}`, per, 1n))
  } else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) collect(one, found)
}
