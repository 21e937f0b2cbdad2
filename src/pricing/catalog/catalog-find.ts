import { type ModelName, readModelName, versionOf } from '../../domain/model-name.ts'
import type { CatalogPlace } from '../../providers/catalog-lists.ts'
import { isMisnamed } from '../corrections/misnamed.ts'
import { usualPlace } from '../places/usual-names.ts'
import { isCorrections } from '../sources/catalog-corrections.ts'
import type { CatalogEntries, CatalogModel, CatalogProvider } from './catalog-entries.ts'
import type { NameFit } from './catalog-match.ts'
import { indexOf } from './model-index.ts'

/** A model that a source lists under a name, and the list it stands in. */
export interface CatalogListing {
  /** The source. */
  readonly layer: CatalogEntries
  readonly provider: CatalogProvider
  readonly model: CatalogModel
  /** Whether the source's rule says all of the name, or all but its revision. */
  readonly fit: 'exact' | 'revision'
  /** 0: in the host's own list; above: in that of a maker whose prices it takes. */
  readonly rank: number
  /** A host has it from its maker, whose later changes are not the host's. */
  readonly isInherited?: true
}

/** The sources of price data, the one that is asked first at the beginning. */
export function layersOf(entries: CatalogEntries): readonly CatalogEntries[] {
  return entries.layers ?? [entries]
}

/**
 * What every source says of a name: in the host's own list before the makers', and there by the precedence of
 * sources; of one list the exact fit before that of a revision. A longer name is another model, so it is in
 * none of them. Where no source lists the name, it is looked for again with a compact date in it spelled out
 * (`-20250514` as `-2025-05-14`).
 */
export function findListed(entries: CatalogEntries, asked: CatalogPlace): readonly CatalogListing[] {
  const place = usualPlace(asked)
  const layers = layersOf(entries)
  const places = [place, ...(place.makers ?? makersOf(layers, place))]
  const listed = places.flatMap((at, rank) => listedAt(layers, at, rank, readModelName(at.name)))
  if (listed.length > 0) return listed
  return places.flatMap((at, rank) => {
    const dashed = at.name.replace(COMPACT_DATE, '-$1-$2-$3')
    return dashed === at.name ? [] : listedAt(layers, at, rank, readModelName(dashed))
  })
}

/** What one source alone says of a name: the model, and the list it stands in; `null`: nothing. */
export function findCatalogModel(
  entries: CatalogEntries,
  providerId: string,
  name: string,
): Pick<CatalogListing, 'provider' | 'model'> | null {
  const listed = findListed(entries, { providerId, name })
  return listed.find(({ fit }) => fit === 'exact') ?? listed[0] ?? null
}

const COMPACT_DATE = /-(20[0-9]{2})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(?=-|:|$)/g

function listedAt(
  layers: readonly CatalogEntries[],
  place: CatalogPlace,
  rank: number,
  name: ModelName | null,
): CatalogListing[] {
  if (name === null) return []
  return layers.flatMap((layer) =>
    ownLists(layer, place).flatMap((provider) => {
      const found = findInList(provider, name)
      if (found === null) return []
      const inherited = place.inheritedBy === undefined ? {} : { isInherited: true as const }
      return [{ layer, provider, rank, ...inherited, ...found }]
    }),
  )
}

/** The lists of the host itself: where a source tells it apart from a like one, that which is its own. */
function ownLists(
  layer: CatalogEntries,
  { providerId, lists = [], inheritedBy }: CatalogPlace,
): CatalogProvider[] {
  const { providers } = layer
  // What a person has taken over of the maker's stands in the host's list, before the maker's own.
  const host = inheritedBy === undefined ? undefined : providers.get(inheritedBy)
  const taken = host?.models.filter(({ sellsFor }) => sellsFor === providerId) ?? []
  if (host !== undefined && taken.length > 0) {
    const provider = providers.get(providerId)
    return [{ ...host, models: taken }, ...(provider === undefined ? [] : [provider])]
  }
  const apart = lists.flatMap((id) => providers.get(id) ?? [])
  // Our own facts are of single models, so that those of both lists hold.
  if (apart.length > 0 && !isCorrections(layer)) return apart
  const provider = providers.get(providerId)
  return provider === undefined ? apart : [...apart, provider]
}

/** The first that fits exactly, else the first of which the name is a revision. */
function findInList(
  provider: CatalogProvider,
  name: ModelName,
): { readonly model: CatalogModel; readonly fit: 'exact' | 'revision' } | null {
  let revision: CatalogModel | null = null
  const list = indexOf(provider.models)
  for (const model of list.candidates(name)) {
    if (model.sellsFor !== undefined && !list.isTaken) continue
    const fit = fitOf(provider.id, model, name)
    if (fit === 'exact') return { model, fit }
    if (fit === 'revision') revision ??= model
  }
  return revision === null ? null : { model: revision, fit: 'revision' }
}

function fitOf(providerId: string, model: CatalogModel, name: ModelName): NameFit {
  const fit = name.text === model.id.toLowerCase() ? 'exact' : model.matches(name)
  if (fit === 'none' || fit === 'part' || isMisnamed(providerId, name.text, model.id)) return 'none'
  if (providerId === 'aws' && !isSoldThere(name.text, model.id)) return 'none'
  // `titan-embed-text-v2:0` is not a revision of `titan-embed-text-v1`.
  const version = versionOf(name.text)
  return fit === 'exact' || version === null || version === (versionOf(model.id) ?? '1') ? fit : 'none'
}

/**
 * Whether the price of a model of Bedrock's is for the region that a name begins with. The catalog's are those of the
 * United States, or `regional`, or `global`, as their ids say; elsewhere most cost more. GovCloud has a list of its
 * own: most of it is a fifth above these by models.dev and LiteLLM.
 */
function isSoldThere(name: string, modelId: string): boolean {
  const region = /^([a-z]{2,6}(?:-gov)?)\.[a-z0-9-]+\./.exec(name)?.[1]
  if (region === undefined || region === 'us' || modelId.startsWith(`${region}.`)) return true
  return region !== 'global' && region !== 'us-gov' && modelId.startsWith('regional.')
}

/**
 * Whose models a provider sells at their makers' prices. The catalog names more for Azure (deepseek, x-ai,
 * moonshotai), whose prices there are Azure's own: https://azure.microsoft.com/pricing/details/ai-foundry-models.
 */
export const SOLD_AT_MAKERS_PRICES: ReadonlyMap<string, readonly string[]> = new Map([
  ['azure', ['openai', 'anthropic']],
  ['google', ['anthropic']],
])

function makersOf(layers: readonly CatalogEntries[], { providerId, name }: CatalogPlace): CatalogPlace[] {
  // Open weights have no maker's price: each host has its own.
  if (name.toLowerCase().includes('gpt-oss')) return []
  const makers = SOLD_AT_MAKERS_PRICES.get(providerId) ?? []
  const named = layers.flatMap(({ providers }) => providers.get(providerId)?.fallbackProviders ?? [])
  return [...new Set(named)]
    .filter((id) => makers.includes(id))
    .map((id) => ({ providerId: id, name, inheritedBy: providerId }))
}
