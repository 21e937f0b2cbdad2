import type { CallRow } from './gateway.ts'
import type { Answer } from './judge.ts'
import type { Question } from './questions.ts'

/** A cost, mostly 0, of a call whose answer told its use. */
export const COST_WITHOUT_PRICE = 'a cost without a price'

const PICO_PER_DOLLAR = 1e12

/** What the record of a question's call says that it cost. */
export function answerOf({ use, class: wanted }: Question, row: CallRow): Answer {
  if (row === null) return { usd: null, reason: 'the gateway did not let it pass', isCounted: false }
  const isPartly = row.partly_unpriced === true
  // What is billed by the piece is counted beside the tokens, or in their place.
  const isByTokens = use.inputTokens === use.count || use.outputTokens === use.count
  const isCounted =
    row.usage_source === 'reported' &&
    (!isByTokens || Number(row.input_tokens) === use.inputTokens) &&
    (use.outputTokens === 0 || Number(row.output_tokens) === use.outputTokens || wanted === 'reasoning')
  if (row.cost_pico === null) return { usd: null, reason: `${row.unpriced_reason}`, isCounted }
  // Sent with counts, kept without: whatever is said of its cost, it is not this call's.
  if (row.price_id === null) return { usd: null, reason: COST_WITHOUT_PRICE, isCounted: false }
  const price = `${row.price_id}`
  if (isPartly) return { usd: null, reason: `partly unpriced: ${price}`, isCounted }
  const source = typeof row.price_source === 'string' ? row.price_source : ''
  return { usd: Number(row.cost_pico) / PICO_PER_DOLLAR, reason: price, source, isCounted }
}
