import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../../src/call/usage.ts'
import type { EstimateConfig } from '../../../src/config/yaml/config-file.ts'
import { scanRequestBody } from '../../../src/gateway/bodies/request-body.ts'
import { LearnedRatios } from '../../../src/gateway/estimation/learning/learned-ratios.ts'
import { CallEstimates } from '../../../src/gateway/expected-use/call-estimates.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { type Asking, admitted } from './admissions.ts'

const SETTINGS: EstimateConfig = { defaultOutputTokens: 4_096, jobReservePico: 1_000_000_000_000n }
const CATALOG = buildCatalog()

const open = (settings = SETTINGS, catalog = CATALOG) => new CallEstimates(() => catalog, settings)
const estimate = (asking: Asking) => open().estimateCall(admitted(asking))

const CHAT = '/v1/chat/completions'
const HELLO = [{ role: 'user', content: 'Say hello in one sentence.' }]
/** Of gpt-4o-mini: pico-USD for one token. */
const INPUT = 150_000
const OUTPUT = 600_000

/** What a chat of gpt-4o-mini may cost that may generate so many tokens. */
function costOfMini(body: object, outputTokens: number): bigint {
  const prompt = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 2) + 16
  return BigInt(prompt * INPUT + outputTokens * OUTPUT)
}

test('a model whose prompts are known to be more than twice their estimates is reserved for more', () => {
  const asking: Asking = { path: CHAT, body: { model: 'gpt-4o-mini', messages: HELLO, max_tokens: 1 } }
  const admission = admitted(asking)
  const { clientId } = admission.caller
  const plain = open().estimateCall(admission).pico
  const taught = (ratio: number) => {
    const ratios = new LearnedRatios()
    for (let call = 0; call < 400; call++)
      ratios.add({ clientId, model: 'gpt-4o-mini', kind: 'plain_short' }, 100, 100 * ratio)
    return new CallEstimates(() => CATALOG, SETTINGS, ratios).estimateCall(admission).pico
  }
  expect(taught(0.5)).toBe(plain)
  expect(taught(1.9)).toBe(plain)
  expect(Number(taught(3)) / Number(plain)).toBeCloseTo(1.5, 1)
})

