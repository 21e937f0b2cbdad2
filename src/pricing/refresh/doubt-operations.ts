import { z } from 'zod'
import { shownChoice, shownDocument, shownList, shownMoment, shownText } from '../../operations/answers.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { printable, renderTable } from '../../operations/table.ts'
import { renderDoubt } from './accept-doubts.ts'
import { type PriceDoubt, selectPriceDoubts } from './price-doubts.ts'
import { PRICE_KINDS } from './stored-prices.ts'

const DOUBT = shownDocument('PriceDoubt', {
  source: shownChoice(PRICE_KINDS, 'The list that says it.'),
  provider: shownText('The provider, as the list calls it.'),
  model: shownText('The model, as the list calls it.'),
  why: shownText('Why it is doubted.'),
  offered: z.unknown().describe('The newer prices, in the form of the list. null: they cannot be read.'),
  origin: shownText('The URL or file that it came from.'),
  since: shownMoment('The time at which it was first seen.'),
})

export const listDoubts = renderedOperation({
  name: 'prices.doubts',
  summary: 'Shows newer prices that wait for a person, and why. The old ones stand until then.',
  role: 'read',
  http: { method: 'GET', path: '/prices/doubts', id: 'listPriceDoubts' },
  input: {},
  answer: shownList(DOUBT),
  gives: 'What waits, the oldest first.',
  run: ({ pool }: Ports) => selectPriceDoubts(pool),
  render: (doubts: readonly PriceDoubt[]) => doubts.map(renderDoubt),
  command: { words: 'prices doubts', print: textOf },
})

/** As `prices accept` has it: `provider/model`. */
export function nameOf({ provider, model }: Pick<PriceDoubt, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

function textOf(doubts: readonly PriceDoubt[]): string {
  if (doubts.length === 0) return 'No price waits for a person.'
  const table = renderTable(
    ['MODEL', 'WHY', 'SOURCE', 'SINCE'].map((heading) => ({ heading })),
    doubts.map((doubt) => [
      printable(nameOf(doubt)),
      printable(doubt.why),
      doubt.kind,
      doubt.since.toISOString().slice(0, 10),
    ]),
  )
  return `${table}\n\nTheir old prices stand. If a newer one is right: prices accept PROVIDER/MODEL.`
}
