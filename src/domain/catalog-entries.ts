import type { NameFit, NameRule } from './catalog-match.ts'
import { isMisnamed } from './catalog-misnamed.ts'
import type { Decimal } from './decimal.ts'
import { type ModelName, readModelName, versionOf } from './model-name.ts'
import type { UtcDay } from './utc-day.ts'

/** Price data of many providers, from one source. */
export interface CatalogEntries {
  /** Names the data and its version, e.g. `genai-prices@0.1.8`. */
  readonly source: string
  readonly providers: ReadonlyMap<string, CatalogProvider>
}

export interface CatalogProvider {
  readonly id: string
  readonly models: readonly CatalogModel[]
  /** Providers whose models are looked through next: this one sells theirs at their prices. */
  readonly fallbackProviders: readonly string[]
}

export interface CatalogModel {
  readonly id: string
  readonly matches: NameRule
  /** The last one in force is the model's price; where none is in force, the first. At least one. */
  readonly prices: readonly DatedPrices[]
}

export interface DatedPrices {
  readonly constraint: PriceConstraint | null
  readonly byKey: ReadonlyMap<string, CatalogRate>
}

export type PriceConstraint =
  | { readonly kind: 'from'; readonly day: UtcDay }
  /**
   * Milliseconds since midnight UTC, the end excluded; over midnight where it ends before it starts. `day`: from then
   * on only.
   */
  | { readonly kind: 'hours'; readonly startMs: number; readonly endMs: number; readonly day?: UtcDay }

/** US dollars for as many of a unit as the key says; more above some sizes of prompt. */
export interface CatalogRate {
  readonly base: Decimal
  /** By rising `above`: from more than `above` input tokens on, all of the call is at this price. */
  readonly tiers: readonly { readonly above: number; readonly price: Decimal }[]
}

/** A model of the catalog, and the provider whose list it stands in. */
export interface FoundModel {
  readonly provider: CatalogProvider
  readonly model: CatalogModel
}

/**
 * The model of that name, here or at the providers this one sells at their prices: by a rule that says all of the
 * name, else by one that says all but its revision. What goes on with anything else is another model. Where there is
 * none, the name is tried again with a compact date in it spelled out (`-20250514` as `-2025-05-14`).
 */
export function findCatalogModel(
  entries: CatalogEntries,
  providerId: string,
  name: string,
): FoundModel | null {
  const provider = entries.providers.get(providerId)
  const read = readModelName(name)
  if (provider === undefined || read === null) return null
  const dashed = readModelName(read.text.replace(COMPACT_DATE, '-$1-$2-$3'))
  const candidates = [provider, ...fallbacks(entries, provider, read.text)]
  for (const spelling of dashed === null || dashed.text === read.text ? [read] : [read, dashed]) {
    for (const wanted of ['exact', 'revision'] as const) {
      for (const candidate of candidates) {
        const model = candidate.models.find((listed) => fits(candidate.id, listed, spelling, wanted))
        if (model !== undefined) return { provider: candidate, model }
      }
    }
  }
  return null
}

const COMPACT_DATE = /-(20[0-9]{2})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(?=-|:|$)/g

function fits(providerId: string, model: CatalogModel, name: ModelName, wanted: NameFit): boolean {
  const fit = name.text === model.id.toLowerCase() ? 'exact' : model.matches(name)
  if (fit !== wanted || isMisnamed(providerId, name.text, model.id)) return false
  if (providerId === 'aws' && !isSoldThere(name.text, model.id)) return false
  // `titan-embed-text-v2:0` is no revision of `titan-embed-text-v1`.
  const version = versionOf(name.text)
  return fit === 'exact' || version === null || version === (versionOf(model.id) ?? '1')
}

/**
 * Whether the price of a model of Bedrock's is for the region that a name begins with. The catalog's are those of the
 * United States, or `regional`, or `global`, as their ids say; elsewhere most cost more.
 */
function isSoldThere(name: string, modelId: string): boolean {
  const region = /^([a-z]{2,6}(?:-gov)?)\.[a-z0-9-]+\./.exec(name)?.[1]
  if (region === undefined || region === 'us' || modelId.startsWith(`${region}.`)) return true
  return region !== 'global' && modelId.startsWith('regional.')
}

/**
 * Whose models a provider sells at their makers' prices. The catalog names more for Azure (deepseek, x-ai,
 * moonshotai), whose prices there are Azure's own: https://azure.microsoft.com/pricing/details/ai-foundry-models.
 */
const SOLD_AT_MAKERS_PRICES: ReadonlyMap<string, readonly string[]> = new Map([
  ['azure', ['openai', 'anthropic']],
  ['google', ['anthropic']],
])

function fallbacks(entries: CatalogEntries, { id, fallbackProviders }: CatalogProvider, name: string) {
  // Open weights have no maker's price: each host has its own.
  if (name.includes('gpt-oss')) return []
  const makers = SOLD_AT_MAKERS_PRICES.get(id) ?? []
  return fallbackProviders
    .filter((fallback) => makers.includes(fallback))
    .flatMap((fallback) => entries.providers.get(fallback) ?? [])
}