describe('what a call may generate', () => {
  const mini = (rest: object) => ({ model: 'gpt-4o-mini', messages: HELLO, ...rest })

  test.each([
    [{ max_tokens: 100 }, 100],
    [{ max_completion_tokens: 100 }, 100],
    [{ max_tokens: 100, max_completion_tokens: 7 }, 100],
    [{ max_tokens: 100, n: 3 }, 300],
    [{}, 4_096],
    [{ n: 2 }, 8_192],
    [{ max_tokens: null }, 4_096],
    [{ max_tokens: 0 }, 4_096],
    [{ max_tokens: -1 }, 4_096],
    [{ max_tokens: 10, max_completion_tokens: null }, 4_096],
    // Not OpenAI's name for it, and so no bound there.
    [{ max_output_tokens: 1 }, 4_096],
    [{ generationConfig: { maxOutputTokens: 1 } }, 4_096],
  ])('of a chat that says %j it is %i tokens', (rest, tokens) => {
    const body = mini(rest)
    expect(estimate({ path: CHAT, body }).pico).toBe(costOfMini(body, tokens))
  })

  test('of two bounds under one name the larger counts, whichever a server reads', () => {
    for (const bounds of ['"max_tokens":9,"max_tokens":5', '"max_tokens":5,"max_tokens":9']) {
      const body = `{"model":"gpt-4o-mini",${bounds}}`
      const prompt = Math.ceil(body.length / 2) + 16
      expect(estimate({ path: CHAT, body }).pico).toBe(BigInt(prompt * INPUT + 9 * OUTPUT))
    }
  })

  const COMPLETIONS = '/v1/completions'
  const prompts = (count: number) => Array.from({ length: count }, (_, at) => `Say ${at}`)
  const both = (more: string) => `{"model":"gpt-4o-mini","max_tokens":1,${more},"messages":[]}`
  const tens: [name: string, Asking, tokens: number][] = [
    ['prompts', { path: COMPLETIONS, body: mini({ prompt: prompts(200), max_tokens: 256 }) }, 51_200],
    ['prompts, and n', { path: COMPLETIONS, body: mini({ prompt: prompts(3), max_tokens: 10, n: 4 }) }, 120],
    [
      'prompts, and best_of',
      { path: COMPLETIONS, body: mini({ prompt: ['a', 'b'], max_tokens: 10, best_of: 5 }) },
      100,
    ],
    [
      'prompts of tokens',
      { path: COMPLETIONS, body: mini({ prompt: [[1, 2], [3], [4]], max_tokens: 10 }) },
      30,
    ],
    ['one prompt of tokens', { path: COMPLETIONS, body: mini({ prompt: [1, 2, 3], max_tokens: 10 }) }, 10],
    ['one prompt', { path: COMPLETIONS, body: mini({ prompt: 'a', max_tokens: 10 }) }, 10],
    [
      'prompts in other letters',
      { path: COMPLETIONS, body: mini({ Prompt: ['a', 'b'], max_tokens: 10 }) },
      20,
    ],
    [
      'more prompts than anyone sends',
      { path: COMPLETIONS, body: mini({ prompt: prompts(20_000), max_tokens: 1 }) },
      20_000,
    ],
    [
      'prompts of a chat, which are none',
      { path: CHAT, body: mini({ prompt: ['a', 'b'], max_tokens: 10 }) },
      10,
    ],
    ['n in other letters', { path: CHAT, body: mini({ N: 3, max_tokens: 10 }) }, 30],
    ['n with a long fraction', { path: CHAT, body: both(`"n":7.${'0'.repeat(60)}`) }, 7],
    ['n as text', { path: CHAT, body: mini({ n: '4', max_tokens: 10 }) }, 40],
    [
      'inputs of TGI',
      {
        provider: 'tgi',
        path: '/generate',
        body: { inputs: ['a', 'b'], parameters: { max_new_tokens: 10, best_of: 2 } },
      },
      40,
    ],
    [
      'prompts of llama.cpp',
      { provider: 'llamacpp', path: '/completion', body: { prompt: ['a', 'b'], n_predict: 10 } },
      20,
    ],
    [
      'prompts at SageMaker’s path',
      {
        provider: 'vllm',
        path: '/invocations',
        body: mini({ prompt: ['a', 'b'], max_tokens: 10, best_of: 2 }),
      },
      40,
    ],
    [
      'inputs of TGI at SageMaker’s path',
      {
        provider: 'openai-compatible',
        path: '/invocations',
        body: { inputs: ['a', 'b'], parameters: { num_return_sequences: 2 }, max_tokens: 10 },
      },
      40,
    ],
    [
      'a bound of vLLM’s beside a larger one of TGI’s at SageMaker’s path',
      {
        provider: 'openai-compatible',
        path: '/invocations',
        body: { inputs: 'a', max_tokens: 1, parameters: { max_new_tokens: 50 } },
      },
      50,
    ],
    [
      'a bound of TGI’s alone at SageMaker’s path, which is none to vLLM',
      { provider: 'vllm', path: '/invocations', body: { prompt: 'a', parameters: { max_new_tokens: 1 } } },
      4_096,
    ],
    [
      'instances at Vertex’s path of TGI, each of as much as is usual',
      { provider: 'tgi', path: '/vertex', body: { instances: [{ inputs: 'a' }, { inputs: 'b' }] } },
      8_192,
    ],
    [
      'tokens of vLLM',
      {
        provider: 'vllm',
        path: '/inference/v1/generate',
        body: { model: 'm', token_ids: [1, 2, 3], sampling_params: { max_tokens: 10, n: 5 } },
      },
      50,
    ],
    [
      'requests of Workers AI',
      {
        provider: 'cloudflare',
        path: '/client/v4/accounts/a/ai/run/@cf/meta/llama',
        body: { requests: [{}, {}, {}], max_tokens: 10 },
      },
      30,
    ],
    [
      'n of Alibaba',
      {
        provider: 'alibaba',
        path: '/api/v1/services/aigc/text-generation/generation',
        body: { model: 'qwen', parameters: { n: 3, max_tokens: 10 } },
      },
      30,
    ],
    [
      'generations of Cohere',
      {
        provider: 'cohere',
        path: '/v1/generate',
        body: { model: 'command', prompt: 'a', max_tokens: 10, num_generations: 5 },
      },
      50,
    ],
    // Go takes names whatever the case of their letters, and the last of two.
    ['a bound in other letters beside it', { path: CHAT, body: both('"Max_Tokens":4000') }, 4_000],
    ['a bound in escaped letters', { path: CHAT, body: both('"\\u004dax_tokens":4000') }, 4_000],
    ['a bound with a long s', { path: CHAT, body: both('"max_token\u017f":4000') }, 4_000],
    ['a bound with the sign of Kelvin', { path: CHAT, body: both('"max_to\u212aens":4000') }, 4_000],
    ['no bound in other letters beside it', { path: CHAT, body: both('"Max_Tokens":0') }, 4_096],
    ['a smaller bound in other letters', { path: CHAT, body: mini({ max_tokens: 10, MAX_TOKENS: 1 }) }, 10],
    [
      'a bound in other letters alone, which most pass over',
      { path: CHAT, body: mini({ MAX_TOKENS: 1 }) },
      4_096,
    ],
    ['a large one alone', { path: CHAT, body: mini({ MAX_TOKENS: 9_000 }) }, 9_000],
    [
      'settings in other letters',
      {
        provider: 'ollama',
        path: '/api/chat',
        body: { model: 'l', options: { num_predict: 1 }, Options: { Num_Predict: 900 } },
      },
      900,
    ],
  ]

  test.each(tens)('%s: what multiplies or raises an answer counts', (_name, asking, tokens) => {
    const { body = '' } = asking
    const length = Buffer.byteLength(typeof body === 'string' ? body : JSON.stringify(body))
    expect(estimate(asking).tokens).toBe(Math.ceil(length / 2) + 16 + tokens)
  })

  test('a ranking by its documents, each of which is read with the query', () => {
    const documents = (count: number) => Array.from({ length: count }, () => 'a')
    const cohere = (count: number) =>
      estimate({
        provider: 'cohere',
        path: '/v2/rerank',
        body: { model: 'rerank-v3.5', query: 'q', documents: documents(count) },
      })
    // 0.002 USD for a hundred documents.
    expect(cohere(100).pico).toBeLessThan(2n * 2_000_000_000n)
    expect(cohere(10_000).pico).toBeGreaterThanOrEqual(100n * 2_000_000_000n)
    const query = 'word '.repeat(1_000)
    for (const [provider, path] of [
      ['voyageai', '/v1/rerank'],
      ['vllm', '/v1/rerank'],
      ['vllm', '/invocations'],
    ] as const) {
      const body = { model: 'rerank-2.5', query, documents: documents(500) }
      expect(estimate({ provider, path, body }).tokens).toBeGreaterThan(500 * 1_000)
    }
    const plain = { model: 'voyage-3.5', input: documents(500), query }
    expect(estimate({ provider: 'voyageai', path: '/v1/embeddings', body: plain }).tokens).toBeLessThan(5_000)
  })

  test('pictures of Titan, Imagen and OpenAI by their number', () => {
    const pictures: [Asking, (count: number) => object][] = [
      [{ path: '/v1/images/generations' }, (n) => ({ model: 'dall-e-3', prompt: 'a cat', n })],
      [
        { provider: 'bedrock', path: '/model/amazon.nova-canvas-v1:0/invoke' },
        (numberOfImages) => ({ taskType: 'TEXT_IMAGE', imageGenerationConfig: { numberOfImages } }),
      ],
      [
        { provider: 'gemini', path: '/v1beta/models/imagen-4.0-generate-001:predict' },
        (sampleCount) => ({ instances: [{ prompt: 'a cat' }], parameters: { sampleCount } }),
      ],
    ]
    for (const [asking, bodyOf] of pictures) {
      const [one, four] = [1, 4].map((count) => Number(estimate({ ...asking, body: bodyOf(count) }).pico))
      expect(one).toBeGreaterThan(0)
      expect(four).toBeCloseTo(4 * (one ?? 0), -6)
    }
  })

  const OUT = 4_000
  const CLAUDE = 'claude-opus-4-8'
  const ofClaude = (rest: object | string) => ({
    provider: 'anthropic' as const,
    path: '/v1/messages',
    body: asking(CLAUDE, rest),
  })
  const ofGemini = (rest: object) => ({
    provider: 'gemini' as const,
    path: '/v1beta/models/gemini-2.5-pro:generateContent',
    body: { contents: [], generationConfig: { maxOutputTokens: OUT }, ...rest },
  })
  const ofNova = (rest: object, verb = 'converse', headers = {}) => ({
    provider: 'bedrock' as const,
    path: `/model/amazon.nova-pro-v1:0/${verb}`,
    body: { messages: [], inferenceConfig: { maxTokens: OUT }, ...rest },
    headers,
  })
  const VERTEX = '/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:generateContent'
  const PAID = { 'x-vertex-ai-llm-shared-request-type': 'priority' }

  function asking(model: string, rest: object | string): object | string {
    return typeof rest === 'string'
      ? `{"model":"${model}","max_tokens":${OUT},"messages":[],${rest}}`
      : { model, max_tokens: OUT, messages: [], ...rest }
  }

  const schema = (bytes: number) => `"responseSchema":{"description":"${'a b '.repeat(bytes / 4)}"}`
  const beforeIt: [name: string, before: string][] = [
    ['behind a schema of 70 kB', schema(70_000)],
    ['behind a schema of 300 kB', schema(300_000)],
    ['in the second of two long ones', `${schema(70_000)}},"generation_config":{${schema(70_000)}`],
    ['behind a thousand others', Array.from({ length: 1_001 }, (_, at) => `"a${at}":0`).join(',')],
    ['behind a comma too many', '"a":1,'],
  ]

  test.each(
    beforeIt,
  )('of Gemini it is at least all candidates, where settings ask for eight %s', (_name, before) => {
    const body = `{"contents":[],"generationConfig":{"maxOutputTokens":4000,${before},"candidateCount":8}}`
    const path = '/v1beta/models/gemini-2.5-flash:generateContent'
    expect(estimate({ provider: 'gemini', path, body }).tokens).toBeGreaterThanOrEqual(
      8 * 4_000 + before.length / 2,
    )
  })

  test('a long schema of the answer makes it no more', () => {
    const body = `{"contents":[],"generationConfig":{"maxOutputTokens":4000,${schema(70_000)}}}`
    const path = '/v1beta/models/gemini-2.5-flash:generateContent'
    expect(estimate({ provider: 'gemini', path, body }).tokens).toBeLessThan(4_000 + body.length)
  })

  function hiddenTiers(): [string, Asking, factor: number][] {
    const decoys = (count: number, text = 'flex') =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, text]))
    const twice = Array.from({ length: 17 }, () => '"service_tier":"flex"').join(',')
    return [
      ['priority behind sixteen others', ofNova({ serviceTier: { ...decoys(16), type: 'priority' } }), 1.75],
      [
        'priority behind a long one',
        {
          ...ofNova({}),
          body: JSON.stringify(
            ofNova({ serviceTier: { ...decoys(1, 'a'.repeat(70_000)), type: 'priority' } }).body,
          ),
        },
        1.75,
      ],
      [
        'priority said last of many',
        { path: CHAT, body: asking('gpt-4o', `${twice},"service_tier":"priority"`) },
        1.7,
      ],
    ]
  }

  /** What so many tokens of output cost at a tier, against the usual one. */
  test.each<[string, Asking, factor: number]>([
    ['priority', { path: CHAT, body: asking('gpt-4o', { service_tier: 'priority' }) }, 1.7],
    ['flex', { path: CHAT, body: asking('gpt-5', { service_tier: 'flex' }) }, 0.5],
    [
      'flex, and priority behind it',
      { path: CHAT, body: asking('gpt-5', '"service_tier":"flex","service_tier":"priority"') },
      2,
    ],
    [
      'flex, and none behind it',
      { path: CHAT, body: asking('gpt-5', '"service_tier":"flex","service_tier":"default"') },
      1,
    ],
    [
      'a batch, which is no tier of a call',
      { path: CHAT, body: asking('gpt-4o', { service_tier: 'batch' }) },
      1,
    ],
    ['the United States', ofClaude({ inference_geo: 'us' }), 1.1],
    ['fast in the United States', ofClaude({ speed: 'fast', inference_geo: 'us' }), 2.2],
    ['standard, and fast behind it', ofClaude('"speed":"standard","speed":"fast"'), 2],
    ['fast at any tier', ofClaude({ service_tier: 'auto', speed: 'fast' }), 2],
    ['priority of Gemini', ofGemini({ service_tier: 'priority' }), 1.8],
    ['priority in Google’s letters', ofGemini({ serviceTier: 'SERVICE_TIER_PRIORITY' }), 1.8],
    [
      'priority in a header of Vertex',
      { ...ofGemini({}), provider: 'vertex', path: VERTEX, headers: PAID },
      1.8,
    ],
    ...hiddenTiers(),
    ['priority in an object of Bedrock', ofNova({ serviceTier: { type: 'priority' } }), 1.75],
    [
      'priority in a header of Bedrock',
      ofNova({}, 'invoke', { 'x-amzn-bedrock-service-tier': 'priority' }),
      1.75,
    ],
  ])('the dearest tier that a request may mean is reserved: %s', (_name, wanted, factor) => {
    const { body = {} } = wanted
    const isText = typeof body === 'string'
    const plain = isText
      ? body.replaceAll(/"(?:service_tier|serviceTier|speed)"/g, (key) => key.replace('e', 'x'))
      : Object.fromEntries(Object.entries(body).filter(([name]) => !/tier|speed|geo/i.test(name)))
    const usual = Number(estimate({ ...wanted, body: plain, headers: {} }).pico)
    expect(Number(estimate(wanted).pico) / usual).toBeCloseTo(factor, 1)
  })

  test('a prompt that is kept for an hour is reserved at what writing it costs, however it is asked for', () => {
    const messages = [{ role: 'user', content: '0123456789'.repeat(2_000) }]
    const inputPico = (text: string) => {
      const [most, none] = [text, text.replace('1h', '5m').replace('u00', 'u10')].map((body) =>
        Number(estimate({ ...ofClaude({}), body }).pico),
      )
      return (most ?? 0) / (none ?? 1)
    }
    const body = JSON.stringify({ model: CLAUDE, max_tokens: 1, messages })
    for (const ttl of ['1h', '\\u0031h', '1\\u0068']) {
      const kept = `"cache_control":{"type":"ephemeral","ttl":"${ttl}"}`
      // Twice the price of the prompt, against 1.25 times.
      expect(inputPico(body.replace('"role"', `${kept},"role"`))).toBeCloseTo(1.6, 2)
    }
    expect(inputPico(body)).toBe(1)
    const long = estimate({ ...ofClaude({}), body: body.replace('0123', '0'.repeat(300_000)) })
    expect(Number(long.pico) / Number(estimate({ ...ofClaude({}), body }).pico)).toBeGreaterThan(1.6 * 15)
  })

  test('a cheaper tier in other letters beside it changes nothing', () => {
    const rest = '"service_tier":"priority","max_tokens":9,"model":"gpt-4o"'
    const plain = estimate({ path: CHAT, body: `{"xervice_Tier":"flex",${rest}}` })
    expect(estimate({ path: CHAT, body: `{"Service_Tier":"flex",${rest}}` }).pico).toBe(plain.pico)
  })

  test('elements of prompts are counted in a pass that builds nothing, whatever their number', () => {
    const body = Buffer.from(`{"prompt":[${'"a",'.repeat(4_000_000)}"a"],"model":"gpt-4o-mini"}`)
    const before = process.memoryUsage().heapUsed
    const { asked } = scanRequestBody(body)
    expect(asked.countOf('prompt')).toBe(4_000_001)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20e6)
  })

  const others: [name: string, bounded: Asking, tokens: number][] = [
    [
      'Responses',
      { path: '/v1/responses', body: { model: 'gpt-4o-mini', input: 'Hi', max_output_tokens: 50 } },
      50,
    ],
    [
      'Anthropic',
      {
        provider: 'anthropic',
        path: '/v1/messages',
        body: { model: 'claude-sonnet-4-5', max_tokens: 50, messages: HELLO },
      },
      50,
    ],
    [
      'Gemini',
      {
        provider: 'gemini',
        path: '/v1beta/models/gemini-2.5-flash:generateContent',
        body: { contents: [], generationConfig: { maxOutputTokens: 25, candidateCount: 2 } },
      },
      50,
    ],
    [
      'Gemini in its other spelling',
      {
        provider: 'gemini',
        path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
        body: { contents: [], generation_config: { max_output_tokens: 50 } },
      },
      50,
    ],
    [
      'Bedrock',
      {
        provider: 'bedrock',
        path: '/model/anthropic.claude-3-haiku-20240307-v1:0/converse',
        body: { messages: [], inferenceConfig: { maxTokens: 50 } },
      },
      50,
    ],
    [
      'Ollama',
      {
        provider: 'ollama',
        path: '/api/chat',
        body: { model: 'llama3', messages: HELLO, options: { num_predict: 50 } },
      },
      50,
    ],
  ]

  test.each(others)('%s: its own bound holds', (_name, asking, tokens) => {
    const length = Buffer.byteLength(JSON.stringify(asking.body))
    expect(estimate(asking).tokens).toBe(Math.ceil(length / 2) + 16 + tokens)
  })
})

