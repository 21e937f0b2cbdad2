/** A name at a provider whose newer price only a person may take: the old one stands until then. */
export interface RowDoubt {
  readonly provider: string
  /** The model that the newer data gives the name to. */
  readonly model: string
  /** In lower case. */
  readonly name: string
  readonly why: string
}

/** US dollars for a million tokens, or a thousand of what else is counted: sixteen times the dearest known one. */
export const ABSURD_DOLLARS = 10_000

export const PLAIN_TOKENS = ['input_mtok', 'output_mtok']

/** Of a rate, its base and its tiers. */
export function amountsOf(rate: unknown): readonly number[] {
  if (typeof rate === 'number') return [rate]
  if (typeof rate !== 'object' || rate === null || !('base' in rate)) return []
  const tiers: readonly unknown[] = 'tiers' in rate && Array.isArray(rate.tiers) ? rate.tiers : []
  const amounts = tiers.map((tier) =>
    typeof tier === 'object' && tier !== null && 'price' in tier ? tier.price : null,
  )
  return [rate.base, ...amounts].filter((amount) => typeof amount === 'number')
}
