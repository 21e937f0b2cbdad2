import { type Decimal, decimalOfText, ONE } from '#prices/decimal.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { byPrecedence, findOverride, overrideRates } from '../overrides/price-override-match.ts'
import { OVERRIDE_FIELDS, type OverrideField, type PriceOverride } from '../overrides/price-overrides.ts'
import type { PriceDefinition } from '../price-definition.ts'
import type { Rates } from '../price-rates.ts'

/** What an operator agreed on with a provider, from a UTC day on until the next of the same calls. */
export interface Contract {
  readonly id: string
  /** `null`: at every upstream. */
  readonly upstream: string | null
  /** A name, or the beginning of names and `*`; `null`: all models. */
  readonly model: string | null
  /** `null`: at every tier. */
  readonly serviceTier: string | null
  readonly from: UtcDay
  /** The part of the list price that is paid, as decimal text. */
  readonly factor: string
  /** US dollars as decimal text, by the names that the configuration has for prices. */
  readonly prices: Readonly<Partial<Record<OverrideField, string>>>
}

/** What a contract makes of list prices. */
export interface ContractTerms {
  readonly factor: Decimal
  /** Integer pico-USD for one: in place of the list price of these classes. */
  readonly rates: Rates
}

/** The calls that a contract is looked for. */
export interface ContractedCalls {
  readonly day: UtcDay
  readonly upstream: string
  /** The name that they are totalled under. */
  readonly model: string
  /** `null`: there is none, or its definition is not kept. */
  readonly price: PriceDefinition | null
}

const AT_LIST: ContractTerms = { factor: ONE, rates: {} }

interface Ready extends PriceOverride {
  readonly terms: ContractTerms
}

/**
 * The terms of calls. One contract decides, in the order in which prices of the configuration win: an exact name before
 * a beginning, then one for an upstream, for a tier, then the later day.
 */
export class Contracts {
  readonly #ready: readonly Ready[]
  /** The days on which some contract begins, rising: between two of them the terms of calls stay. */
  readonly days: readonly UtcDay[]

  constructor(contracts: readonly Contract[]) {
    this.#ready = byPrecedence(contracts.map(readyOf)) as readonly Ready[]
    this.days = [...new Set(contracts.map(({ from }) => from))].sort()
  }

  /** Prices are of the tier that a contract names, of the standard one if it names none, and of usual prompts. */
  termsOf({ day, upstream, model, price }: ContractedCalls): ContractTerms {
    const tier = price?.basis === 'linear' || price?.basis === 'unpriced' ? price.serviceTier : null
    const asked = { provider: '', upstream, model, serviceTiers: [tier], day }
    const found = findOverride(this.#ready, asked) as Ready | null
    if (found === null) return AT_LIST
    const isUsual = price?.basis !== 'linear' || (price.context?.above ?? 0) === 0
    return found.serviceTier === tier && isUsual ? found.terms : { ...found.terms, rates: {} }
  }
}

function readyOf(contract: Contract): Ready {
  const { model, upstream, serviceTier, from, factor, prices } = contract
  const name = model ?? '*'
  const written = OVERRIDE_FIELDS.flatMap(({ field }) => {
    const usd = prices[field]
    return usd === undefined ? [] : [[field, decimalOfText(usd)] as const]
  })
  const entry: PriceOverride = {
    model: name,
    pattern: name.endsWith('*') ? { kind: 'prefix', prefix: name.slice(0, -1) } : { kind: 'exact', name },
    provider: null,
    ...{ upstream, serviceTier, from, prices: new Map(written), line: 0 },
  }
  return { ...entry, terms: { factor: decimalOfText(factor), rates: overrideRates(entry, ONE) } }
}