describe('what a prompt may have', () => {
  const chat = (content: unknown, rest = {}) => ({
    path: CHAT,
    body: { model: 'gpt-4o-mini', max_tokens: 1, messages: [{ role: 'user', content }], ...rest },
  })
  const tokensOf = (asking: Asking) => estimate(asking).tokens
  const base64 = (beginning: Buffer | string, bytes: number) =>
    Buffer.concat([Buffer.from(beginning), Buffer.alloc(bytes, 'tallygate')]).toString('base64')
  const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const around = tokensOf(chat('')) + 200

  test('text counts a token for two of its bytes', () => {
    expect(tokensOf(chat('word '.repeat(2_000)))).toBe(tokensOf(chat('')) + 5_000)
  })

  test('a picture of a megabyte counts as a picture, as a data URL or as base64 alone', () => {
    const picture = base64(PNG, 1_000_000)
    const asUrl = chat([{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }])
    const alone = chat([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
    ])
    for (const asking of [asUrl, alone]) {
      expect(tokensOf(asking)).toBeGreaterThan(50_000)
      expect(tokensOf(asking)).toBeLessThan(50_000 + around)
    }
  })

  test('sound counts by its length, and a document by its bytes up to a limit', () => {
    const sound = base64('ID3', 128_000)
    const heard = tokensOf(chat([{ type: 'input_audio', input_audio: { data: sound, format: 'mp3' } }]))
    expect(heard).toBeGreaterThan(sound.length / 128)
    expect(heard).toBeLessThan(sound.length / 128 + around)
    const pdf = base64('%PDF-1.7', 9_000_000)
    const read = tokensOf(chat([{ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }]))
    expect(read).toBeGreaterThan(200_000)
    expect(read).toBeLessThan(200_000 + around)
  })

  test('a picture at the top level of the body is one as well', () => {
    const body = { model: 'gpt-4o-mini', max_tokens: 1, image: base64(PNG, 100_000) }
    expect(tokensOf({ path: CHAT, body })).toBeLessThan(50_000 + around)
  })

  test('long words without a space in them are text where they have letters of text', () => {
    const text = `${'Straßenverkehrsordnung'.repeat(100)}`
    expect(tokensOf(chat(text))).toBeGreaterThan(Buffer.byteLength(text) / 2)
  })

  test('tools add what their servers say about them', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const said = Math.ceil(Buffer.byteLength(`,"tools":${JSON.stringify(tools)}`) / 2)
    expect(tokensOf(chat('', { tools }))).toBeGreaterThanOrEqual(tokensOf(chat('')) + said + 599)
  })
})

