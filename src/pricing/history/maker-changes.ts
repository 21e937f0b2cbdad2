import type {
  CatalogDocument,
  ModelDocument,
  PricesDocument,
  VariantDocument,
} from '#prices/catalog-document.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { findListed, SOLD_AT_MAKERS_PRICES } from '../catalog/catalog-find.ts'
import { pricesOn, variantsOn } from './catalog-history.ts'
import type { HeldRow } from './read-rows.ts'

type AcceptedRows = ReadonlyMap<string, readonly ModelDocument[]>

/** Takes out the rows by which a person has let a host follow its maker: no source lists them. */
export function takeOutAccepted(document: CatalogDocument): {
  readonly listed: CatalogDocument
  readonly accepted: AcceptedRows
} {
  const accepted = new Map(
    document.map(({ id, models }) => [id, models.filter(({ sells_for: maker }) => maker !== undefined)]),
  )
  const listed = document.map((provider) => ({
    ...provider,
    models: provider.models.filter(({ sells_for: maker }) => maker === undefined),
  }))
  return { listed, accepted }
}

/** The same with them again, but for models that a source now lists for the host itself. */
export function putBackAccepted(document: CatalogDocument, accepted: AcceptedRows): CatalogDocument {
  return document.map((provider) => {
    const listed = new Set(provider.models.map(({ id }) => id))
    const kept = (accepted.get(provider.id) ?? []).filter(({ id }) => !listed.has(id))
    return kept.length === 0 ? provider : { ...provider, models: [...provider.models, ...kept] }
  })
}

/**
 * Models whose maker has changed their price since its list was first seen here, at hosts that sell them at their maker's
 * price and of which no source says anything itself. Each waits for a person.
 *
 * @param document What will be in force, with its known days.
 * @param others The other sources.
 */
export function makerChanges(
  document: CatalogDocument,
  others: readonly CatalogEntries[],
  from: UtcDay,
): readonly HeldRow[] {
  const lists = new Map(document.map((provider) => [provider.id, provider]))
  return [...SOLD_AT_MAKERS_PRICES].flatMap(([host, makers]) => {
    const own = lists.get(host)
    // Only where the source says whose models the host sells.
    const sold = makers.filter((maker) => own?.fallback_model_providers?.includes(maker) === true)
    return sold.flatMap((maker) => {
      const { models = [], known_since: known } = lists.get(maker) ?? {}
      return models.flatMap((model): HeldRow[] => {
        const since = model.known_since ?? known
        const isOwn = model.moved_since === undefined && model.gone_since === undefined
        if (since === undefined || !isOwn) return []
        const taken = own?.models.find(({ id, sells_for: of }) => id === model.id && of === maker)
        const before = stateOn(taken ?? model, taken === undefined ? since : from)
        const after = stateOn(model, from)
        const change = changeOf(before, after)
        if (change === null || isListed(host, model, own?.models ?? [], others)) return []
        return [
          {
            provider: host,
            model: model.id,
            why: `its maker changed ${change}, and no list says so of this host`,
            offered: { id: model.id, match: model.match, ...after, sells_for: maker },
          },
        ]
      })
    })
  })
}

/**
 * The rows of a host with one that has its maker's price from `from` on, and until then what it had.
 *
 * @param document What is in force, without such rows.
 */
export function followMaker(
  document: CatalogDocument,
  rows: readonly ModelDocument[],
  offered: ModelDocument,
  from: UtcDay,
): readonly ModelDocument[] {
  const old = rows.find(({ id }) => id === offered.id)
  const maker = document.find(({ id }) => id === offered.sells_for)
  const model = maker?.models.find(({ id }) => id === offered.id)
  const since = model?.known_since ?? maker?.known_since ?? from
  const past: HostPrices = old ?? (model === undefined ? { prices: [] } : stateOn(model, since))
  const prices = [
    ...past.prices,
    ...offered.prices.map(({ prices: rates }) => ({ constraint: { start_date: from }, prices: rates })),
  ]
  const tiers = (offered.price_variants ?? []).map(({ constraint, ...variant }): VariantDocument => {
    const own = constraint?.start_date ?? from
    return { ...variant, constraint: { start_date: own > from ? own : from } }
  })
  // Of each tier the first one that is in force counts.
  const variants = [...tiers, ...(past.price_variants ?? [])]
  const { price_variants: _, ...row } = offered
  const followed = { ...row, prices, ...(variants.length === 0 ? {} : { price_variants: variants }) }
  return [...rows.filter(({ id }) => id !== offered.id), followed]
}

type HostPrices = Pick<ModelDocument, 'prices' | 'price_variants'>

/** What a model costs on a day, by its standard price at a plain hour and at its tiers. */
function stateOn({ prices, price_variants: variants }: HostPrices, day: UtcDay): HostPrices {
  const standard = pricesOn(prices, day).slice(0, 1)
  const tiers = variantsOn(variants, day)
  return {
    prices: standard.map(({ prices: rates }) => ({ prices: rates })),
    ...(tiers.length === 0 ? {} : { price_variants: tiers }),
  }
}

/** In words; `null`: nothing changed. */
function changeOf(before: HostPrices, after: HostPrices): string | null {
  if (JSON.stringify(before.prices) !== JSON.stringify(after.prices))
    return `${priceText(before.prices)} to ${priceText(after.prices)}`
  const known = new Set(before.price_variants?.map((variant) => JSON.stringify(variant)))
  const changed = (after.price_variants ?? []).filter((variant) => !known.has(JSON.stringify(variant)))
  if (changed.length === 0) return null
  return `its prices at ${changed.map(({ when }) => Object.values(when).join('+')).join(', ')}`
}

function isListed(
  host: string,
  { id }: ModelDocument,
  own: readonly ModelDocument[],
  others: readonly CatalogEntries[],
): boolean {
  if (own.some((model) => model.id === id && model.sells_for === undefined)) return true
  // A maker's own row of the name goes before a host's of which it is a revision.
  return others.some((entries) =>
    findListed(entries, { providerId: host, name: id, makers: [] }).some(({ fit }) => fit === 'exact'),
  )
}

/** Input and output, US dollars for a million tokens. */
function priceText([first]: readonly PricesDocument[]): string {
  const { input_mtok: input, output_mtok: output } = first?.prices ?? {}
  return `$${JSON.stringify(input) ?? '-'}/${JSON.stringify(output) ?? '-'}`
}
