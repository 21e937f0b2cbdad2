import type { RateClass } from '../price-rates.ts'
import type { PagePrice } from './price-page.ts'

/**
 * What tokens cost at a service tier, against the list price of the same model at the same provider. A tier that is
 * not here has no price: such calls are unpriced, never at the list price.
 */
export interface TierPrice extends PagePrice {
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
}