describe('what is billed by other than tokens', () => {
  const cost = (asking: Asking) => Number(estimate(asking).pico) / 1e12

  test('pictures by their number, size and quality', () => {
    const path = '/v1/images/generations'
    const ask = (rest: object) => ({ path, body: { model: 'dall-e-3', prompt: 'a cat', ...rest } })
    expect(cost(ask({}))).toBeCloseTo(0.04, 6)
    expect(cost(ask({ n: 3, size: '1792x1024' }))).toBeCloseTo(0.24, 6)
    expect(cost(ask({ quality: 'hd', size: '1024x1792' }))).toBeCloseTo(0.12, 6)
    const body = { model: 'qwen-image-2.0', input: { messages: [] }, parameters: { n: 3 } }
    const generation = '/api/v1/services/aigc/multimodal-generation/generation'
    expect(cost({ provider: 'alibaba', path: generation, body })).toBeCloseTo(3 * 0.035, 6)
    // GPT Image is paid by the token: some 6,200 of them at high quality.
    const gpt = cost({ path, body: { model: 'gpt-image-1', prompt: 'a cat', n: 2 } })
    expect(gpt).toBeGreaterThan(2 * 0.25)
    expect(gpt).toBeLessThan(2 * 0.4)
  })

  test.each([
    ['google/gemini-2.5-flash-image', 0.0387],
    ['google/gemini-3.1-flash-image-preview', 0.0672],
    ['google/gemini-3.1-flash-lite-image', 0.0336],
    ['google/gemini-3-pro-image-preview', 0.134],
    ['openai/gpt-5-image', 0.25],
    ['openai/gpt-5-image-mini', 0.052],
    ['openai/gpt-5.4-image-2', 0.211],
  ])('a picture of %s at OpenRouter, above what it costs', (model, usd) => {
    const picture = cost({ provider: 'openrouter', path: '/api/v1/images', body: { model, prompt: 'a cat' } })
    expect(picture).toBeGreaterThan(usd)
    expect(picture).toBeLessThan(8 * usd)
  })

  test('speech by its characters', () => {
    const input = 'Hello there. '.repeat(100)
    const spoken = { path: '/v1/audio/speech', body: { model: 'tts-1', input, voice: 'alloy' } }
    expect(cost(spoken)).toBeCloseTo((15 * input.length) / 1e6, 9)
  })

  test('a transcription by the length of its upload, above what a minute of MP3 costs', () => {
    const path = '/v1/audio/transcriptions'
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'content-length': '960000' }
    const admission = admitted({ path, headers })
    admission.body = { ...admission.body, scan: scanRequestBody(Buffer.from('{"model":"whisper-1"}')) }
    const pico = Number(open().estimateCall(admission).pico)
    expect(pico / 1e12).toBeGreaterThan(0.006)
    expect(pico / 1e12).toBeLessThan(0.1)
  })

  test('a transcription by the one model of its path, which nothing names', () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'content-length': '960000' }
    const { pico, tokens, isPriced } = estimate({ provider: 'xai', path: '/v1/stt', headers })
    expect(isPriced).toBe(true)
    // Eight minutes at the lowest bit rate, at 0.10 USD an hour.
    expect(Number(pico) / 1e12).toBeCloseTo((0.1 * 480) / 3_600, 6)
    expect(tokens).toBeLessThan(1_000)
  })

  test('films by their seconds, and longer ones than usual where the request does not say', () => {
    const said = { provider: 'openai' as const, path: '/v1/videos' }
    const eight = cost({ ...said, body: { model: 'sora-2', prompt: 'a cat', seconds: '8' } })
    expect(eight).toBeCloseTo(0.8, 6)
    expect(cost({ ...said, body: { model: 'sora-2', prompt: 'a cat' } })).toBeGreaterThan(eight)
  })

  test('embeddings cost their input and generate nothing', () => {
    const body = { model: 'text-embedding-3-small', input: 'word '.repeat(1_000) }
    const length = Buffer.byteLength(JSON.stringify(body))
    expect(estimate({ path: '/v1/embeddings', body }).tokens).toBe(Math.ceil(length / 2) + 16)
  })
})

