import type { CatalogPlace, FindMaker } from '../../providers/catalog-lists.ts'
import type { ProviderEntry } from '../../providers/provider.ts'
import { entryOf, findEntry, PROVIDERS } from '../../providers/registry.ts'

/** The providers that have lists in the catalog. */
const LISTED = PROVIDERS.flatMap((provider) => {
  const { catalog } = entryOf(provider)
  return catalog === null ? [] : [{ provider, catalog }]
})

/** Makers of models, in the order in which a name is tried, each with its list and the prefixes that name it. */
const MAKERS = LISTED.flatMap(({ provider, catalog: { lists, makerPrefixes } }) => {
  const [list] = lists
  return makerPrefixes === undefined || list === undefined ? [] : [{ provider, list, makerPrefixes }]
})

/** The model's maker, where its prefix names one: whose list a model is in is never guessed from its name. */
const findMaker: FindMaker = (model) => {
  const slash = model.indexOf('/')
  const prefix = model.slice(0, Math.max(0, slash)).toLowerCase()
  const found = MAKERS.find(({ makerPrefixes }) => makerPrefixes.includes(prefix))
  return found === undefined ? null : { providerId: found.list, name: model.slice(slash + 1) }
}

/** For `prices_of: makers`: the maker that a prefix names, and a name without one in each maker's list in turn. */
function placesAtMakers(model: string): readonly CatalogPlace[] {
  if (!model.includes('/')) return MAKERS.map(({ list }) => ({ providerId: list, name: model }))
  const made = findMaker(model)
  return made === null ? [] : [made]
}

/** The providers an upstream can have, as far as prices go. */
export const PRICED_PROVIDERS: readonly string[] = PROVIDERS

/** What `prices_of` may name: providers whose prices the catalog has, and `makers`: each model's own. */
export const PRICES_OF: readonly string[] = [...LISTED.map(({ provider }) => provider), 'makers']

/** Prices that hold at some hosts of a provider only. */
const REGIONAL = LISTED.flatMap(({ catalog: { regional } }) => regional ?? [])

/**
 * Where the catalog may have the price of `model` at `provider` (one of ours), in the order to look. `pricesOf`: whose
 * prices hold there: one of {@link PRICES_OF}, or the name of regional prices; `null`: the provider's own.
 */
export function catalogPlaces(
  provider: string,
  model: string,
  pricesOf: string | null = null,
): readonly CatalogPlace[] {
  if (pricesOf === null) return placesAt(findEntry(provider), model)
  if (pricesOf === 'makers') return placesAtMakers(model)
  const regional = REGIONAL.find(({ name }) => name === pricesOf)
  if (regional !== undefined) return regional.places(model)
  return placesAt(findEntry(pricesOf), model).map(({ providerId, name }) => ({
    providerId,
    name: withoutMaker(providerId, name),
  }))
}

function placesAt(entry: ProviderEntry | null, model: string): readonly CatalogPlace[] {
  return entry?.catalog?.places(model, findMaker) ?? []
}

/** Hosts write the maker before a name (`deepseek-ai/DeepSeek-R1`); the maker itself does not. */
function withoutMaker(providerId: string, name: string): string {
  const made = findMaker(name)
  return made?.providerId === providerId ? made.name : name
}

/** Whose prices hold at a region that has a price of its own: the provider's, where it was one with prices elsewhere. */
export function ownPrices(pricesOf: string | null): string | null {
  return REGIONAL.some(({ name }) => name === pricesOf) ? null : pricesOf
}

/** Whose service tiers hold, as one of our providers: the maker's where calls are only passed on to it. */
export function sellerOf(provider: string, pricesOf: string | null, catalogProviderId: string): string {
  if (REGIONAL.some(({ name }) => name === pricesOf)) return provider
  if (pricesOf !== null && pricesOf !== 'makers') return pricesOf
  const catalog = findEntry(provider)?.catalog
  const isPassedOn = catalog?.passesOn === true && !catalog.lists.includes(catalogProviderId)
  if (pricesOf === null && !isPassedOn) return provider
  return MAKERS.find(({ list }) => list === catalogProviderId)?.provider ?? catalogProviderId
}

/** Whether a provider's answers may name models in others' words, so that the request's name counts as well. */
export function answersInOthersWords(provider: string): boolean {
  return findEntry(provider)?.catalog?.requestNamesModel === true
}

/** The lists of the first source that {@link catalogPlaces} can name, the makers' first. */
export const CATALOG_PROVIDER_IDS: readonly string[] = [
  ...new Set([...MAKERS.map(({ list }) => list), ...LISTED.flatMap(({ catalog }) => catalog.lists)]),
]

/** Lists that only other sources have, or tell apart. */
export const OTHER_PROVIDER_IDS: readonly string[] = LISTED.flatMap(({ catalog }) => catalog.otherLists ?? [])

/** Lists of hosts whose own figure of a call's cost is believed. */
export const BELIEVED_LISTS: ReadonlySet<string> = new Set(
  LISTED.filter(({ provider }) => entryOf(provider).reportsCost === true).flatMap(
    ({ catalog: { lists, otherLists = [] } }) => [...lists, ...otherLists],
  ),
)
