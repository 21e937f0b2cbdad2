import type { CatalogEntries, CatalogModel, DatedPrices } from '../catalog/catalog-entries.ts'
import { CATALOG_PROVIDER_IDS } from '../catalog/catalog-providers.ts'
import { rateText } from '../catalog/catalog-rates.ts'

/** A price of a model that differs between two catalogs, in the catalog's own words; `null`: it has none. */
export interface CatalogChange {
  readonly provider: string
  readonly model: string
  /** `input_mtok`, with the day or hours it is for; `model`: all of it came or went. */
  readonly what: string
  readonly before: string | null
  readonly after: string | null
}

/** What changes for the providers that upstreams can have, by provider and model. How names match is not compared. */
export function catalogChanges(before: CatalogEntries, after: CatalogEntries): CatalogChange[] {
  return CATALOG_PROVIDER_IDS.flatMap((provider) => {
    const modelsBefore = modelsOf(before, provider)
    const modelsAfter = modelsOf(after, provider)
    const names = [...new Set([...modelsBefore.keys(), ...modelsAfter.keys()])].sort()
    return names.flatMap((model) =>
      modelChanges(modelsBefore.get(model), modelsAfter.get(model)).map((change) => ({
        provider,
        model,
        ...change,
      })),
    )
  })
}

function modelsOf(entries: CatalogEntries, provider: string): ReadonlyMap<string, CatalogModel> {
  return new Map(entries.providers.get(provider)?.models.map((model) => [model.id, model]))
}

type Change = Omit<CatalogChange, 'provider' | 'model'>

function modelChanges(before: CatalogModel | undefined, after: CatalogModel | undefined): Change[] {
  if (before === undefined) return [{ what: 'model', before: null, after: 'new' }]
  if (after === undefined) return [{ what: 'model', before: 'known', after: null }]
  const pricesBefore = textsOf(before)
  const pricesAfter = textsOf(after)
  return [...new Set([...pricesBefore.keys(), ...pricesAfter.keys()])].flatMap((what) => {
    const change = { what, before: pricesBefore.get(what) ?? null, after: pricesAfter.get(what) ?? null }
    return change.before === change.after ? [] : [change]
  })
}

function textsOf({ prices }: CatalogModel): ReadonlyMap<string, string> {
  return new Map(
    prices.flatMap((dated) =>
      [...dated.byKey].map(([key, rate]): [string, string] => [`${key}${whenText(dated)}`, rateText(rate)]),
    ),
  )
}

function whenText({ constraint }: DatedPrices): string {
  if (constraint === null) return ''
  if (constraint.kind === 'from') return ` from ${constraint.day}`
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16)
  const from = constraint.day === undefined ? '' : ` from ${constraint.day}`
  return ` ${clock(constraint.startMs)}-${clock(constraint.endMs)}${from}`
}
