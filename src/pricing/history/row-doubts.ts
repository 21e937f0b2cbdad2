import {
  type CatalogDocument,
  type ModelDocument,
  namesOf,
  type PricesDocument,
} from '#prices/catalog-document.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { pricesFrom } from './catalog-history.ts'
import type { FindBoth } from './catalog-past.ts'
import { mixedRows, type PriceChange } from './mixed-rows.ts'
import { listedPrices, newRowDoubt } from './new-row-doubts.ts'
import { ABSURD_DOLLARS, amountsOf, PLAIN_TOKENS, type RowDoubt } from './row-doubt.ts'
import type { Witness } from './witnesses.ts'

/** In nine months of genai-prices' history, no price of a listed model moved so far at once. */
const ABSURD_FACTOR = 10
/** The same at hosts that say what each call cost, and whose prices move more: these are then only a second opinion. */
const ABSURD_FACTOR_BELIEVED = 50

/** What becomes of the price of every name. */
export interface ComparedRows {
  readonly doubts: readonly RowDoubt[]
  /** Names that both have, those of them whose prices change, and those that get back what they cost before. */
  readonly known: number
  readonly changed: number
  readonly back: number
}

export interface RowsQuery {
  readonly before: CatalogDocument
  readonly after: CatalogDocument
  /** The first day that it would be in force. */
  readonly from: UtcDay
  /** Providers whose own figure of a call's cost is believed. */
  readonly believed: ReadonlySet<string>
  /** The prices of names in both. */
  readonly find: FindBoth
  /** What other sources say. */
  readonly witness: Witness
}

/** Compares the price of every name, and says which of the newer ones are doubted, and why. */
export function compareRows(query: RowsQuery): ComparedRows {
  const { before, after, from, believed, find, witness } = query
  const counts = { known: 0, changed: 0, back: 0 }
  const known = new Map<string, { names: number; readonly texts: Set<string> }>()
  const doubts: RowDoubt[] = []
  const changes: PriceChange[] = []
  const names = namesByProvider(before, after)
  const listed = listedPrices(before, after, from)
  for (const [provider, models] of names) {
    const pasts = { names: 0, texts: new Set<string>() }
    known.set(provider, pasts)
    for (const [name, model] of models) {
      const past = find.before(provider, name)
      const now = find.after(provider, name)
      if (now === null) continue
      const tail = pricesFrom(now, from)
      const doubt = (why: string | null) => {
        if (why !== null && !witness.confirms(provider, name, tail))
          doubts.push({ provider, model, name, why })
      }
      if (past === null || past.every(({ prices }) => Object.keys(prices).length === 0)) {
        const isBelieved = believed.has(provider)
        const contradiction = isBelieved ? null : witness.contradiction(provider, name, tail)
        const odd = newRowDoubt({ provider, model, name, now: tail }, listed, isBelieved)
        // Nothing of its own speaks against it, so that one source that says the same is enough.
        const isSaid = odd === null || witness.confirms(provider, name, tail, 1)
        doubt(absurdOf(tail) ?? freeOf(name, tail) ?? contradiction ?? (isSaid ? null : odd))
        continue
      }
      counts.known += 1
      const pastTail = pricesFrom(past, from)
      pasts.names += 1
      pasts.texts.add(textOf(pastTail))
      if (JSON.stringify(pastTail) === JSON.stringify(tail)) continue
      counts.changed += 1
      if (wasInForce(past, tail, from)) counts.back += 1
      changes.push({
        provider,
        model,
        name,
        past: textOf(pastTail),
        now: textOf(tail),
        times: inputOf(tail) / inputOf(pastTail),
        isConfirmed: () => witness.confirms(provider, name, tail),
      })
      const factor = believed.has(provider) ? ABSURD_FACTOR_BELIEVED : ABSURD_FACTOR
      doubt(absurdOf(tail) ?? jumpOf(past, tail, factor) ?? exchangeOf(pastTail, tail))
    }
  }
  const all = [...doubts, ...mixedRows(changes, known, believed), ...variantDoubts(before, after)]
  // The first that is said of a name.
  const byName = new Map(all.toReversed().map((doubt) => [keyOf(doubt), doubt]))
  return { doubts: [...byName.values()].toReversed(), ...counts }
}

