import type { PricesDocument, VariantDocument } from '#prices/catalog-document.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'

/**
 * The prices of a model whose list changed: before a day those that were in force then, from that day on the newer
 * ones. The day is `from`, but where the newer list says itself since when they are in force, and until then says
 * what the older one says. The older list as it is where nothing changes from `from` on.
 */
export function joinPrices(
  before: readonly PricesDocument[],
  after: readonly PricesDocument[],
  from: UtcDay,
): readonly PricesDocument[] {
  if (textOf(pricesFrom(before, from)) === textOf(pricesFrom(after, from))) return before
  const day = ownBeginning(before, after, from) ?? from
  return [...pricesBefore(before, day), ...pricesFrom(after, day)]
}

/**
 * The prices at tiers of a model whose list of them changed. Of each class the first one that is in force counts, so the
 * newer ones stand in front: from `from` on where the tier had others before, else from their own day.
 */
export function joinVariants(
  before: readonly VariantDocument[] = [],
  after: readonly VariantDocument[] = [],
  from: UtcDay,
): readonly VariantDocument[] {
  const known = new Set(before.map((variant) => JSON.stringify(variant)))
  const tiers = new Set(before.map(({ when }) => JSON.stringify(when)))
  const added = after.filter((variant) => !known.has(JSON.stringify(variant)))
  const dated = added.map((variant): VariantDocument => {
    const own = variant.constraint?.start_date ?? from
    if (!tiers.has(JSON.stringify(variant.when))) return variant
    return { ...variant, constraint: { start_date: own > from ? own : from } }
  })
  // Taken before, and asked for again with each refresh: nothing is new then.
  return [
    ...dated.filter((variant) => !known.has(JSON.stringify(variant)) && !isSaid(variant, before)),
    ...before,
  ]
}

/** Whether the first variant of its tier has these prices already. */
function isSaid(variant: VariantDocument, before: readonly VariantDocument[]): boolean {
  const when = JSON.stringify(variant.when)
  const first = before.find((other) => JSON.stringify(other.when) === when)
  return first !== undefined && JSON.stringify(first.prices) === JSON.stringify(variant.prices)
}

/** The prices at tiers that are in force on one day, without it; of a tier that comes later those of its own first day. */
export function variantsOn(
  variants: readonly VariantDocument[] = [],
  day: UtcDay,
): readonly VariantDocument[] {
  return [...Map.groupBy(variants, ({ when }) => JSON.stringify(when)).values()].flatMap((ofTier) => {
    const [first = ''] = ofTier.map(({ constraint }) => constraint?.start_date ?? '').sort()
    const at = first > day ? first : day
    const begun = ofTier.filter(({ constraint }) => (constraint?.start_date ?? '') <= at)
    // Of each class the first one counts.
    const rates = begun.toReversed().flatMap(({ prices }) => Object.entries(prices))
    const prices = Object.fromEntries([...new Map(rates)].sort(([a], [b]) => (a < b ? -1 : 1)))
    const later = first > day ? { constraint: { start_date: first } } : {}
    return begun.slice(0, 1).map(({ when }) => ({ when, ...later, prices }))
  })
}

/** The prices in force from `day` on, later ones too. */
export function pricesFrom(list: readonly PricesDocument[], day: UtcDay): readonly PricesDocument[] {
  const base = baseAt(list, day)
  const later = list.slice(base + 1).flatMap((entry): readonly PricesDocument[] => {
    const { constraint } = entry
    if (beginsAfter(entry, day)) return [entry]
    // Neither a beginning nor hours: it would be the base.
    return constraint === undefined
      ? []
      : [{ ...entry, constraint: { start_date: day, ...hoursOf(constraint) } }]
  })
  const prices = list[Math.max(0, base)]?.prices ?? {}
  return [{ constraint: { start_date: day }, prices }, ...later]
}

/** The prices in force on one day, whatever comes later. */
export function pricesOn(list: readonly PricesDocument[], day: UtcDay): readonly PricesDocument[] {
  return pricesFrom(
    list.filter((entry) => !beginsAfter(entry, day) || entry === list[0]),
    day,
  )
}

/** What of a list holds for days before `day`. At least one. */
function pricesBefore(list: readonly PricesDocument[], day: UtcDay): readonly PricesDocument[] {
  const earlier = list.filter((entry) => !beginsAfter(entry, addDays(day, -1)))
  const [first] = list
  // Before the first beginning there is, the first prices hold.
  return earlier.length === 0 && first !== undefined ? [{ prices: first.prices }] : earlier
}

/** The last that holds at every hour of `day`; -1: none, so that the first does. */
function baseAt(list: readonly PricesDocument[], day: UtcDay): number {
  return list.findLastIndex((entry) => entry.constraint?.start_time === undefined && !beginsAfter(entry, day))
}

function beginsAfter({ constraint }: PricesDocument, day: UtcDay): boolean {
  return constraint?.start_date !== undefined && constraint.start_date > day
}

function hoursOf({ start_time, end_time }: NonNullable<PricesDocument['constraint']>): object {
  return {
    ...(start_time === undefined ? {} : { start_time }),
    ...(end_time === undefined ? {} : { end_time }),
  }
}

/** A source that says more than this later that it had a price wrong is not let change what was billed long ago. */
const BELIEVED_DAYS_BACK = 60

/**
 * The first day by the newer list itself on which its prices differ from the older ones; `null`: it does not say, or
 * says one that is long past.
 */
function ownBeginning(
  before: readonly PricesDocument[],
  after: readonly PricesDocument[],
  from: UtcDay,
): UtcDay | null {
  const days = after.flatMap(({ constraint }) => constraint?.start_date ?? []).sort()
  const first = days.find((day) => day < from && stateOn(after, day) !== stateOn(before, day))
  if (first === undefined || first < addDays(from, -BELIEVED_DAYS_BACK)) return null
  const eve = addDays(first, -1)
  const isUnaware = !before.some(
    ({ constraint }) => constraint?.start_date !== undefined && constraint.start_date >= first,
  )
  return isUnaware && stateOn(after, eve) === stateOn(before, eve) ? first : null
}

function stateOn(list: readonly PricesDocument[], day: UtcDay): string {
  // By one and the same day, so that only prices and hours are compared.
  return textOf(
    pricesOn(list, day).map((entry) => ({ ...entry, constraint: hoursOf(entry.constraint ?? {}) })),
  )
}

function textOf(list: readonly PricesDocument[]): string {
  return JSON.stringify(list)
}
