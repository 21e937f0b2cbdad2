import { type CatalogDocument, namesOf, type PricesDocument } from '#prices/catalog-document.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { pricesFrom } from './catalog-history.ts'
import { amountsOf, PLAIN_TOKENS } from './row-doubt.ts'

/** In a year of genai-prices' lists no new model cost ten times what it costs everywhere else. */
const FAR = 10
/** The same at hosts that say what each call cost. */
const FAR_BELIEVED = 25
/**
 * There 15 of 363 new models cost four times what nine in ten of their provider do, and one a quarter of what the cheapest
 * twentieth does; most were elsewhere or in another source as well. Of such that are a hundred times too dear that finds nine
 * in ten, and of those at a thousandth all but one in a hundred.
 */
const OUTSIDE = 4
const OUTSIDE_BELIEVED = 10
const DEAR = 0.9
const CHEAP = 0.05
/** Of fewer they say little. */
const ENOUGH_MODELS = 5

type Plain = readonly [input: number, output: number]

interface Listed {
  readonly provider: string
  readonly isInForce: boolean
  readonly plain: Plain
}

/** What all providers' rows say, to hold a new one against that has no past of its own. */
export interface ListedPrices {
  /** By a model's name without its maker. */
  readonly byName: ReadonlyMap<string, readonly Listed[]>
  /** In force, by provider. */
  readonly inForce: ReadonlyMap<string, readonly Plain[]>
  /** Prices of rows that were there before, as JSON. */
  readonly before: ReadonlyMap<string, string>
}

/** A name without a price before, and the model that lists it now. */
interface NewRow {
  readonly provider: string
  readonly model: string
  readonly name: string
  readonly now: readonly PricesDocument[]
}

export function listedPrices(before: CatalogDocument, after: CatalogDocument, from: UtcDay): ListedPrices {
  const rows = (document: CatalogDocument, isInForce: boolean) =>
    document.flatMap(({ id: provider, models }) =>
      models.flatMap((model) => {
        const plain = plainOf(pricesFrom(model.prices, from)[0]?.prices ?? {})
        return plain[0] > 0 ? [{ provider, isInForce, plain, names: namesOf(model) }] : []
      }),
    )
  const known = rows(before, true)
  const named = [...known, ...rows(after, false)].flatMap(({ names, ...row }) =>
    [...new Set(names.map(bareName))].map((name) => ({ name, ...row })),
  )
  const byProvider = Map.groupBy(known, ({ provider }) => provider)
  return {
    byName: Map.groupBy(named, ({ name }) => name),
    inForce: new Map([...byProvider].map(([provider, of]) => [provider, of.map(({ plain }) => plain)])),
    before: new Map(
      before.flatMap(({ id, models }) =>
        models.map((model) => [rowKey(id, model.id), textOf(pricesFrom(model.prices, from))] as const),
      ),
    ),
  }
}

function rowKey(provider: string, model: string): string {
  return `${provider}\n${model}`
}

function textOf(prices: readonly PricesDocument[]): string {
  return JSON.stringify(prices.map((one) => one.prices))
}

/** Without its maker, and the way in which it is sold: `:batch`. Some write `4-5` for `4.5`. */
function bareName(name: string): string {
  return name
    .slice(name.lastIndexOf('/') + 1)
    .replace(/:[a-z]+$/, '')
    .replaceAll('.', '-')
}

/**
 * What is odd in the first prices of a model: input and output the wrong way round, far from what the model costs
 * everywhere else, or no output where all others bill it; of one that no other provider has also that it is far outside of
 * what its own asks. `null`: nothing.
 *
 * @param isBelieved The provider says what each call cost.
 */
export function newRowDoubt(
  { provider, model, name, now }: NewRow,
  { byName, inForce, before }: ListedPrices,
  isBelieved: boolean,
): string | null {
  // Another name of a row that cost the same before.
  if (before.get(rowKey(provider, model)) === textOf(now)) return null
  const rates = now[0]?.prices ?? {}
  const [input, output] = plainOf(rates)
  if (input === 0) return null
  if (output > 0 && input > output) return `is new, with input at $${input} and output at $${output}`
  const factor = isBelieved ? FAR_BELIEVED : FAR
  const names = new Set([name, model.toLowerCase()].map(bareName))
  const others = [...names]
    .flatMap((one) => byName.get(one) ?? [])
    .filter((other) => other.provider !== provider)
  // One that is new itself says little: it may be the one that is wrong.
  const isKnown = others.some((other) => other.isInForce)
  const elsewhere = isKnown || new Set(others.map((other) => other.provider)).size > 1 ? others : []
  const isFar = ({ plain: [other] }: Listed) => input > other * factor || input < other / factor
  if (elsewhere.length > 0 && elsewhere.every(isFar))
    return `is new, with input at $${input}, and at $${elsewhere[0]?.plain[0]} elsewhere`
  const ofProvider = inForce.get(provider) ?? []
  if (!('output_mtok' in rates) && lacksOutput(elsewhere, ofProvider))
    return 'is new, without the output that others bill'
  if (elsewhere.length > 0 || ofProvider.length < ENOUGH_MODELS) return null
  const outside = isBelieved ? OUTSIDE_BELIEVED : OUTSIDE
  const [dear, dearOutput, cheap] = [
    amountAt(ofProvider, 0, DEAR),
    amountAt(ofProvider, 1, DEAR),
    amountAt(ofProvider, 0, CHEAP),
  ]
  if (input > dear * outside || output > dearOutput * outside)
    return `is new, with input at $${input} and output at $${output}, and nine in ten there at no more than $${dear} and $${dearOutput}`
  return input < cheap / outside
    ? `is new, with input at $${input}, and nearly all there at $${cheap} and more`
    : null
}

/** Of a provider's inputs or outputs, the one that so large a part of them does not exceed. */
function amountAt(ofProvider: readonly Plain[], at: 0 | 1, part: number): number {
  const rising = ofProvider.map((plain) => plain[at]).toSorted((a, b) => a - b)
  return rising[Math.min(rising.length - 1, Math.floor(rising.length * part))] ?? 0
}

/** A provider of decisions alone bills no output, whatever others do with the model. */
function lacksOutput(elsewhere: readonly Listed[], ofProvider: readonly Plain[]): boolean {
  const writing = ofProvider.filter(([, output]) => output > 0).length
  const isBilled = elsewhere.length > 0 && elsewhere.every(({ plain: [, output] }) => output > 0)
  return isBilled && writing * 2 > ofProvider.length
}

/** The base of input and output, US dollars for a million; 0: none. */
function plainOf(rates: PricesDocument['prices']): Plain {
  const [input = 0, output = 0] = PLAIN_TOKENS.map((key) => amountsOf(rates[key])[0] ?? 0)
  return [input, output]
}
