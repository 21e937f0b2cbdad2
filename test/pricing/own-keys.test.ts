import { expect, test } from 'vitest'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { dialectOf } from '../providers/recordings/dialect-of.ts'

const catalog = buildCatalog({ trustedUpstreams: ['router'] })

/** What an answer of a router costs whose figures are believed. */
function priceOf(provider: Provider, path: string, answer: object) {
  const dialect = dialectOf(provider, 'POST', path)
  if (dialect === null) throw new Error(`nothing is metered at ${path}`)
  const headers = { 'content-type': 'application/json' }
  const reader = dialect.createReader(
    { method: 'POST', path, model: null, stream: false },
    { status: 200, headers },
  )
  reader.push(Buffer.from(JSON.stringify(answer)))
  return catalog.priceCall({
    ...reader.end(),
    provider,
    upstream: 'router',
    clientName: null,
    requestedModel: null,
    arrivedAtMs: Date.parse('2026-11-22T12:00:00Z'),
  })
}

const CHAT = '/api/v1/chat/completions'
const MESSAGES = '/api/v1/messages'
const COUNTS = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
const RESPONSE_COUNTS = { input_tokens: 1_000, output_tokens: 100 }

test.each<[string, Provider, string, object, string, bigint]>([
  [
    'the provider’s figure beside a fee of 0',
    'openrouter',
    CHAT,
    { ...COUNTS, cost: 0, is_byok: true, cost_details: { upstream_inference_cost: 0.000_3 } },
    'openrouter/reported',
    300_000_000n,
  ],
  [
    'our own price, where the provider’s figure is missing',
    'openrouter',
    CHAT,
    { ...COUNTS, cost: 0, is_byok: true, cost_details: { upstream_inference_cost: null } },
    'openrouter/openai/gpt-4o-mini#std',
    210_000_000n,
  ],
  [
    'our own price, where a cost of 0 is all that is said',
    'openrouter',
    CHAT,
    { ...COUNTS, cost: 0 },
    'openrouter/openai/gpt-4o-mini#std',
    210_000_000n,
  ],
  [
    'the provider’s figure in the format of Anthropic',
    'openrouter',
    MESSAGES,
    { ...RESPONSE_COUNTS, cost: 0, is_byok: true, cost_details: { upstream_inference_cost: 0.000_3 } },
    'openrouter/reported',
    300_000_000n,
  ],
  [
    'the market’s at Vercel',
    'vercel-gateway',
    '/v1/chat/completions',
    { ...COUNTS, cost: 0, market_cost: 0.000_21, is_byok: true },
    'vercel-gateway/reported',
    210_000_000n,
  ],
])('a call on the client’s own key is never free: %s', (_what, provider, path, usage, price, pico) => {
  const priced = priceOf(provider, path, { model: 'openai/gpt-4o-mini', usage })
  expect(priced).toMatchObject({ kind: 'priced', costPico: pico })
  expect('priceId' in priced && priced.priceId.startsWith(price)).toBe(true)
})

test('a reported cost of 0 stands where no list has a price for the model', () => {
  const answer = { model: 'made/of-nothing', usage: { ...COUNTS, cost: 0 } }
  expect(priceOf('openrouter', CHAT, answer)).toMatchObject({ kind: 'priced', costPico: 0n })
})

test('a reported cost of 0 is not taken for a model whose price at the tier is not known', () => {
  const answer = { model: 'openai/gpt-4o-mini', service_tier: 'unheard', usage: { ...COUNTS, cost: 0 } }
  expect(priceOf('openrouter', CHAT, answer)).toMatchObject({ kind: 'unpriced', reason: 'unknown_tier' })
})

test.each<[string, Provider, string, string | null]>([
  ['a credit after a refusal', 'anthropic', 'claude-opus-5', 'standard+fallback_credit'],
  ['Bedrock’s low latency', 'bedrock', 'us.meta.llama3-1-70b-instruct-v1:0', 'latency_optimized'],
])('what no list has the price of is priced in part: %s', (_what, provider, model, serviceTier) => {
  const call = {
    provider,
    upstream: 'up',
    clientName: null,
    model,
    requestedModel: null,
    usage: { ...NO_USAGE, inputTokens: 1_000, outputTokens: 100 },
    units: NO_UNITS,
    arrivedAtMs: Date.parse('2026-11-22T12:00:00Z'),
    reportedCostPico: null,
    parts: null,
  }
  const plain = catalog.priceCall({ ...call, serviceTier: null })
  const inPart = catalog.priceCall({ ...call, serviceTier })
  if (plain.kind !== 'priced' || inPart.kind !== 'priced') throw new Error('no price')
  expect(inPart.costPico).toBe(plain.costPico)
  expect(inPart.priceId).toMatch(/\+partly\./)
})
