import { countsBy, TOKEN_CLASSES, type TokenClass, type TokenUsage } from '../../call/usage.ts'
import { fitsPattern } from '../../domain/model-name.ts'
import type { Catalog } from '../../pricing/catalog/catalog.ts'
import { serviceTierOf } from '../../pricing/catalog/catalog-service-tiers.ts'
import { splitPlace, tierAt } from '../../pricing/places/place-tiers.ts'
import { type TokenRatio, tokenRatios } from './token-ratio.ts'

/** What is supposed to have been otherwise. */
export interface Supposed {
  /** Of several that fit, the first. */
  readonly models: readonly ModelSwap[]
  /** Service tiers, each in place of another; `null`: as they were. */
  readonly tier: TierSwap | null
  /** The share of prompt tokens that is read from the cache, 0 to 1; `null`: as it was. */
  readonly cachedShare: number | null
  /** The prices in force. */
  readonly pricesNow: Catalog
  /** Those that are supposed; the same object where no price is another. */
  readonly pricesThen: Catalog
  /** Where a model is served in place of one of that upstream; `null`: no upstream has a price for it. */
  placeOf(upstream: string, model: string): ServedAt | null
}

export interface ModelSwap {
  /** The name that calls are totalled under, or the beginning of names and a `*`. */
  readonly from: string
  readonly to: string
}

/** `standard`: none of the others. */
export interface TierSwap {
  readonly from: SupposedTier
  readonly to: SupposedTier
}

export type SupposedTier = 'standard' | 'batch' | 'flex' | 'priority'

export interface ServedAt {
  readonly provider: string
  readonly upstream: string
}

/** Of a call or a row of totals, what is supposed to change. */
export interface SupposedCall extends ServedAt {
  /** The name it is totalled under. */
  readonly model: string
  readonly usage: TokenUsage
  readonly serviceTier: string | null
}

/** Why a cost is only known to be between two. */
export type Uncertainty = 'tokenizer' | 'cache_writes'

export type SupposedUse =
  /** Nothing of it is supposed to change. */
  | { readonly kind: 'same' }
  | { readonly kind: 'unknown'; readonly reason: string }
  | {
      readonly kind: 'uses'
      /** What it may have been: its cost is between the least and the most of theirs. */
      readonly uses: readonly SupposedCall[]
      readonly because: readonly Uncertainty[]
      readonly isSwapped: boolean
      readonly isOtherTier: boolean
    }

/** What a use would have been. */
export function supposeUse(supposed: Supposed, use: SupposedCall): SupposedUse {
  const swap = supposed.models.find(({ from }) => fitsPattern(from, use.model))
  const serviceTier = otherTier(supposed.tier, use)
  const isOtherTier = serviceTier !== use.serviceTier
  const share = (use.usage.inputTokens ?? 0) > 0 ? supposed.cachedShare : null
  if (swap === undefined && !isOtherTier && share === null) return { kind: 'same' }

  const place = swap === undefined ? use : supposed.placeOf(use.upstream, swap.to)
  if (place === null) return { kind: 'unknown', reason: 'no upstream has a price for the other model' }
  const model = swap?.to ?? use.model
  const ratios = swap === undefined ? [] : tokenRatios(use.model, model)
  if ((ratios.length > 1 || share !== null) && hasMedia(use.usage))
    return { kind: 'unknown', reason: 'how its sound, pictures or films would count is not known' }
  const texts = ratios.length > 1 ? ratios.map((ratio) => scaled(use.usage, ratio)) : [use.usage]
  const usages =
    share === null
      ? texts
      : texts.flatMap((usage) => [false, true].map((writes) => withCachedShare(usage, share, writes)))
  return {
    kind: 'uses',
    uses: usages.map((usage) => ({
      provider: place.provider,
      upstream: place.upstream,
      model,
      usage,
      serviceTier,
    })),
    because: [
      ...(ratios.length > 1 ? (['tokenizer'] as const) : []),
      ...(share === null ? [] : (['cache_writes'] as const)),
    ],
    isSwapped: swap !== undefined,
    isOtherTier,
  }
}

/** The place where a call was served stays. */
function otherTier(swap: TierSwap | null, { provider, serviceTier }: SupposedCall): string | null {
  if (swap === null) return serviceTier
  const { service, place } = splitPlace(provider, serviceTierOf(serviceTier))
  if ((service ?? 'standard') !== swap.from) return serviceTier
  return tierAt(provider, swap.to === 'standard' ? null : swap.to, place)
}

const GENERATED: ReadonlySet<TokenClass> = new Set([
  'outputTokens',
  'reasoningTokens',
  'audioOutputTokens',
  'imageOutputTokens',
])
const WHOLES: ReadonlySet<TokenClass> = new Set(['inputTokens', 'outputTokens'])
/** Of these each maker has rules of its own. */
const MEDIA = [
  'audioInputTokens',
  'imageInputTokens',
  'videoInputTokens',
  'audioOutputTokens',
  'imageOutputTokens',
] as const satisfies readonly TokenClass[]

function hasMedia(usage: TokenUsage): boolean {
  return MEDIA.some((name) => (usage[name] ?? 0) > 0)
}

/** The same text in other tokens. Parts are rounded down and wholes up, so that parts still fit into their wholes. */
function scaled(usage: TokenUsage, { prompt, generated }: TokenRatio): TokenUsage {
  return countsBy(TOKEN_CLASSES, (name) => {
    const count = usage[name]
    if (count === null) return null
    const factor = GENERATED.has(name) ? generated : prompt
    return WHOLES.has(name) ? Math.ceil(count * factor) : Math.floor(count * factor)
  })
}

/**
 * The same prompt with a share of it read from the cache.
 *
 * @param writesRest Whether the rest is written to the cache, for five minutes; else none of it is.
 */
function withCachedShare(usage: TokenUsage, share: number, writesRest: boolean): TokenUsage {
  const input = usage.inputTokens ?? 0
  if (input === 0) return usage
  const read = Math.floor(input * share)
  const written = writesRest ? input - read : 0
  return {
    ...usage,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    cacheWrite5mTokens: written,
    cacheWrite1hTokens: 0,
    cacheWrite12hTokens: 0,
  }
}
