import { type CatalogDocument, type ModelDocument, namesOf } from '../sources/catalog-document.ts'
import { ABSURD_DOLLARS, amountsOf, type RowDoubt } from './row-doubt.ts'

/** No maker asks six times its list price at any tier for more, or a tenth of it for less. */
const FAR = 10

/**
 * Models whose prices at a service tier are far from all that they cost otherwise, and from what the tier cost before: each
 * name of theirs keeps what it had, at every tier.
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
    }
  }
  return null
}
