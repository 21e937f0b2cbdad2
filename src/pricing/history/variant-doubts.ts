import { type CatalogDocument, type ModelDocument, namesOf } from '#prices/catalog-document.ts'
import { ABSURD_DOLLARS, amountsOf, PLAIN_TOKENS, type RowDoubt } from './row-doubt.ts'

/** No maker asks six times its list price at any tier for more, or a tenth of it for less. */
const FAR = 10
/** No list has one of the first dearer than the standard price, or one of the others cheaper. */
const CHEAPER: ReadonlySet<string> = new Set(['batch', 'flex'])
const DEARER: ReadonlySet<string> = new Set(['priority', 'fast', 'ultrafast'])

/**
 * Models whose prices at a service tier are far from all that they cost otherwise, and from what the tier cost before, or on
 * the wrong side of these: each name of theirs keeps what it had, at every tier.
 */
export function variantDoubts(before: CatalogDocument, after: CatalogDocument): readonly RowDoubt[] {
  const older = new Map(
    before.flatMap(({ id, models }) => models.map((model) => [`${id}\n${model.id}`, model] as const)),
  )
  return after.flatMap(({ id: provider, models }) =>
    models.flatMap((model) => {
      const why = farVariantOf(older.get(`${provider}\n${model.id}`), model)
      return why === null ? [] : namesOf(model).map((name) => ({ provider, model: model.id, name, why }))
    }),
  )
}

function farVariantOf(
  old: ModelDocument | undefined,
  { prices: standard, price_variants: variants = [] }: ModelDocument,
): string | null {
  for (const { when, prices } of variants) {
    const tier = JSON.stringify(when)
    const ofTier = old?.price_variants?.filter((other) => JSON.stringify(other.when) === tier) ?? []
    for (const [key, rate] of Object.entries(prices)) {
      const known = [...standard, ...ofTier]
        .flatMap((entry) => amountsOf(entry.prices[key]))
        .filter((amount) => amount > 0)
      const isFar = (amount: number) =>
        known.length > 0 && known.every((one) => amount > one * FAR || amount < one / FAR)
      const far = amountsOf(rate).find((amount) => amount > ABSURD_DOLLARS || isFar(amount))
      if (far !== undefined) return `${key} is $${far} at ${Object.values(when).join('+')}`
      // Where it is as before, the standard price has moved, and the tier is right.
      const isChanged = ofTier.every((other) => JSON.stringify(other.prices[key]) !== JSON.stringify(rate))
      const turned =
        isChanged && PLAIN_TOKENS.includes(key)
          ? turnedTierOf(
              Object.values(when),
              rate,
              standard.map((entry) => entry.prices[key]),
            )
          : null
      if (turned !== null) return `${key} is ${turned}`
    }
  }
  return null
}

/** In words, of the bases of a class at a tier and without it; `null`: they are on the right side of each other. */
function turnedTierOf(tiers: readonly string[], rate: unknown, standard: readonly unknown[]): string | null {
  const [amount = 0] = amountsOf(rate)
  const usual = standard.flatMap((one) => amountsOf(one).slice(0, 1)).filter((one) => one > 0)
  if (amount === 0 || usual.length === 0) return null
  const dearer = tiers.find((tier) => CHEAPER.has(tier) && usual.every((one) => amount > one))
  if (dearer !== undefined) return `dearer at ${dearer} than without, at $${amount}`
  const cheaper = tiers.find((tier) => DEARER.has(tier) && usual.every((one) => amount < one))
  return cheaper === undefined ? null : `cheaper at ${cheaper} than without, at $${amount}`
}
