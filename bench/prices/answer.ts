import type { CallRow } from './gateway.ts'
import type { Answer } from './judge.ts'
import type { PriceClass } from './listing.ts'
import type { PriceCase, Use } from './price-cases.ts'

/** A cost, mostly 0, of a call whose answer reported its use. */
export const COST_WITHOUT_PRICE = 'a cost without a price'

const PICO_PER_DOLLAR = 1e12

/** What the record of a case's call says that it cost. */
export function answerOf({ use, class: wanted }: PriceCase, row: CallRow): Answer {
  if (row === null) return { usd: null, reason: 'the gateway did not let it pass', isCounted: false }
  const isPartly = row.partly_unpriced === true
  const isCounted = isCountedAsSent(use, wanted, row)
  if (row.cost_pico === null) return { usd: null, reason: `${row.unpriced_reason}`, isCounted }
  // Sent with counts, kept without: whatever is said of its cost, it is not this call's.
  if (row.price_id === null) return { usd: null, reason: COST_WITHOUT_PRICE, isCounted: false }
  const price = `${row.price_id}`
  if (isPartly) return { usd: null, reason: `partly unpriced: ${price}`, isCounted }
  const taken = {
    source: `${row.price_source ?? ''}`,
    provider: `${row.price_provider ?? ''}`,
    listed: `${row.price_model ?? ''}`,
  }
  return { usd: Number(row.cost_pico) / PICO_PER_DOLLAR, reason: price, taken, isCounted }
}

/** Where what is billed by the piece is counted, and as how many of a piece. */
const COLUMNS: Partial<Record<PriceClass, readonly [column: string, times: number]>> = {
  webSearch: ['web_searches', 1],
  searchUnit: ['search_units', 1],
  image: ['images', 1],
  audioSecond: ['audio_ms', 1_000],
  videoSecond: ['video_ms', 1_000],
  character: ['characters', 1],
  page: ['pages', 1],
}

function isCountedAsSent(use: Use, wanted: PriceClass, row: NonNullable<CallRow>): boolean {
  const piece = COLUMNS[wanted]
  if (piece !== undefined) return Number(row[piece[0]]) === use.count * piece[1]
  const isSameInput = Number(row.input_tokens) === use.inputTokens
  // Reasoning may be reported beside the output.
  const isSameOutput = wanted === 'reasoning' || Number(row.output_tokens ?? 0) === use.outputTokens
  return row.usage_source === 'reported' && isSameInput && isSameOutput
}
