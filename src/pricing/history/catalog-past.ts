import {
  type CatalogDocument,
  type ModelDocument,
  namesOf,
  type PricesDocument,
  type ProviderDocument,
} from '#prices/catalog-document.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { findCatalogModel } from '../catalog/catalog-find.ts'
import { parseCatalog } from '../sources/catalog-parse.ts'
import { joinPrices, joinVariants } from './catalog-history.ts'

/**
 * A newer catalog with what the older one says of the days before `from`: so that the past is priced as it was.
 *
 * - A price that changed is in force from `from` on, or from the day that the newer catalog itself names.
 * - A name that is another model's now keeps the prices that it had before.
 * - A model that is no longer listed keeps its last prices, and so does one that is listed without any.
 * - The order of models is that of the older catalog: where lists are only reordered, nothing changes.
 * - A name that `held` says of keeps what it cost before, and one that is new has no price.
 *
 * @param held Providers' names in lower case, as {@link heldKey} writes them.
 * @throws {Error} when either is not a catalog.
 */
export function keepPastPrices(
  before: CatalogDocument,
  after: CatalogDocument,
  from: UtcDay,
  held: ReadonlySet<string> = new Set(),
  { before: findBefore, after: findAfter }: FindBoth = findInBoth(before, after),
): CatalogDocument {
  const lookUp: LookUp = {
    before: findBefore,
    after: (provider, name) =>
      held.has(heldKey(provider, name)) ? findBefore(provider, name) : findAfter(provider, name),
    isHeld: (provider, name) => held.has(heldKey(provider, name)),
  }
  const newer = new Map(after.map((provider) => [provider.id, provider]))
  const older = new Map(before.map((provider) => [provider.id, provider]))
  const merged = before.map((provider) => mergeProvider(provider, newer.get(provider.id), lookUp, from))
  const added = after
    .filter(({ id }) => !older.has(id))
    .map((provider) => mergeProvider({ id: provider.id, models: [] }, provider, lookUp, from))
  return [...merged, ...added]
}

/** The prices of names in both of two catalogs; what was found is remembered. */
export interface FindBoth {
  readonly before: FindPrices
  readonly after: FindPrices
}

/** @throws {Error} when either is not a catalog. */
export function findInBoth(before: CatalogDocument, after: CatalogDocument): FindBoth {
  return { before: findPricesIn(before), after: findPricesIn(after) }
}

/** What a held name is known by. */
export function heldKey(provider: string, name: string): string {
  return `${provider}\n${name.toLowerCase()}`
}

interface LookUp {
  readonly before: FindPrices
  /** What is held is not in it. */
  readonly after: FindPrices
  isHeld(provider: string, name: string): boolean
}

function mergeProvider(
  before: ProviderDocument,
  after: ProviderDocument | undefined,
  lookUp: LookUp,
  from: UtcDay,
): ProviderDocument {
  const { id } = before
  const known = new Set(before.models.map((model) => model.id))
  const listed = (after?.models ?? []).filter(
    (model) => known.has(model.id) || !lookUp.isHeld(id, model.id) || lookUp.before(id, model.id) !== null,
  )
  const newer = new Map(listed.map((model) => [model.id, model]))
  const fallbacks = after === undefined ? before.fallback_model_providers : after.fallback_model_providers

  // 1. Models of the newer list, each with its own past, else with what its name cost before.
  const older = new Map(before.models.map((model) => [model.id, model]))
  const models = inOldOrder(before.models, listed).map((model) => {
    const old = older.get(model.id)
    const past = old?.prices ?? lookUp.before(id, model.id)
    if (lookUp.isHeld(id, model.id))
      return { ...withVariants(model, old?.price_variants), prices: past ?? [] }
    const variants = joinVariants(old?.price_variants, model.price_variants, from)
    return { ...withVariants(model, variants), prices: keepPast(past, model.prices, from) ?? [] }
  })
  // 2. Models that are gone, behind all that are there.
  const gone = before.models
    .filter(({ id: name, moved_since: moved }) => {
      if (newer.has(name)) return false
      // A held one keeps its rules for names; one that stands by itself is found again below.
      return lookUp.after(id, name) === null || (moved === undefined && lookUp.isHeld(id, name))
    })
    .map(({ moved_since: _, ...model }) => ({ ...model, gone_since: model.gone_since ?? from }))
  const merged = {
    id,
    ...(fallbacks === undefined ? {} : { fallback_model_providers: fallbacks }),
    models: [...models, ...gone],
  }
  // 3. Names for which that is not what they cost before and cost now: each by itself, in front of all models.
  const names = new Set([...before.models, ...listed].flatMap(namesOf))
  const since = new Map(
    before.models.flatMap(({ id: name, moved_since: moved }) => (moved === undefined ? [] : [[name, moved]])),
  )
  return { ...merged, models: [...movedNames(merged, names, since, lookUp, from), ...merged.models] }
}

