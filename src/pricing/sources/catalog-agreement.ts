import type { Decimal } from '#prices/decimal.ts'
import type { CatalogRate, DatedPrices } from '../catalog/catalog-entries.ts'
import { isTokenKey, rateOfKey } from '../catalog/catalog-rates.ts'
import type { RateClass } from '../price-rates.ts'

type Prices = DatedPrices['byKey']

/** What two sources say of one class of a model's prices. */
export interface SharedClass {
  readonly rate: RateClass
  readonly one: CatalogRate
  readonly other: CatalogRate
  readonly isSame: boolean
}

/** The classes that both have a price for. */
export function sharedClasses(one: Prices, other: Prices): readonly SharedClass[] {
  const others = byClass(other)
  return [...byClass(one)].flatMap(([rate, listed]) => {
    const second = others.get(rate)
    return second === undefined
      ? []
      : [{ rate, one: listed, other: second, isSame: isSameRate(listed, second) }]
  })
}

/** Whether two sources share a class, and say the same of all that they share. */
export function agree(one: Prices, other: Prices): boolean {
  const shared = sharedClasses(one, other)
  return shared.length > 0 && shared.every(({ isSame }) => isSame)
}

/** The same, whatever they say of larger prompts. */
export function agreeOnSmallPrompts(one: Prices, other: Prices): boolean {
  const shared = sharedClasses(one, other)
  return shared.length > 0 && shared.every((both) => isSame(both.one.base, both.other.base))
}

/**
 * What `other` adds to `base`, whose other classes it agrees with: classes that only it has, and that would cost another
 * price without it. Not added is what measures the same use again (images and seconds of what is billed by tokens), a
 * fee for each call, which may be for a size of search, and what our own data says.
 */
export function fillable(
  base: Prices,
  other: Prices,
  ours: ReadonlySet<RateClass>,
): readonly (readonly [string, CatalogRate])[] {
  const known = byClass(base)
  const all = new Map([...byClass(other), ...known])
  const isByTokens = known.has('input') || known.has('output')
  return [...other].filter(([key, rate]) => {
    const added = rateOfKey(key)
    if (added === null || known.has(added) || ours.has(added) || NEVER_ADDED.has(added)) return false
    if (isByTokens && OTHER_MEASURES.has(added)) return false
    const usual = all.get(PART_OF[added] ?? added)
    return PART_OF[added] === undefined || usual === undefined || !isSameRate(rate, usual)
  })
}

/**
 * The prices of a model at a service tier: `tier` over the `standard` ones, whose fees stay as they are. A class of
 * tokens that only the standard tier names is left out where it costs what it is part of.
 *
 * @returns `null`: the tier lacks a class or a size of prompt, so that some calls would be at the standard price.
 */
export function wholeTier(standard: Prices, tier: Prices): Prices | null {
  const usual = byClass(standard)
  const known = byClass(tier)
  const whole = new Map(tier)
  for (const [key, rate] of standard) {
    const name = rateOfKey(key)
    const listed = name === null ? undefined : known.get(name)
    if (name === null || !isTokenKey(key)) {
      if (listed === undefined) whole.set(key, rate)
    } else if (listed === undefined) {
      const all = usual.get(TOKENS_OF[name] ?? name)
      if (all === undefined || TOKENS_OF[name] === undefined || !isSameRate(rate, all)) return null
    } else if (rate.tiers.some(({ above }) => !listed.tiers.some((size) => size.above === above))) {
      return null
    }
  }
  return whole
}

/** Of which class's tokens these are a part. */
const TOKENS_OF: Readonly<Partial<Record<RateClass, RateClass>>> = {
  cacheRead: 'input',
  cacheWrite: 'input',
  cacheWrite1h: 'cacheWrite',
  cacheWrite12h: 'cacheWrite',
  audioInput: 'input',
  imageInput: 'input',
  videoInput: 'input',
  reasoning: 'output',
  audioOutput: 'output',
  imageOutput: 'output',
}

const NEVER_ADDED: ReadonlySet<RateClass> = new Set<RateClass>(['request'])
const OTHER_MEASURES: ReadonlySet<RateClass> = new Set<RateClass>(['image', 'audioMs', 'character'])

/** Classes that cost what these do where no source says otherwise, at every provider. */
const PART_OF: Readonly<Partial<Record<RateClass, RateClass>>> = {
  cacheRead: 'input',
  cacheWrite: 'input',
  reasoning: 'output',
}

/** By our classes, as a source may have two keys for one; the later of them counts. */
export function byClass(prices: Prices): ReadonlyMap<RateClass, CatalogRate> {
  return new Map(
    [...prices].flatMap(([key, rate]): [RateClass, CatalogRate][] => {
      const name = rateOfKey(key)
      return name === null ? [] : [[name, rate]]
    }),
  )
}

/** The same price at every size of prompt, but for rounding. */
function isSameRate(one: CatalogRate, other: CatalogRate): boolean {
  return (
    isSame(one.base, other.base) &&
    one.tiers.length === other.tiers.length &&
    one.tiers.every(({ above, price }, index) => {
      const tier = other.tiers[index]
      return tier !== undefined && tier.above === above && isSame(price, tier.price)
    })
  )
}

/** Sources round: 0.0833 and 0.083 are one price. */
const ONE_IN = 200n

function isSame(one: Decimal, other: Decimal): boolean {
  const a = one.digits * 10n ** BigInt(other.scale)
  const b = other.digits * 10n ** BigInt(one.scale)
  const difference = a > b ? a - b : b - a
  return difference * ONE_IN <= (a > b ? a : b)
}
