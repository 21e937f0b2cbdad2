import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import {
  type CatalogDocument,
  type ModelDocument,
  namesOf,
  type PricesDocument,
  rulesOf,
} from '../sources/catalog-document.ts'
import { pricesFrom } from './catalog-history.ts'
import { findPricesIn } from './catalog-past.ts'

/** US dollars for a million tokens, or a thousand of what else is counted: sixteen times the dearest known one. */
const ABSURD_DOLLARS = 10_000
/** In nine months of genai-prices' history, no price of a listed model moved so far at once. */
const ABSURD_FACTOR = 10
/** There, 92 % of the models of any version were in the next one. */
const LEAST_KEPT = 0.9
/** There, 4 % of the models changed their prices at once. */
const MOST_CHANGED = 0.25
/** Judging takes the square of it. */
const MOST_MODELS_FACTOR = 3

export interface RefreshQuery {
  /** In force, with all that is kept in it. */
  readonly before: CatalogDocument
  /** As it was fetched. */
  readonly after: CatalogDocument
  /** The first day that it would be in force. */
  readonly from: UtcDay
  /** The newest beginning of a price that is past, by the data before as it was fetched, and by the newer data. */
  readonly dataDayBefore: UtcDay | null
  readonly dataDay: UtcDay | null
}

/**
 * Whether it lists so many models, or rules for their names, that it is not a price list. `null`: it does
 * not.
 */
export function excessOf(before: CatalogDocument, after: CatalogDocument): string | null {
  const counts = [before, after].map((document) =>
    modelsOf(document).flatMap(({ match }) => [1, ...rulesOf(match)]),
  )
  const [known = 0, listed = 0] = counts.map((counted) => counted.length)
  return listed > known * MOST_MODELS_FACTOR
    ? `it lists ${listed} models and rules for their names, and ${known} are known`
    : null
}

/** A model that is listed twice, so that its cost is unknown; `null`: none is. */
export function repeatedModelOf(document: CatalogDocument): string | null {
  for (const { id: provider, models } of document) {
    const ids = new Set<string>()
    for (const { id } of models) {
      if (ids.has(id)) return `it lists ${provider}/${id} twice`
      ids.add(id)
    }
  }
  return null
}

/** Why newer data is not to be taken without a person: it may be wrong, cut, older, or made to do harm. */
export function refreshDoubts(query: RefreshQuery): readonly string[] {
  const { before, after, dataDayBefore, dataDay } = query
  const known = modelsOf(before).filter(({ gone_since: goneSince }) => goneSince === undefined)
  const listed = modelsOf(after)
  const doubts: string[] = []
  const names = new Set(listed.flatMap(namesOf))
  const kept = known.filter(({ id }) => names.has(id.toLowerCase())).length
  if (kept < known.length * LEAST_KEPT)
    doubts.push(`it lists ${kept} of the ${known.length} models that are known`)
  if (dataDayBefore !== null && (dataDay === null || dataDay < dataDayBefore)) {
    doubts.push(
      `it is older: its newest price is of ${dataDay ?? 'no day'}, that in force of ${dataDayBefore}`,
    )
  }
  return [...doubts, ...absurdPrices(after), ...priceDoubts(query)]
}

function modelsOf(document: CatalogDocument): readonly ModelDocument[] {
  return document.flatMap(({ models }) => models)
}

/**
 * A rule that may take for ever, which must not be tried on any name: those of clients, or of the data itself, may be made
 * for it. `null`: none is new.
 */
export function wildRuleOf(before: CatalogDocument, after: CatalogDocument): string | null {
  const known = new Set(regexesOf(before))
  const wild = regexesOf(after).find((regex) => !known.has(regex) && isWild(regex))
  return wild === undefined ? null : `it matches names by ${wild.slice(0, 80)}, which may take for ever`
}

function regexesOf(document: CatalogDocument): readonly string[] {
  return modelsOf(document).flatMap(({ match }) =>
    rulesOf(match).flatMap(([operator, operand]) => (operator === 'regex' ? [operand] : [])),
  )
}

