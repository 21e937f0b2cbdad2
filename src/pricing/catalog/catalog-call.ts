import type { UsagePart } from '../../call/observation.ts'
import type { BilledUnits, TokenUsage } from '../../call/usage.ts'
import type { Price } from '../price.ts'

/** A call, as far as its price goes. */
export interface CallToPrice {
  /** One of our provider names. */
  readonly provider: string
  /** The upstream's configured name. */
  readonly upstream: string
  /** `null`: prices are asked for no client, so clients' markups do not apply. */
  readonly clientName: string | null
  /** The model the response named. */
  readonly model: string | null
  /** The model the request named: what is asked for where the other has no price. */
  readonly requestedModel: string | null
  readonly usage: TokenUsage
  readonly units: BilledUnits
  /** As the upstream wrote it. */
  readonly serviceTier: string | null
  /** Where its path says that it was served, as `placeInPath` gives it; left out or `null`: it does not say. */
  readonly place?: string | null | undefined
  /** Milliseconds since 1970. */
  readonly arrivedAtMs: number
  readonly reportedCostPico: bigint | null
  readonly parts: readonly UsagePart[] | null
  /**
   * Of the sum over several requests: the tokens of the longest prompt among them, `null` where that is not known. Left
   * out: it is one request. Prices by the length of prompts are asked with it.
   */
  readonly largestPrompt?: number | null | undefined
}

export type PriceOfCall = (Priced | Unpriced) & {
  /** Where the upstream said what the call cost. */
  readonly reported?: BesideReported
  /** What other models cost that a session ran beside its own. */
  readonly beside?: readonly BesideCost[]
}

/** Also in the cost of its session. */
export interface BesideCost {
  readonly model: string
  readonly costPico: bigint
  /** It used something that has no price, or what it used could not be read. */
  readonly lacksPrice?: true
}

/**
 * What our own prices say of a call whose upstream named its cost, whichever of the two is taken; or, without markups,
 * of a call that a markup of 0 makes free.
 */
export interface BesideReported {
  /** Integer pico-USD; `null`: it has no price. */
  readonly ownCostPico: bigint | null
  /** The two differ by more than one in a hundred of the upstream's. */
  readonly differs: boolean
}

export interface Priced {
  readonly kind: 'priced'
  /** Integer pico-USD, never below 0. */
  readonly costPico: bigint
  readonly price: Price
  readonly priceId: string
}

export interface Unpriced {
  readonly kind: 'unpriced'
  /**
   * `no_model`: no name to look for. `no_price`: neither the configuration nor the catalog has a price for it.
   * `unknown_tier`: it has one, but it is unknown at the call's service tier. `unknown_day`: it has one now, but none is
   * known for the call's day.
   * `use_without_price`: it has one, but for nothing that was used. `contradictory_usage`: a part is larger than
   * its whole. `nothing_used`: no price is known, but nothing was used either.
   */
  readonly reason:
    | 'no_model'
    | 'no_price'
    | 'unknown_tier'
    | 'unknown_day'
    | 'use_without_price'
    | 'contradictory_usage'
    | 'nothing_used'
  /** The model whose price is missing; `null`: none was named. */
  readonly model: string | null
  /** Of a call at another tier than standard, or served by several models: the identity that keeps it apart. */
  readonly tier?: Price
}
