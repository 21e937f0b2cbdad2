import { z } from 'zod'
import {
  shownCountOrNull,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { textField } from '../../operations/fields.ts'
import { type Chapter, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { notFound } from '../../operations/refuse.ts'
import { printable, renderTable } from '../../operations/table.ts'
import { type ExplainedCost, explainCosts, renderExplainedCost } from './explain-cost.ts'
import { type CallDocument, callDocument, type FoundCall, findCalls } from './find-calls.ts'
import { listCallsOperation, tailCallsOperation } from './list-operations.ts'

const CALL_ID = textField(
  'The id of x-tallygate-call-id, or of the answer: chatcmpl-..., msg_..., resp_...',
  'id',
)

export const findOperation = renderedOperation({
  name: 'calls.find',
  summary: 'Shows what a call used and cost.',
  role: 'read',
  http: { method: 'GET', path: '/calls/{id}', id: 'findCalls' },
  input: {
    id: CALL_ID,
  },
  answer: shownList(
    z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('The call under the names of its columns, its cost in US dollars as text.'),
  ),
  gives: 'The calls of this id, the newest first, as far as single calls are kept.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const calls = await findCalls(pool, id)
    return calls.length > 0 ? calls : throwUnknown(id)
  },
  render: (calls: readonly FoundCall[]) => calls.map(callDocument),
  command: {
    words: 'calls find',
    alias: 'show',
    print: (calls) => calls.map((call) => callText(callDocument(call))).join('\n\n'),
  },
})

const UNPRICED = shownList(
  shownText('As the configuration names its price.'),
  'What was used and has no price.',
)

const PRICE_OF_CALL = shownDocument('PriceOfCall', {
  price_id: shownText('The id of the price.'),
  basis: shownText('linear: counts times rates. reported: what the upstream said. parts: several prices.'),
  source: shownTextOrNull('The list that the figures come from, and its version.'),
  provider: shownTextOrNull('The provider in that list.'),
  model: shownTextOrNull('The model in that list.'),
  from: shownTextOrNull('The UTC day on which it took effect.'),
  hours: shownTextOrNull('The hours of the day (UTC) that it holds for.'),
  service_tier: shownTextOrNull('The service tier, with the place where that has a price. null: standard.'),
  factor: shownTextOrNull('The markup or discount that is in the rates.'),
  prices: shownList(shownText('A price id.'), 'The prices of a call that several models served.'),
  unpriced: UNPRICED,
})

const COST_OF_CALL = shownDocument('CostOfCall', {
  call_id: shownText('The id of x-tallygate-call-id.'),
  response_id: shownTextOrNull('The id of the answer.'),
  arrived_at: shownMoment('When the request came.'),
  client: shownText('The name of the client when the call was counted.'),
  upstream: shownText('The upstream that served it.'),
  provider: shownText('The provider of that upstream.'),
  model: shownTextOrNull('The model that it is counted under.'),
  status: shownCountOrNull('The HTTP status of the answer.'),
  outcome: shownText('How the call ended.'),
  usage_source: shownText('Where the counts come from.'),
  usage: shownTextOrNull('The usage as the provider wrote it.'),
  cost_usd: shownTextOrNull('The sum of the components, as decimal text. null: the call is unpriced.'),
  list_usd: shownTextOrNull('The same by the public list, without markups. null: the call is unpriced.'),
  contracted_usd: shownTextOrNull('The same by your contracts with providers. null: the call is unpriced.'),
  unpriced_reason: shownTextOrNull('Why it is unpriced.'),
  price: PRICE_OF_CALL.nullable().describe('What it was metered at.'),
  components: shownList(
    shownDocument('CostComponent', {
      name: shownText(
        'As the configuration names the price. as_reported, as_metered: the whole cost in one line.',
      ),
      quantity: z.number().meta({ type: 'integer', description: 'How many are charged at this price.' }),
      unit: shownText('What the unit price is for.'),
      unit_price_usd: shownTextOrNull(
        'US dollars, markups included, as decimal text. null: of several calls.',
      ),
      amount_usd: shownText('US dollars to the last of 12 places, as decimal text.'),
    }),
    'The lines of the cost.',
  ),
})

/** What the client of a call is shown of it: nothing of upstream, price list, markup, and what the operator pays. */
export const RECEIPT = COST_OF_CALL.omit({
  ...{ client: true, upstream: true, provider: true, price: true, list_usd: true, contracted_usd: true },
}).extend({ service_tier: PRICE_OF_CALL.shape.service_tier, unpriced: UNPRICED })

export const explainOperation = renderedOperation({
  name: 'calls.explain',
  summary: 'Shows line by line what a call cost, and at which prices.',
  role: 'read',
  http: { method: 'GET', path: '/calls/{id}/cost', id: 'explainCalls' },
  input: { id: CALL_ID },
  answer: shownList(COST_OF_CALL),
  gives: 'The calls of this id, the newest first, each with the lines that its cost is the sum of.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const calls = await explainCosts(pool, id)
    return calls.length > 0 ? calls : throwUnknown(id)
  },
  render: (calls: readonly ExplainedCost[]) => calls.map(renderExplainedCost),
  command: {
    words: 'calls explain',
    print: (calls) => calls.map(explanation).join('\n\n'),
  },
})

export const CALLS_CHAPTER: Chapter<Ports> = {
  words: 'calls',
  about: 'Single calls, as far as they are kept.',
  operations: [listCallsOperation, findOperation, explainOperation, tailCallsOperation],
}

function callText(call: CallDocument): string {
  const said = Object.entries(call).filter(([, value]) => value !== null)
  const width = Math.max(...said.map(([name]) => name.length))
  return said.map(([name, value]) => printable(`${name.padEnd(width)}  ${value}`)).join('\n')
}

function throwUnknown(id: string): never {
  throw notFound(`No call that is kept has the id ${id}.`)
}

function explanation(explained: ExplainedCost): string {
  const { price, components, ...call } = renderExplainedCost(explained)
  const { usage, cost_usd: cost, unpriced_reason: reason, ...about } = call
  const table = renderTable(
    [
      { heading: 'component' },
      { heading: 'quantity', align: 'right' },
      { heading: 'unit price (USD)', align: 'right' },
      { heading: 'for' },
      { heading: 'amount (USD)', align: 'right' },
    ],
    [
      ...components.map(({ name, quantity, unit, unit_price_usd, amount_usd }) => [
        name,
        `${quantity}`,
        unit_price_usd ?? '',
        unit,
        amount_usd,
      ]),
      ['total', '', '', '', cost ?? `unpriced: ${reason ?? 'no price'}`],
    ],
  )
  const { unpriced = [], prices = [], ...named } = price ?? {}
  const lists = {
    ...(prices.length > 0 ? { prices: prices.join(', ') } : {}),
    ...(unpriced.length > 0 ? { unpriced: unpriced.join(', ') } : {}),
  }
  return [callText({ ...about, ...named, ...lists, usage }), '', table].join('\n')
}
