import { expect, test } from 'vitest'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import type { Priced } from '../../src/pricing/catalog/catalog-call.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { dialectOf } from './recordings/dialect-of.ts'

const catalog = buildCatalog()

/** What an answer costs by our own prices, in US dollars. */
function costOf(provider: Provider, path: string, answer: object): number {
  return Number(priceOf(provider, path, answer).costPico) / 1e12
}

/** What of a response's use has no price. */
function unpricedOf(answer: object): readonly string[] {
  const { definition } = priceOf('openai', RESPONSES, answer).price
  return 'unpriced' in definition ? (definition.unpriced ?? []) : []
}

function priceOf(provider: Provider, path: string, answer: object): Priced {
  const dialect = dialectOf(provider, 'POST', path)
  if (dialect === null) throw new Error(`nothing is metered at ${path}`)
  const request = { method: 'POST', path, model: null, stream: false }
  const reader = dialect.createReader(request, {
    status: 200,
    headers: { 'content-type': 'application/json' },
  })
  reader.push(Buffer.from(JSON.stringify(answer)))
  const { model, usage, units, serviceTier, parts } = reader.end()
  const price = catalog.priceCall({
    provider,
    upstream: 'up',
    clientName: null,
    model,
    requestedModel: null,
    usage,
    units,
    serviceTier,
    parts,
    arrivedAtMs: Date.parse('2026-11-22T12:00:00Z'),
    reportedCostPico: null,
  })
  if (price.kind !== 'priced') throw new Error(price.reason)
  return price
}

const RESPONSES = '/v1/responses'
const response = (model: string, more: object): object => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model,
  usage: { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 },
  ...more,
})
/** A picture, with a tool for each of these models; `null`: a tool that names none. */
const drawnBy = (...models: readonly (string | null)[]): object =>
  response('gpt-5', {
    tools: models.map((model) => ({ type: 'image_generation', ...(model === null ? {} : { model }) })),
    tool_usage: { image_gen: { input_tokens: 10, output_tokens: 4_160, total_tokens: 4_170 } },
    output: [{ type: 'image_generation_call', status: 'completed' }],
  })
const grounded = (model: string, webSearchQueries: readonly string[]): object => ({
  modelVersion: model,
  candidates: [{ finishReason: 'STOP', groundingMetadata: { webSearchQueries } }],
  usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 500, totalTokenCount: 1_500 },
})
const generate = (model: string): string => `/v1beta/models/${model}:generateContent`

