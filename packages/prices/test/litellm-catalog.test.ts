import { expect, test } from 'vitest'
import { readLiteLlmCatalog } from '../src/litellm/litellm-catalog.ts'

interface Model {
  readonly id: string
  readonly match: object
  readonly prices: Record<string, unknown>
  readonly price_variants?: readonly unknown[]
}

function read(list: Record<string, object>): Record<string, Record<string, Model>> {
  const { catalog, problems } = readLiteLlmCatalog(JSON.stringify(list))
  if (catalog === null) throw new Error(problems.join('; '))
  const providers = JSON.parse(catalog.text) as { id: string; models: Model[] }[]
  return Object.fromEntries(
    providers.map(({ id, models }) => [id, Object.fromEntries(models.map((model) => [model.id, model]))]),
  )
}

const chat = (provider: string, more: object = {}) => ({
  litellm_provider: provider,
  mode: 'chat',
  input_cost_per_token: 2e-6,
  output_cost_per_token: 8e-6,
  ...more,
})

test('token prices are taken with their sizes of prompt, lifetimes of caches and media, to the digit', () => {
  const { openai } = read({
    one: chat('openai', {
      input_cost_per_token_above_272k_tokens: 4e-6,
      output_cost_per_token_above_272k_tokens: 0.000012,
      cache_read_input_token_cost: 3.75e-8,
      cache_creation_input_token_cost: 2.5e-6,
      cache_creation_input_token_cost_above_1hr: 4e-6,
      cache_creation_input_token_cost_above_12hr: 5e-6,
      cache_creation_input_token_cost_above_12hr_above_272k_tokens: 1e-5,
      input_cost_per_audio_token: 1e-5,
      input_cost_per_image_token: 2.5e-6,
      input_cost_per_video_token: 3e-6,
      output_cost_per_image_token: 4e-5,
      output_cost_per_reasoning_token: 8e-6,
    }),
  })
  expect(openai?.one?.prices).toEqual({
    input_mtok: { base: 2, tiers: [{ start: 272_000, price: 4 }] },
    output_mtok: { base: 8, tiers: [{ start: 272_000, price: 12 }] },
    cache_read_mtok: 0.0375,
    cache_write_mtok: 2.5,
    cache_write_1h_mtok: 4,
    cache_write_12h_mtok: { base: 5, tiers: [{ start: 272_000, price: 10 }] },
    input_audio_mtok: 10,
    input_image_mtok: 2.5,
    input_video_mtok: 3,
    output_image_mtok: 40,
    output_reasoning_mtok: { base: 8, tiers: [{ start: 272_000, price: 12 }] },
  })
})

test('prices at service tiers are taken whole, under our names of the tiers', () => {
  const { openai } = read({
    one: chat('openai', {
      input_cost_per_token_batches: 1e-6,
      output_cost_per_token_batches: 4e-6,
      input_cost_per_token_priority: 4e-6,
      output_cost_per_token_priority: 1.6e-5,
      input_cost_per_token_above_272k_tokens_priority: 8e-6,
    }),
  })
  expect(openai?.one?.price_variants).toEqual([
    { when: { service_tier: 'batch' }, prices: { input_mtok: 1, output_mtok: 4 } },
    {
      when: { service_tier: 'priority' },
      prices: { input_mtok: { base: 4, tiers: [{ start: 272_000, price: 8 }] }, output_mtok: 16 },
    },
  ])
})