function keyOf({ provider, name }: Pick<RowDoubt, 'provider' | 'name'>): string {
  return `${provider}\n${name}`
}

/** Every name with the model that lists it, of the newer data where both do. */
function namesByProvider(before: CatalogDocument, after: CatalogDocument): Map<string, Map<string, string>> {
  const byProvider = new Map<string, Map<string, string>>()
  for (const { id, models } of [...before, ...after]) {
    const names = byProvider.get(id) ?? new Map<string, string>()
    byProvider.set(id, names)
    for (const model of models) for (const name of namesOf(model)) names.set(name, model.id)
  }
  return byProvider
}

function inputOf([base]: readonly PricesDocument[]): number {
  return amountsOf(base?.prices.input_mtok)[0] ?? 0
}

/** Whether a model cost this before its last change. */
function wasInForce(past: readonly PricesDocument[], now: readonly PricesDocument[], from: UtcDay): boolean {
  return past.some(({ constraint }) => {
    const day = constraint?.start_date
    if (day === undefined || day >= from) return false
    const eve = addDays(day, -1)
    const then = past.filter((entry) => (entry.constraint?.start_date ?? '') <= eve)
    return textOf(pricesFrom(then.length === 0 ? past.slice(0, 1) : then, eve)) === textOf(now)
  })
}

function textOf(list: readonly PricesDocument[]): string {
  return JSON.stringify(
    list.map(({ constraint, prices }) => [constraint?.start_time, constraint?.end_time, prices]),
  )
}

function absurdOf(now: readonly PricesDocument[]): string | null {
  for (const { prices } of now) {
    for (const [key, rate] of Object.entries(prices)) {
      const amount = amountsOf(rate).find((dollars) => dollars > ABSURD_DOLLARS)
      if (amount !== undefined) return `${key} is $${amount}`
    }
  }
  return null
}

/** What is free is named so; elsewhere a price of nothing was never looked up. */
function freeOf(name: string, now: readonly PricesDocument[]): string | null {
  const amounts = now.flatMap(({ prices }) => Object.values(prices).flatMap(amountsOf))
  const isFree = amounts.length > 0 && amounts.every((amount) => amount === 0)
  return isFree && !name.endsWith(':free') ? 'is new, and costs nothing' : null
}

/** The first amount that is far from all that the model has cost, in words; `null`: none is. */
function jumpOf(
  past: readonly PricesDocument[],
  now: readonly PricesDocument[],
  factor: number,
): string | null {
  const [base] = now
  for (const key of new Set(past.flatMap(({ prices }) => Object.keys(prices)))) {
    const known = past.flatMap(({ prices }) => amountsOf(prices[key])).filter((amount) => amount > 0)
    if (known.length === 0) continue
    const isMissing = base !== undefined && Object.keys(base.prices).length > 0 && !(key in base.prices)
    if (PLAIN_TOKENS.includes(key) && isMissing) return `${key} has no price any more`
    const far = now
      .flatMap(({ prices }) => amountsOf(prices[key]))
      .find((amount) => known.every((before) => amount > before * factor || amount < before / factor))
    if (far !== undefined && !isMoved(key, known, past, base))
      return `${key} from $${known.at(-1)} to $${far}`
  }
  return null
}

/** Whether a class that the model did not have before costs what this one did: what was one class is two. */
function isMoved(
  key: string,
  known: readonly number[],
  past: readonly PricesDocument[],
  now: PricesDocument | undefined,
): boolean {
  const [kind] = key.split('_')
  return Object.entries(now?.prices ?? {}).some(([other, rate]) => {
    const isNew = other.startsWith(`${kind}_`) && past.every(({ prices }) => !(other in prices))
    return isNew && amountsOf(rate)[0] === known.at(-1)
  })
}