describe('prices', () => {
  const HAIKU = { provider: 'anthropic', path: '/v1/messages' } as const

  test('a prompt may be written to the cache, which costs more than to read it', () => {
    const body = { model: 'claude-sonnet-4-5', max_tokens: 10, messages: HELLO }
    const prompt = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 2) + 16
    expect(estimate({ ...HAIKU, body }).pico).toBe(BigInt(prompt * 3_750_000 + 10 * 15_000_000))
  })

  test('a long prompt is at the price of long prompts', () => {
    const ask = (words: number) => ({
      provider: 'gemini' as const,
      path: '/v1beta/models/gemini-2.5-pro:generateContent',
      body: {
        contents: [{ parts: [{ text: 'word '.repeat(words) }] }],
        generationConfig: { maxOutputTokens: 1 },
      },
    })
    const short = estimate(ask(10_000))
    const long = estimate(ask(100_000))
    expect(Number(long.pico) / long.tokens).toBeGreaterThan((1.9 * Number(short.pico)) / short.tokens)
  })

  test('a service tier and the markup of a client are in it', () => {
    const body = { model: 'gpt-5', max_completion_tokens: 1_000, messages: HELLO }
    const usual = Number(estimate({ path: CHAT, body }).pico)
    const urgent = Number(estimate({ path: CHAT, body: { ...body, service_tier: 'priority' } }).pico)
    expect(urgent / usual).toBeGreaterThan(1.9)
    const catalog = buildCatalog({
      markups: [{ client: 'dear', upstream: null, from: null, factor: { digits: 2n, scale: 0 }, line: 1 }],
    })
    const dear = open(SETTINGS, catalog).estimateCall(admitted({ path: CHAT, body, client: 'dear' }))
    expect(Number(dear.pico) / usual).toBeCloseTo(2, 2)
  })

  test('they are those of the catalog that prices calls now', () => {
    let catalog = CATALOG
    const estimates = new CallEstimates(() => catalog, SETTINGS)
    const admission = admitted({ path: CHAT, body: { model: 'gpt-4o-mini', max_tokens: 9, messages: HELLO } })
    const before = estimates.estimateCall(admission).pico
    catalog = buildCatalog({ entries: { source: 'none@1', providers: new Map() } })
    expect(estimates.estimateCall(admission)).toMatchObject({ pico: 0n, isPriced: false })
    catalog = CATALOG
    expect(estimates.estimateCall(admission)).toMatchObject({ pico: before, isPriced: true })
  })
})

