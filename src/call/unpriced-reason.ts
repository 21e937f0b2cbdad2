/**
 * Why a call has no cost, in words that stay the same: they are stored, labels of a metric, and shown.
 *
 * The answer reported no figures, so no price helps. `no_reader`: the gateway has no reader for answers of this path.
 * `no_figures`: a metered endpoint whose answer reported none, or whose prompt could not be counted. `billed_later`: the
 * figures come with a later request (background, batches, jobs). `passes_by`: what is billed goes past the gateway, by a
 * credential or a call that this one made. `invalid_usage`: figures that no call can have.
 *
 * There were figures, and no price for them: the reasons of the catalog, as `Unpriced` in catalog-call.ts has them.
 */
export const UNPRICED_REASONS = [
  'no_reader',
  'no_figures',
  'billed_later',
  'invalid_usage',
  'no_model',
  'no_price',
  'unknown_tier',
  'use_without_price',
  'contradictory_usage',
  'passes_by',
] as const

export type UnpricedReason = (typeof UNPRICED_REASONS)[number]

/** Reasons of calls that reported no figures: a later price has nothing to price there. */
export const WITHOUT_FIGURES = [
  'no_reader',
  'no_figures',
  'billed_later',
  'passes_by',
] as const satisfies readonly UnpricedReason[]

const WITHOUT_FIGURES_SET: ReadonlySet<string> = new Set(WITHOUT_FIGURES)

/** Tells whether a call without a cost reported nothing to price; a call without a reason did report something. */
export function reportedNoFigures(reason: string | null | undefined): boolean {
  return typeof reason === 'string' && WITHOUT_FIGURES_SET.has(reason)
}

const KNOWN: ReadonlySet<string> = new Set(UNPRICED_REASONS)

/** Tells whether a word from outside is one of the reasons. */
export function isUnpricedReason(word: unknown): word is UnpricedReason {
  return typeof word === 'string' && KNOWN.has(word)
}