const REPEATED_GROUP = /\)[*+{]|\\[1-9k]/
const REPEAT = /[*+]|\{[0-9]+,/g
/** What may be left out, and what may take several values; not the property that says a group's kind. */
const CHOICE = /(?<!\()\?|\|/g
/** Each goes over the whole name, of 256 characters at most, once more for every place in it; so does a free start. */
const REPEAT_BITS = 8
/** Each may be tried both ways for all that is before it: a million steps for a name at most. */
const MOST_BITS = 20

function isWild(regex: string): boolean {
  const count = (part: RegExp) => regex.match(part)?.length ?? 0
  const free = regex.startsWith('^') ? 0 : REPEAT_BITS
  return REPEATED_GROUP.test(regex) || count(REPEAT) * REPEAT_BITS + count(CHOICE) + free > MOST_BITS
}

function absurdPrices(after: CatalogDocument): readonly string[] {
  return summary(
    after.flatMap(({ id: provider, models }) =>
      models.flatMap(({ id, prices }) =>
        prices
          .flatMap(({ prices: rates }) => Object.entries(rates))
          .flatMap(([key, rate]) => amountsOf(rate).map((amount) => ({ key, amount })))
          .filter(({ amount }) => amount > ABSURD_DOLLARS)
          .map(({ key, amount }) => `${provider}/${id} costs $${amount} by ${key}`),
      ),
    ),
  )
}

/** What becomes of the price of every name that is known by itself. */
function priceDoubts({ before, after, from }: RefreshQuery): readonly string[] {
  const find = { before: findPricesIn(before), after: findPricesIn(after) }
  const jumps: string[] = []
  const counts = { known: 0, changed: 0, back: 0 }
  for (const { id: provider, models } of before) {
    for (const name of new Set(models.flatMap(namesOf))) {
      const past = find.before(provider, name)
      const now = find.after(provider, name)
      if (past === null || now === null) continue
      counts.known += 1
      const tails = [pricesFrom(past, from), pricesFrom(now, from)] as const
      if (JSON.stringify(tails[0]) === JSON.stringify(tails[1])) continue
      counts.changed += 1
      if (wasInForce(past, tails[1], from)) counts.back += 1
      const jump = jumpOf(past, tails[1])
      if (jump !== null) jumps.push(`${provider}/${name}: ${jump}`)
    }
  }
  const knownNames = new Set(modelsOf(before).flatMap(namesOf))
  const added = modelsOf(after).some(({ id }) => !knownNames.has(id.toLowerCase()))
  const { known, changed, back } = counts
  return [
    ...summary(jumps),
    ...(changed > Math.max(MOST_CHANGED * known, 1)
      ? [`it changes ${changed} of ${known} prices at once`]
      : []),
    ...(back > 0 && back === changed && !added
      ? [`it is older: all that it changes is prices of ${back} names, back to what they were before`]
      : []),
  ]
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

const PLAIN_TOKENS = ['input_mtok', 'output_mtok']

/** The first amount that is far from all that the model has cost, in words; `null`: none is. */
function jumpOf(past: readonly PricesDocument[], now: readonly PricesDocument[]): string | null {
  const [base] = now
  for (const key of new Set(past.flatMap(({ prices }) => Object.keys(prices)))) {
    const known = past.flatMap(({ prices }) => amountsOf(prices[key])).filter((amount) => amount > 0)
    if (known.length === 0) continue
    if (
      PLAIN_TOKENS.includes(key) &&
      base !== undefined &&
      Object.keys(base.prices).length > 0 &&
      !(key in base.prices)
    ) {
      return `${key} has no price any more`
    }
    const far = now
      .flatMap(({ prices }) => amountsOf(prices[key]))
      .find((amount) =>
        known.every((before) => amount > before * ABSURD_FACTOR || amount < before / ABSURD_FACTOR),
      )
    if (far !== undefined) return `${key} from $${known.at(-1)} to $${far}`
  }
  return null
}

/** Of a rate, its base and its tiers. */
function amountsOf(rate: unknown): readonly number[] {
  if (typeof rate === 'number') return [rate]
  if (typeof rate !== 'object' || rate === null || !('base' in rate)) return []
  const tiers: readonly unknown[] = 'tiers' in rate && Array.isArray(rate.tiers) ? rate.tiers : []
  const amounts = tiers.map((tier) =>
    typeof tier === 'object' && tier !== null && 'price' in tier ? tier.price : null,
  )
  return [rate.base, ...amounts].filter((amount) => typeof amount === 'number')
}

const SHOWN = 3

function summary(found: readonly string[]): readonly string[] {
  const shown = found.slice(0, SHOWN)
  return found.length > SHOWN ? [...shown, `and ${found.length - SHOWN} more of the kind`] : shown
}
