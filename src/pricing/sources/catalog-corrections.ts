import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import type { ModelCorrection } from '../corrections/model-correction.ts'
import { MODEL_CORRECTIONS } from '../corrections/models.ts'

/** Whether price data is ours, so that it comes before every source. */
export function isCorrections({ source }: CatalogEntries): boolean {
  return source.startsWith('corrections@')
}

/** Whether price data is what Azure publishes of its own prices, which only its models are in. */
export function isAzures({ source }: CatalogEntries): boolean {
  return source.startsWith('azure@')
}

/** Our corrections of models in the form of catalog data. */
export function correctionProviders(
  corrections: readonly ModelCorrection[] = MODEL_CORRECTIONS,
): readonly unknown[] {
  const byProvider = Map.groupBy(corrections, ({ providerId }) => providerId)
  return [...byProvider].map(([id, models]) => ({
    id,
    models: models.map(({ id: model, names = [model], from, prices, seen }) => ({
      id: model,
      match: { or: names.map((name) => ({ equals: name })) },
      ...(from === undefined ? { known_since: seen } : { in_force_from: from }),
      prices,
    })),
  }))
}