describe('a call without a price', () => {
  const NAMED = { model: 'unlisted', messages: HELLO }

  test.each<[string, Asking, boolean]>([
    ['a model that no list has', { path: CHAT, body: NAMED }, false],
    ['no model', { path: CHAT, body: { messages: HELLO } }, false],
    ['a model with a price', { path: CHAT, body: { ...NAMED, model: 'gpt-4o' } }, true],
    ['two models', { path: CHAT, body: '{"model":"gpt-4o","model":"unlisted"}' }, false],
    ['other models beside it', { path: CHAT, body: { ...NAMED, model: 'gpt-4o', models: ['x'] } }, false],
    [
      'a query that names another model, which LiteLLM runs',
      { provider: 'openai', path: `${CHAT}?model=unlisted`, body: { ...NAMED, model: 'gpt-4o' } },
      false,
    ],
    [
      'a query that names the same model',
      { path: `${CHAT}?model=gpt-4o`, body: { ...NAMED, model: 'gpt-4o' } },
      true,
    ],
    [
      'settings of LiteLLM that let another run',
      { path: CHAT, body: { ...NAMED, model: 'gpt-4o', router_settings_override: {} } },
      false,
    ],
    [
      'a model beside the request that has the one that runs',
      {
        provider: 'perplexity',
        path: '/v1/async/sonar',
        body: { model: 'sonar', request: { model: 'sonar-deep-research' } },
      },
      false,
    ],
    ['a body that is not JSON', { path: CHAT, body: '{"model":"gpt-4o"} {"model":"x"}' }, false],
    ['an unread path', { path: '/v1/unread', body: NAMED }, false],
    [
      'a session on an unread path, of a model with a price',
      { method: 'GET', webSocket: true, path: '/v1/realtime/translations?model=gpt-realtime' },
      false,
    ],
    ['a server of one’s own', { provider: 'vllm', path: CHAT, body: { ...NAMED, model: 'gpt-4o' } }, false],
    ['a list of files', { method: 'GET', path: '/v1/files' }, true],
    ['a response that is fetched', { method: 'GET', path: '/v1/responses/resp_1' }, true],
    ['a moderation, which is free', { path: '/v1/moderations', body: { input: 'Hi' } }, true],
    ['a batch', { path: '/v1/batches', body: { input_file_id: 'file-1' } }, true],
    [
      'a session of a model with a price',
      { method: 'GET', webSocket: true, path: '/v1/realtime?model=gpt-realtime' },
      true,
    ],
    [
      'a session that names its model in messages, and one with a price in its query',
      { method: 'GET', webSocket: true, path: '/v1/responses?model=gpt-4o' },
      false,
    ],
    ['a session that names no model', { method: 'GET', webSocket: true, path: '/v1/realtime' }, false],
  ])('%s', (_name, asking, isPriced) => {
    expect(estimate(asking).isPriced).toBe(isPriced)
  })

  test('an upstream whose reported cost is believed gives every model a price', () => {
    const catalog = buildCatalog({ trustedUpstreams: ['upstream'] })
    const asking = { provider: 'openrouter', path: '/api/v1/chat/completions', body: NAMED } as const
    expect(open(SETTINGS, catalog).estimateCall(admitted(asking))).toMatchObject({
      pico: 1n,
      isPriced: true,
    })
  })

  test.each<[string, Asking]>([
    ['a call that names no model', { path: CHAT, body: { messages: HELLO } }],
    ['a session that names it later', { method: 'GET', webSocket: true, path: '/v1/realtime' }],
    ['speech by no model', { path: '/v1/audio/speech', body: { input: 'Hi' } }],
  ])('%s costs something, so that a spent budget refuses it', (_name, asking) => {
    expect(estimate(asking).pico).toBe(1n)
  })

  test('what runs no model costs nothing, and a batch what the configuration says', () => {
    expect(estimate({ method: 'GET', path: '/v1/files' })).toMatchObject({ pico: 0n, tokens: 0 })
    const batch = { path: '/v1/batches', body: { input_file_id: 'file-1' } }
    expect(estimate(batch)).toMatchObject({ pico: 1_000_000_000_000n, tokens: 0 })
  })
})