function movedNames(
  merged: ProviderDocument,
  names: ReadonlySet<string>,
  since: ReadonlyMap<string, UtcDay | undefined>,
  lookUp: LookUp,
  from: UtcDay,
): readonly ModelDocument[] {
  const wanted = [...names].flatMap((name) => {
    const past = lookUp.before(merged.id, name)
    const prices = keepPast(past, lookUp.after(merged.id, name), from)
    // Without a past there is nothing to keep.
    return past === null || prices === null ? [] : [{ name, prices, text: JSON.stringify(prices) }]
  })
  const moved = new Map<string, ModelDocument>()
  // Such a name may take its revisions from other models, so all are looked at again. Each gets one at most: it ends.
  for (let before = -1; before < moved.size; ) {
    before = moved.size
    const find = findPricesIn([{ ...merged, models: [...moved.values(), ...merged.models] }])
    for (const { name, prices, text } of wanted) {
      if (moved.has(name) || JSON.stringify(find(merged.id, name)) === text) continue
      moved.set(name, { id: name, match: { equals: name }, prices, moved_since: since.get(name) ?? from })
    }
  }
  return [...moved.values()]
}

function withVariants(
  { price_variants: _, ...model }: ModelDocument,
  variants: ModelDocument['price_variants'],
): ModelDocument {
  return variants === undefined || variants.length === 0 ? model : { ...model, price_variants: variants }
}

/**
 * A price that is unknown now is left out: the last known one stays. `null`: the name has never been known.
 */
function keepPast(
  past: readonly PricesDocument[] | null,
  now: readonly PricesDocument[] | null,
  from: UtcDay,
): readonly PricesDocument[] | null {
  if (!isKnown(past)) return now ?? past
  return isKnown(now) ? joinPrices(past, now, from) : past
}

function isKnown(list: readonly PricesDocument[] | null): list is readonly PricesDocument[] {
  return list?.some(({ prices }) => Object.keys(prices).length > 0) === true
}

/** Models that are in both lists in the order of the older one; each new one behind what it follows in the newer. */
function inOldOrder(
  before: readonly ModelDocument[],
  after: readonly ModelDocument[],
): readonly ModelDocument[] {
  const newer = new Map(after.map((model) => [model.id, model]))
  const known = new Set(before.map(({ id }) => id))
  const followers = new Map<string | null, ModelDocument[]>()
  let last: string | null = null
  for (const model of after) {
    if (known.has(model.id)) last = model.id
    else followers.set(last, [...(followers.get(last) ?? []), model])
  }
  const inBoth = before.flatMap(({ id }) => newer.get(id) ?? [])
  return [
    ...(followers.get(null) ?? []),
    ...inBoth.flatMap((model) => [model, ...(followers.get(model.id) ?? [])]),
  ]
}

/** The prices by which calls of a name are priced at a provider; `null`: none of its models has that name. */
export type FindPrices = (providerId: string, name: string) => readonly PricesDocument[] | null

/** @throws {Error} when it is not a catalog. */
export function findPricesIn(document: CatalogDocument): FindPrices {
  const entries = entriesOf(document)
  const written = new Map(document.map(({ id, models }) => [id, models]))
  const known = new Map<string, readonly PricesDocument[] | null>()
  return (providerId, name) => {
    const key = heldKey(providerId, name)
    const before = known.get(key)
    if (before !== undefined) return before
    const found = findCatalogModel(entries, providerId, name)
    const at = found === null ? -1 : found.provider.models.indexOf(found.model)
    const prices = found === null ? null : (written.get(found.provider.id)?.[at]?.prices ?? null)
    known.set(key, prices)
    return prices
  }
}

function entriesOf(document: CatalogDocument): CatalogEntries {
  const { entries, problems } = parseCatalog(document, 'merged')
  if (entries === null) throw new Error(`not a price catalog: ${problems[0]}`)
  return entries
}