test('a LiteLLM price that is not by tokens is taken by its own measure, and only where tokens have none', () => {
  const lists = read({
    'whisper-1': { litellm_provider: 'openai', mode: 'audio_transcription', input_cost_per_second: 0.0001 },
    'tts-1': { litellm_provider: 'openai', mode: 'audio_speech', input_cost_per_character: 1.5e-5 },
    'openai/sora-2': {
      litellm_provider: 'openai',
      mode: 'video_generation',
      output_cost_per_video_per_second: 0.1,
      output_cost_per_second_1080p: 0.3,
    },
    'rerank-v3.5': { litellm_provider: 'cohere', mode: 'rerank', input_cost_per_query: 0.002 },
    'mistral/ocr': {
      litellm_provider: 'mistral',
      mode: 'ocr',
      ocr_cost_per_page: 0.001,
      ocr_cost_per_page_batches: 0.0005,
      annotation_cost_per_page: 0.003,
    },
    'xai/picture': { litellm_provider: 'xai', mode: 'image_generation', output_cost_per_image: 0.07 },
    'gemini/picture': chat('gemini', { mode: 'image_generation', output_cost_per_image: 0.04 }),
  })
  expect(lists.openai?.['whisper-1']?.prices).toEqual({ input_audio_hours: 0.36 })
  expect(lists.openai?.['tts-1']?.prices).toEqual({ input_mchars: 15 })
  expect(lists.openai?.['sora-2']).toMatchObject({
    prices: { video_hours: 360 },
    price_variants: [{ when: { service_tier: '1080p' }, prices: { video_hours: 1_080 } }],
  })
  expect(lists.cohere?.['rerank-v3.5']?.prices).toEqual({ rerank_searches_kcount: 2 })
  expect(lists.mistral?.ocr).toMatchObject({
    prices: { input_document_kpages: 1, input_annotated_document_kpages: 3 },
    price_variants: [{ when: { service_tier: 'batch' }, prices: { input_document_kpages: 0.5 } }],
  })
  expect(lists['x-ai']?.picture?.prices).toEqual({ images_kcount: 70 })
  expect(lists.google?.picture?.prices).toEqual({ input_mtok: 2, output_mtok: 8 })
})

test('the fee of a search is taken where its size does not matter', () => {
  const fee = (low: number, high: number) => ({
    search_context_cost_per_query: {
      search_context_size_low: low,
      search_context_size_medium: low,
      search_context_size_high: high,
    },
  })
  const { openai } = read({
    one: chat('openai', fee(0.01, 0.01)),
    two: chat('openai', fee(0.03, 0.05)),
  })
  expect(openai?.one?.prices).toMatchObject({ web_searches_kcount: 10 })
  expect(openai?.two?.prices).not.toHaveProperty('web_searches_kcount')
})

test('names are those that calls ask for; other hosts, regions, sizes and commitments are passed over', () => {
  const list = {
    'azure/gpt-x': chat('azure'),
    'azure/eu/gpt-x': chat('azure'),
    'hd/1024-x-1024/dall-e-3': {
      litellm_provider: 'openai',
      mode: 'image_generation',
      input_cost_per_image: 1,
    },
    'vertex_ai/meta/llama-x': chat('vertex_ai-llama_models'),
    'fireworks_ai/accounts/fireworks/models/kimi-x': chat('fireworks_ai'),
    'bedrock/us-gov-west-1/anthropic.claude-x': chat('bedrock'),
    'us.anthropic.claude-x': chat('bedrock_converse'),
    'deepinfra/x': chat('deepinfra'),
    'groq/openai/gpt-oss-x': chat('groq'),
  }
  const lists = read(list)
  expect(Object.keys(lists.azure ?? {})).toEqual(['gpt-x'])
  expect(lists.openai).toBeUndefined()
  expect(lists['google-vertex']?.['meta/llama-x']?.match).toEqual({
    or: [{ equals: 'meta/llama-x' }, { equals: 'llama-x' }],
  })
  expect(lists.fireworks?.['kimi-x']?.match).toEqual({
    or: [{ equals: 'kimi-x' }, { equals: 'accounts/fireworks/models/kimi-x' }],
  })
  expect(Object.keys(lists.aws ?? {})).toEqual(['us.anthropic.claude-x'])
  expect(Object.keys(lists.groq ?? {})).toEqual(['openai/gpt-oss-x'])
  expect(readLiteLlmCatalog(JSON.stringify(list)).catalog).toMatchObject({ models: 5, passedOver: 4 })
})