describe('what earlier calls turned out to use', () => {
  const asking = { path: CHAT, body: { model: 'gpt-4o-mini', messages: HELLO } }
  const bounded = { path: CHAT, body: { ...asking.body, max_tokens: 100 } }
  const used = (outputTokens: number, costPico: bigint | null) => ({
    usage: { ...NO_USAGE, outputTokens },
    costPico: costPico === null ? null : `${costPico}`,
    reportedModel: null,
  })
  const SHOWN = { showsPrompt: () => true }
  const HIDDEN = { showsPrompt: () => false }

  test('long answers make the next ones longer, of this client and model alone, and no bound is passed', () => {
    const estimates = open()
    const first = estimates.estimateCall(admitted(asking))
    first.learn(used(10_000, first.pico), SHOWN)
    expect(estimates.estimateCall(admitted(asking)).tokens).toBe(first.tokens - 4_096 + 20_000)
    expect(estimates.estimateCall(admitted({ ...asking, client: 'other' })).tokens).toBe(first.tokens)
    expect(estimates.estimateCall(admitted(bounded)).pico).toBe(open().estimateCall(admitted(bounded)).pico)
  })

  test('a call that cost more than its estimate raises the next one, until they cost less again', () => {
    const estimates = open()
    const first = estimates.estimateCall(admitted(bounded))
    first.learn(used(100, 3n * first.pico), SHOWN)
    const raised = estimates.estimateCall(admitted(bounded))
    expect(Number(raised.pico) / Number(first.pico)).toBeCloseTo(3, 6)
    for (let call = 0; call < 60; call++) first.learn(used(10, first.pico / 4n), SHOWN)
    const lowered = estimates.estimateCall(admitted(bounded))
    expect(Number(lowered.pico) / Number(first.pico)).toBeCloseTo(1, 2)
  })

  test.each([
    { tools: [{ type: 'web_search' }] },
    { previous_response_id: 'resp_1' },
    { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a.test/b.pdf' }] }] },
  ])('what a call with %j cost above its estimate is believed of such calls alone', (more) => {
    const estimates = open()
    const plain = { path: '/v1/responses', body: { model: 'gpt-4.1', input: 'Hi', max_output_tokens: 50 } }
    const searching = { ...plain, body: { ...plain.body, ...more } }
    const before = estimates.estimateCall(admitted(plain))
    const first = estimates.estimateCall(admitted(searching))
    first.learn(used(10_000, 45n * first.pico), HIDDEN)
    expect(estimates.estimateCall(admitted(plain))).toMatchObject({
      pico: before.pico,
      tokens: before.tokens,
    })
    const raised = estimates.estimateCall(admitted(searching))
    expect(Number(raised.pico) / Number(first.pico)).toBeCloseTo(45, 6)
    before.learn(used(10_000, 9n * before.pico), SHOWN)
    expect(estimates.estimateCall(admitted(searching)).pico).toBe(raised.pico)
  })

  test('a prompt that is longer than its body shows makes the next one count as long', () => {
    const estimates = open()
    const first = estimates.estimateCall(admitted(bounded))
    first.learn({ ...used(100, 1n), usage: { ...NO_USAGE, inputTokens: 9_000, outputTokens: 100 } }, SHOWN)
    expect(estimates.estimateCall(admitted(bounded)).tokens).toBeGreaterThanOrEqual(9_100)
  })

  test('calls without a cost, and without a price, teach nothing of prices', () => {
    const estimates = open()
    const first = estimates.estimateCall(admitted(bounded))
    first.learn(used(50_000, null), SHOWN)
    first.learn(used(50_000, 0n), SHOWN)
    expect(estimates.estimateCall(admitted(bounded)).pico).toBe(first.pico)
  })

  test('where only the upstream knows the cost, twice the average is what the next one may cost', () => {
    const catalog = buildCatalog({ trustedUpstreams: ['upstream'] })
    const estimates = open(SETTINGS, catalog)
    const body = { model: 'unlisted', messages: HELLO }
    const call = admitted({ provider: 'openrouter', path: '/api/v1/chat/completions', body })
    estimates.estimateCall(call).learn(used(100, 5_000_000n), SHOWN)
    expect(estimates.estimateCall(call).pico).toBe(10_000_000n)
  })
})
