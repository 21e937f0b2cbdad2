import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { buildLinearPrice, buildPartsPrice, buildReportedPrice } from '../../src/pricing/price.ts'
import { sumsOfCall } from '../../src/pricing/price-cost.ts'
import type { LinearDefinition } from '../../src/pricing/price-definition.ts'
import { costLinesOf } from '../../src/usage/cost-lines.ts'

const DEFINITION: LinearDefinition = {
  basis: 'linear',
  source: 'yaml',
  provider: 'openai',
  model: 'gpt-4o',
  from: null,
  context: null,
  hours: null,
  serviceTier: null,
  serviceTierPriced: true,
  factor: '1',
  variant: null,
  rates: { input: 2_500_000n, cacheRead: 1_250_000n, output: 10_000_000n, webSearch: 10_000_000_000n },
}
const price = buildLinearPrice(DEFINITION)
const usage = { ...NO_USAGE, inputTokens: 1_000, cacheReadTokens: 600, outputTokens: 50, reasoningTokens: 20 }

test('each token stands in one line, a cached one not among the plain ones', () => {
  const units = { ...NO_UNITS, webSearches: 2 }
  const cost = 400n * 2_500_000n + 600n * 1_250_000n + 50n * 10_000_000n + 20_000_000_000n
  expect(costLinesOf(cost, sumsOfCall(usage, units), price)).toEqual([
    {
      name: 'input',
      class: 'input',
      quantity: 400n,
      unit: 'M tokens',
      unitPico: 2_500_000_000_000n,
      amountPico: 1_000_000_000n,
    },
    {
      name: 'cached_input',
      class: 'cacheRead',
      quantity: 600n,
      unit: 'M tokens',
      unitPico: 1_250_000_000_000n,
      amountPico: 750_000_000n,
    },
    // Reasoning has no rate of its own.
    {
      name: 'output',
      class: 'output',
      quantity: 50n,
      unit: 'M tokens',
      unitPico: 10_000_000_000_000n,
      amountPico: 500_000_000n,
    },
    {
      name: 'web_search',
      class: 'webSearch',
      quantity: 2n,
      unit: 'M searches',
      unitPico: 10_000_000_000_000_000n,
      amountPico: 20_000_000_000n,
    },
  ])
})

test('reasoning that is counted beside the output has a line without the output’s', () => {
  const beside = buildLinearPrice({
    ...DEFINITION,
    variant: 'reasoning-beside',
    rates: { ...DEFINITION.rates, reasoning: 3_000_000n },
  })
  const cost = 400n * 2_500_000n + 600n * 1_250_000n + 50n * 10_000_000n + 20n * 3_000_000n
  const lines = costLinesOf(cost, sumsOfCall(usage, NO_UNITS), beside)
  expect(lines.map(({ name, quantity }) => `${name} ${quantity}`)).toEqual([
    'input 400',
    'cached_input 600',
    'output 50',
    'reasoning 20',
  ])
})

test.each([
  [
    'its upstream said',
    buildReportedPrice({ basis: 'reported', provider: 'openrouter', factor: '1' }),
    'as_reported',
  ],
  ['several models added up to', buildPartsPrice({ basis: 'parts', prices: ['a', 'b'] }), 'as_metered'],
  ['counts do not give', price, 'as_metered'],
  ['a price gave whose definition is lost', null, 'as_metered'],
])('a cost that %s is one line', (_, by, name) => {
  expect(costLinesOf(7n, sumsOfCall(usage, NO_UNITS), by)).toEqual([
    { name, class: null, quantity: 1n, unit: 'call', unitPico: 7n, amountPico: 7n },
  ])
})

test('what cost nothing has no lines, and what several calls cost in all has no unit price', () => {
  expect(costLinesOf(0n, sumsOfCall(usage, NO_UNITS), price)).toEqual([])
  expect(costLinesOf(9n, { ...sumsOfCall(usage, NO_UNITS), requests: 3n }, null)).toEqual([
    { name: 'as_metered', class: null, quantity: 3n, unit: 'call', unitPico: null, amountPico: 9n },
  ])
})
