import type { UtcDay } from '../../domain/utc-day.ts'

/** A page on which a provider publishes prices, and when our figures of them were taken. */
export interface PricePage {
  /** Our names of the providers whose calls it prices. */
  readonly providers: readonly string[]
  /** The page on which the provider publishes it. */
  readonly source: string
  /** The day on which the figures were taken: mostly from LiteLLM's list, not from the page itself. */
  readonly seen: UtcDay
}

/** A price on such a page that no source has, or that all have wrong. */
export interface PagePrice extends PricePage {
  /** Names in lower case. */
  readonly models: RegExp
  /** The first UTC day; left out: since ever. */
  readonly from?: UtcDay
}

/** Whether a price is for calls of a model at a provider on a day. */
export function isPriceOf(
  { providers, models, from }: PagePrice,
  provider: string,
  model: string,
  day: UtcDay,
): boolean {
  return providers.includes(provider) && (from === undefined || from <= day) && models.test(model)
}

/** The day on which most figures were taken from the price list of LiteLLM 1.109.1. */
const SEEN: UtcDay = '2026-11-22'

/** The page at `source` that prices calls at `providers`. */
export function pageOf(providers: readonly string[], source: string, seen = SEEN): PricePage {
  return { providers, source, seen }
}