test('a model that the list has twice, at two prices, is in neither', () => {
  const { catalog } = readLiteLlmCatalog(
    JSON.stringify({
      'openai.gpt-x': chat('bedrock_converse'),
      'bedrock_mantle/openai.gpt-x': chat('bedrock_mantle', { input_cost_per_token: 3e-6 }),
      one: chat('openai'),
      'openai/one': chat('openai', { cache_read_input_token_cost: 1e-6 }),
    }),
  )
  expect(catalog).toMatchObject({ models: 1, contradictory: ['aws/openai.gpt-x'] })
})

test('a price of 0 is none, and half a price is none either', () => {
  const { openai } = read({
    one: chat('openai'),
    free: chat('openai', { input_cost_per_token: 0, output_cost_per_token: 0 }),
    half: chat('openai', { output_cost_per_token: 0 }),
    embedding: {
      litellm_provider: 'openai',
      mode: 'embedding',
      input_cost_per_token: 1e-7,
      output_cost_per_token: 0,
    },
  })
  expect(Object.keys(openai ?? {}).sort()).toEqual(['embedding', 'one'])
  expect(openai?.embedding?.prices).toEqual({ input_mtok: 0.1 })
})

test.each([
  ['negative', { input_cost_per_token: -1e-6 }, 'one: input_cost_per_token is negative'],
  ['no number', { output_cost_per_token: '8e-6' }, 'one: output_cost_per_token is no number'],
  ['not a number', { output_cost_per_token_flex: 'NaN' }, 'one: output_cost_per_token_flex is no number'],
  [
    'a dollar a token',
    { input_cost_per_token: 1 },
    'one: input_cost_per_token is $1 for one, which nothing costs',
  ],
  [
    'a fortune a query',
    { google_maps_grounding_cost_per_query: 1e6 },
    'one: google_maps_grounding_cost_per_query is $1000000 for one, which nothing costs',
  ],
])('a list with a price that is %s is refused, all of it', (_, more, problem) => {
  const text = JSON.stringify({ two: chat('openai'), one: chat('openai', more) })
  expect(readLiteLlmCatalog(text)).toMatchObject({ catalog: null, problems: [problem] })
})

test('of a list that is fetched, few entries that cannot be read are left out and named', () => {
  const list = { two: chat('openai'), one: chat('openai', { input_cost_per_token: -1 }) }
  const { catalog, problems, unread } = readLiteLlmCatalog(JSON.stringify(list), { leaveOut: true })
  expect(problems).toEqual([])
  expect(unread).toEqual([{ name: 'one', why: 'input_cost_per_token is negative' }])
  expect(catalog?.models).toBe(1)
  const more = { ...list, three: chat('openai', { output_cost_per_token: -1 }) }
  expect(readLiteLlmCatalog(JSON.stringify(more), { leaveOut: true }).catalog).toBeNull()
})

test.each([
  '[]',
  'null',
  '{}',
  '{"one":1}',
  '{"one":{"litellm_provider":"openai"',
  '{"x":{"litellm_provider":"nobody"}}',
])('%s is not a price list', (text) => {
  const { catalog, problems } = readLiteLlmCatalog(text)
  expect(catalog).toBeNull()
  expect(problems).toHaveLength(1)
})

test('a host named like a part of the language is an unknown host', () => {
  const list = { one: chat('openai'), two: chat('constructor'), three: chat('__proto__') }
  expect(Object.keys(read(list).openai ?? {})).toEqual(['one'])
  expect(readLiteLlmCatalog(JSON.stringify(list)).catalog?.passedOver).toBe(2)
})

test('what costs the same as all input costs the same for large prompts, also where the list says its price once', () => {
  const list = read({
    one: chat('openai', {
      input_cost_per_token_above_200k_tokens: 4e-6,
      input_cost_per_image_token: 2e-6,
      cache_read_input_token_cost: 5e-7,
    }),
  })
  const sized = { base: 2, tiers: [{ start: 200_000, price: 4 }] }
  expect(list.openai?.one?.prices).toEqual({
    input_mtok: sized,
    output_mtok: 8,
    input_image_mtok: sized,
    cache_read_mtok: 0.5,
  })
})
