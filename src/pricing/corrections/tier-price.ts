import type { UtcDay } from '../../domain/utc-day.ts'
import type { RateClass } from '../price-rates.ts'

/**
 * What tokens cost at a service tier, against the list price of the same model at the same provider. A tier that is
 * not here has no price: such calls are unpriced, never at the list price.
 */
export interface TierPrice {
  /** One of our provider names: whose tier it is. */
  readonly providers: readonly string[]
  /** The catalog's ids of the models, in lower case. */
  readonly models: RegExp
  readonly tier: string
  /** As decimal text. */
  readonly factor: string
  /** Classes of tokens with a factor of their own. */
  readonly except?: Readonly<Partial<Record<RateClass, string>>>
  /** These hold for prompts up to so many tokens; larger ones have the factor. Left out: for all. */
  readonly exceptUpTo?: number
  /** What is billed by other than tokens, and has the factor as well. */
  readonly units?: readonly RateClass[]
  /** The fee for a thousand requests, where it is another at this tier; US dollars. */
  readonly requestsPerThousand?: string
  /** Likewise for a thousand searches of the web. */
  readonly searchesPerThousand?: string
  /** No list says what it costs: such calls have this price, and are marked as priced in part. */
  readonly isPartly?: true
  /** The first UTC day; left out: since ever. */
  readonly from?: UtcDay
  /** The page on which the provider publishes it. */
  readonly source: string
  /**
   * The day on which the figure was taken from the price list of LiteLLM 1.109.1. Only those of Anthropic's fast mode and Groq's
   * flex were held against the provider's own page.
   */
  readonly seen: UtcDay
}
