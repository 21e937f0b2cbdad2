import { expect, test } from 'vitest'
import { judge } from '../../bench/prices/judge.ts'
import type { Listing, Rate, SourceName } from '../../bench/prices/listing.ts'
import { placeInLiteLlm } from '../../bench/prices/litellm-names.ts'
import { type PriceCase, priceCasesOf } from '../../bench/prices/price-cases.ts'

const rate = (name: Rate['class'], usd: number, fields: Partial<Rate> = {}): Rate => ({
  class: name,
  tier: '',
  above: 0,
  usd: usd / 1e6,
  ...fields,
})

function listing(source: SourceName, ...rates: readonly Rate[]): Listing {
  return { source, provider: 'openai', model: 'm', kind: 'chat', rates }
}

function priceCaseOf(name: Rate['class'], listings: readonly Listing[], tier = '', above = 0): PriceCase {
  const found = priceCasesOf({ provider: 'openai', model: 'm', listings }).find(
    (priceCase) => priceCase.class === name && priceCase.tier === tier && priceCase.above === above,
  )
  if (found === undefined) throw new Error(`nothing asks for ${name}`)
  return found
}

const priced = (usd: number | null) => ({ usd, reason: 'p', isCounted: true })

test('two sources against one are right, and half a percent is the same', () => {
  const priceCase = priceCaseOf('input', [
    listing('genai-prices', rate('input', 2)),
    listing('models.dev', rate('input', 1)),
    listing('litellm', rate('input', 1.004)),
  ])
  expect(judge(priceCase, priced(0.1))).toMatchObject({ kind: 'right', isDisputed: true })
  expect(judge(priceCase, priced(0.1006))).toMatchObject({
    kind: 'wrong',
    agreeing: ['models.dev', 'litellm'],
  })
  expect(judge(priceCase, priced(0.2))).toMatchObject({ kind: 'wrong' })
  expect(judge(priceCase, priced(null))).toMatchObject({ kind: 'unpriced' })
})

test('output comes with a thousand tokens of input, and a longer prompt is asked above its threshold', () => {
  const one = listing(
    'litellm',
    rate('input', 1),
    rate('output', 10),
    rate('input', 2, { above: 200_000 }),
    rate('output', 20, { above: 200_000 }),
  )
  expect(priceCaseOf('output', [one]).said.get('litellm')).toBeCloseTo(1.001, 9)
  const long = priceCaseOf('output', [one], '', 200_000)
  expect(long.use.inputTokens).toBe(228_000)
  expect(long.said.get('litellm')).toBeCloseTo(228_000 * 2e-6 + 2, 9)
})

test('a source that has no price for long prompts or a tier says nothing of them', () => {
  const knows = listing(
    'litellm',
    rate('input', 1),
    rate('input', 2, { above: 200_000 }),
    rate('input', 0.5, { tier: 'batch' }),
  )
  const doesNot = listing('models.dev', rate('input', 1))
  expect([...priceCaseOf('input', [knows, doesNot], '', 200_000).said.keys()]).toEqual(['litellm'])
  expect([...priceCaseOf('input', [knows, doesNot], 'batch').said.keys()]).toEqual(['litellm'])
})

test('a tier at the list price is distinguished from one at another price', () => {
  const priceCase = priceCaseOf(
    'input',
    [listing('litellm', rate('input', 1), rate('input', 0.5, { tier: 'batch' }))],
    'batch',
  )
  expect(judge(priceCase, priced(0.1))).toMatchObject({ kind: 'wrong', isAtListPrice: true })
  expect(judge(priceCase, priced(0.07))).toMatchObject({ kind: 'wrong', isAtListPrice: false })
  expect(judge(priceCase, priced(0.05))).toMatchObject({ kind: 'right', isAtListPrice: false })
})

test.each([
  ['azure/eu/gpt-4o', 'azure', null],
  ['bedrock/us-east-1/anthropic.claude-v1', 'bedrock', null],
  ['us.anthropic.claude-opus-5', 'bedrock_converse', 'bedrock us.anthropic.claude-opus-5'],
  ['vertex_ai/claude-opus-5@default', 'vertex_ai-anthropic_models', 'vertex claude-opus-5@default'],
  ['hd/1024-x-1792/dall-e-3', 'openai', null],
  ['deepinfra/deepseek-ai/DeepSeek-R1', 'deepinfra', null],
])('%s of %s is asked as %s', (key, provider, asked) => {
  const place = placeInLiteLlm(key, provider, new Map())
  expect(place === null ? null : `${place.provider} ${place.model}`).toBe(asked)
})