test.each<[string, Provider, string, object, number]>([
  [
    'deep research: tokens, one search and one container',
    'openai',
    RESPONSES,
    response('o3-deep-research', {
      output: [
        { type: 'web_search_call', action: { type: 'search' } },
        { type: 'web_search_call', action: { type: 'open_page' } },
        { type: 'code_interpreter_call', container_id: 'cntr_1' },
      ],
    }),
    0.07,
  ],
  [
    'a search of files',
    'openai',
    RESPONSES,
    response('gpt-5', { output: [{ type: 'file_search_call' }] }),
    0.00875,
  ],
  ['a picture', 'openai', RESPONSES, drawnBy('gpt-image-1'), 0.1727],
  [
    'a picture that one of several models drew',
    'openai',
    RESPONSES,
    drawnBy('gpt-image-1-mini', 'gpt-image-1'),
    0.1727,
  ],
  ['the same in another order', 'openai', RESPONSES, drawnBy('gpt-image-1', 'gpt-image-1-mini'), 0.1727],
  [
    'a picture by a model or by one that is not named',
    'openai',
    RESPONSES,
    drawnBy('gpt-image-1', null),
    0.1727,
  ],
  [
    'cache writes for twelve hours',
    'openai',
    RESPONSES,
    response('gpt-6-sol', {
      usage: {
        input_tokens: 1_000_000,
        output_tokens: 0,
        input_tokens_details: {
          cache_write_tokens: 200_000,
          cache_write_tokens_details: { ttl_30m_tokens: 100_000, ttl_12h_tokens: 100_000 },
        },
      },
    }),
    // Of a prompt above 272,000: 800,000 at $4, 100,000 at $5 and 100,000 at $10 a million.
    4.7,
  ],
  ['a grounded prompt', 'gemini', generate('x'), grounded('gemini-2.5-flash', ['a', 'b']), 0.03655],
  ['three queries', 'gemini', generate('x'), grounded('gemini-3.5-flash', ['a', 'b', 'c']), 0.048],
  [
    'a system of two models',
    'groq',
    '/openai/v1/chat/completions',
    {
      model: 'groq/compound',
      choices: [{ message: { content: 'x' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
      usage_breakdown: {
        models: [
          { model: 'openai/gpt-oss-120b', usage: { prompt_tokens: 900, completion_tokens: 400 } },
          { model: 'llama-3.3-70b-versatile', usage: { prompt_tokens: 100, completion_tokens: 100 } },
        ],
      },
    },
    0.000513,
  ],
  [
    'searches of the web and of X',
    'xai',
    RESPONSES,
    response('grok-4.3', {
      usage: {
        input_tokens: 1_000,
        output_tokens: 100,
        num_server_side_tools_used: 4,
        server_side_tool_usage_details: { web_search_calls: 3, x_search_calls: 1 },
      },
    }),
    0.0215,
  ],
])('%s costs what the provider bills', (_what, provider, path, answer, dollars) => {
  expect(costOf(provider, path, answer)).toBeCloseTo(dollars, 9)
})

test('a picture by a tool that names no model is a gap in the cost, also beside one that names its', () => {
  for (const models of [[null], ['gpt-image-1', null], [null, 'gpt-image-1']])
    expect(unpricedOf(drawnBy(...models))).toEqual(['otherToolCall'])
  expect(unpricedOf(drawnBy('gpt-image-1', 'gpt-image-1-mini'))).toEqual([])
})

test.each([
  [
    'Gemini',
    (count: number) =>
      priceOf(
        'gemini',
        generate('x'),
        grounded(
          'gemini-3.5-flash',
          Array.from({ length: count }, (_, at) => `q${at}`),
        ),
      ),
  ],
  [
    'Groq',
    (count: number) =>
      priceOf('groq', '/openai/v1/chat/completions', {
        model: 'openai/gpt-oss-120b',
        choices: [
          {
            message: {
              executed_tools: Array.from({ length: count }, (_, index) => ({ index, type: 'search' })),
            },
          },
        ],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
  ],
] as const)('of more tools than are kept of an answer of %s, the rest is a gap in the cost', (_maker, price) => {
  const gaps = (count: number) => {
    const { definition } = price(count).price
    return 'unpriced' in definition ? (definition.unpriced ?? []) : []
  }
  expect(gaps(1_000)).not.toContain('otherToolCall')
  expect(gaps(1_001)).toContain('otherToolCall')
  expect(gaps(20_000)).toContain('otherToolCall')
})

test('of more calls of tools than are kept of an answer, the rest is a gap in the cost, and its usage is read', () => {
  const calls = (count: number) => ({
    output: Array.from({ length: count }, (_, at) => ({
      type: 'file_search_call',
      status: 'completed',
      container_id: `cntr_${'0'.repeat(40)}${at}`,
    })),
  })
  const few = response('gpt-5', calls(1_000))
  expect(unpricedOf(few)).toEqual([])
  for (const count of [1_025, 20_000]) {
    const usage = { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 }
    const many = { id: 'resp_1', object: 'response', model: 'gpt-5', ...calls(count), usage }
    expect(unpricedOf(many)).toEqual(['otherToolCall'])
    expect(costOf('openai', RESPONSES, many)).toBeGreaterThan(costOf('openai', RESPONSES, few))
  }
})