/** Output became cheaper than input, and was dearer: no maker has done that, and a line that was mixed up has. */
function exchangeOf(past: readonly PricesDocument[], now: readonly PricesDocument[]): string | null {
  const [before, after] = [past[0], now[0]].map((entry) =>
    PLAIN_TOKENS.map((key) => amountsOf(entry?.prices[key])[0] ?? 0),
  )
  const [inputBefore = 0, outputBefore = 0] = before ?? []
  const [input = 0, output = 0] = after ?? []
  const isTurned = inputBefore < outputBefore && output > 0 && input > output
  return isTurned ? `input_mtok is $${input} and output_mtok $${output}, the other way round` : null
}

/** No maker asks six times its list price at any tier for more, or a tenth of it for less. */
const FAR = 10
/** No list has one of the first dearer than the standard price, or one of the others cheaper. */
const CHEAPER: ReadonlySet<string> = new Set(['batch', 'flex'])
const DEARER: ReadonlySet<string> = new Set(['priority', 'fast', 'ultrafast'])

/**
 * Models whose prices at a service tier are far from all that they cost otherwise, and from what the tier cost before, or on
 * the wrong side of these: each name of theirs keeps what it had, at every tier.
 */
function variantDoubts(before: CatalogDocument, after: CatalogDocument): readonly RowDoubt[] {
  const older = new Map(
    before.flatMap(({ id, models }) => models.map((model) => [`${id}\n${model.id}`, model] as const)),
  )
  return after.flatMap(({ id: provider, models }) =>
    models.flatMap((model) => {
      const why = farVariantOf(older.get(`${provider}\n${model.id}`), model)
      return why === null ? [] : namesOf(model).map((name) => ({ provider, model: model.id, name, why }))
    }),
  )
}

function farVariantOf(
  old: ModelDocument | undefined,
  { prices: standard, price_variants: variants = [] }: ModelDocument,
): string | null {
  for (const { when, prices } of variants) {
    const tier = JSON.stringify(when)
    const ofTier = old?.price_variants?.filter((other) => JSON.stringify(other.when) === tier) ?? []
    for (const [key, rate] of Object.entries(prices)) {
      const known = [...standard, ...ofTier]
        .flatMap((entry) => amountsOf(entry.prices[key]))
        .filter((amount) => amount > 0)
      const isFar = (amount: number) =>
        known.length > 0 && known.every((one) => amount > one * FAR || amount < one / FAR)
      const far = amountsOf(rate).find((amount) => amount > ABSURD_DOLLARS || isFar(amount))
      if (far !== undefined) return `${key} is $${far} at ${Object.values(when).join('+')}`
      // Where it is as before, the standard price has moved, and the tier is right.
      const isChanged = ofTier.every((other) => JSON.stringify(other.prices[key]) !== JSON.stringify(rate))
      const turned =
        isChanged && PLAIN_TOKENS.includes(key)
          ? turnedTierOf(
              Object.values(when),
              rate,
              standard.map((entry) => entry.prices[key]),
            )
          : null
      if (turned !== null) return `${key} is ${turned}`
    }
  }
  return null
}

/** In words, of the bases of a class at a tier and without it; `null`: they are on the right side of each other. */
function turnedTierOf(tiers: readonly string[], rate: unknown, standard: readonly unknown[]): string | null {
  const [amount = 0] = amountsOf(rate)
  const usual = standard.flatMap((one) => amountsOf(one).slice(0, 1)).filter((one) => one > 0)
  if (amount === 0 || usual.length === 0) return null
  const dearer = tiers.find((tier) => CHEAPER.has(tier) && usual.every((one) => amount > one))
  if (dearer !== undefined) return `dearer at ${dearer} than without, at $${amount}`
  const cheaper = tiers.find((tier) => DEARER.has(tier) && usual.every((one) => amount < one))
  return cheaper === undefined ? null : `cheaper at ${cheaper} than without, at $${amount}`
}
