import { describe, expect, test } from 'vitest'
import type { Observation } from '../../src/call/observation.ts'
import { canonicalPath } from '../../src/domain/canonical-path.ts'
import { readRequestFields } from '../../src/gateway/proxy/prepare-body.ts'
import type { JsonObject } from '../../src/providers/reading/json-value.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { selectDialect } from '../../src/providers/registry.ts'

interface Exchange {
  readonly provider: Provider
  readonly path: string
  readonly method?: 'GET' | 'POST'
  readonly model?: string
  /** Left out: none was read. */
  readonly request?: string | object
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly answer?: string | object
}

/** What the answer of an endpoint tells, together with its request. */
function observe({ provider, path, method = 'POST', model, request, ...answered }: Exchange): Observation {
  const canonical = canonicalPath(path) ?? path
  const dialect = selectDialect(provider, method, canonical)
  if (dialect === null) throw new Error(`nothing is metered at ${provider} ${path}`)
  let fields: JsonObject | null = null
  if (request !== undefined && dialect.requestProjection !== undefined) {
    const body = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request))
    const take = (read: JsonObject | null | 'gone') => {
      fields = read === 'gone' ? null : read
    }
    readRequestFields('client', body, dialect.requestProjection, () => true, take)
  }
  const { status = 200, headers = { 'content-type': 'application/json' }, answer = {} } = answered
  const context = { method, path: canonical, model: model ?? null, stream: null, fields }
  const reader = dialect.createReader(context, { status, headers })
  reader.push(Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)))
  return reader.end()
}

/** The counts that are there, beside the model and the tier where they are reported. */
function readRequest(exchange: Exchange): Record<string, unknown> {
  const { units, model, serviceTier } = observe(exchange)
  const counts = Object.entries(units).filter(([, count]) => count !== null)
  return {
    ...Object.fromEntries(counts),
    ...(model === null ? {} : { model }),
    ...(serviceTier === null ? {} : { serviceTier }),
  }
}

const AUDIO = { 'content-type': 'audio/mpeg' }
const SPEECH = { provider: 'openai', path: '/v1/audio/speech', headers: AUDIO, answer: 'ID3' } as const
const VEO = {
  provider: 'gemini',
  path: '/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
  answer: { name: 'operations/1' },
} as const
const CANVAS = { provider: 'bedrock', path: '/model/amazon.nova-canvas-v1%3A0/invoke' } as const
const ASYNC = {
  provider: 'bedrock',
  path: '/async-invoke',
  answer: { invocationArn: 'arn:aws:bedrock:us-east-1:1:async-invoke/1' },
} as const
const DALLE = {
  provider: 'openai',
  path: '/v1/images/generations',
  model: 'dall-e-3',
  answer: { created: 1, data: [{ url: 'u' }, { url: 'v' }] },
} as const
const RERANK = {
  provider: 'bedrock',
  path: '/model/cohere.rerank-v3-5:0/invoke',
  answer: { results: [{ index: 0, relevance_score: 0.9 }] },
} as const

describe('speech is counted by the characters of its request', () => {
  test('speech is counted by its characters, whatever bytes a character takes', () => {
    expect(readRequest({ ...SPEECH, request: { model: 'tts-1', input: 'aé語😀' } })).toEqual({
      characters: 4,
    })
  })

  test('speech at ElevenLabs is counted as its answer says, else as the request does', () => {
    const call = {
      provider: 'openai-compatible',
      path: '/v1/text-to-speech/v/stream',
      answer: 'ID3',
    } as const
    const request = { text: 'Hello', model_id: 'eleven_flash_v2_5' }
    expect(readRequest({ ...call, request, headers: { ...AUDIO, 'character-cost': '3' } })).toEqual({
      characters: 3,
      model: 'eleven_flash_v2_5',
    })
    const blank = { ...AUDIO, 'character-cost': '' }
    expect(readRequest({ ...call, request, headers: blank })).toMatchObject({ characters: 5 })
    expect(readRequest({ ...call, request: { text: 'Hello' }, headers: AUDIO })).toEqual({
      characters: 5,
      model: 'eleven_multilingual_v2',
    })
  })

  test('the characters of speech count beside the tokens that a stream of events reports', () => {
    const answer =
      'data: {"type":"speech.audio.done","usage":{"input_tokens":5,"output_tokens":90,"total_tokens":95}}\n\n'
    const headers = { 'content-type': 'text/event-stream' }
    const observed = observe({ ...SPEECH, headers, answer, request: { input: 'Hello' } })
    expect(observed).toMatchObject({ usageSource: 'reported', usage: { inputTokens: 5, outputTokens: 90 } })
  })

  test('speech has no characters where the text is not a string, too long to be kept, or given twice', () => {
    for (const request of [
      { input: 7 },
      { input: 'a'.repeat(70_000) },
      '{"input":"a","input":"aaaaaaaaa"}',
      {},
    ]) {
      expect(readRequest({ ...SPEECH, request })).toEqual({})
    }
    expect(readRequest(SPEECH)).toEqual({})
  })

  test('speech has no characters where the answer has no speech', () => {
    const request = { input: 'Hello' }
    expect(readRequest({ ...SPEECH, request, status: 400, answer: { error: { message: 'no' } } })).toEqual({})
    const json = { 'content-type': 'application/json' }
    expect(readRequest({ ...SPEECH, request, headers: json, answer: { error: { message: 'no' } } })).toEqual(
      {},
    )
  })
})

describe('films are counted by their seconds', () => {
  test('a film is counted as OpenAI’s job says, whatever was asked for', () => {
    const answer = { id: 'video_1', model: 'sora-2-pro', seconds: '12', size: '1792x1024', status: 'queued' }
    const call = { provider: 'openai', path: '/v1/videos', answer } as const
    const expected = { videoMs: 12_000, model: 'sora-2-pro', serviceTier: '1024p' }
    expect(readRequest({ ...call, request: { seconds: '4' } })).toEqual(expected)
    expect(readRequest(call)).toEqual(expected)
    expect(observe(call)).toMatchObject({ responseId: 'video_1', pending: false })
    expect(readRequest({ ...call, path: '/v1/videos/video_0/remix' })).toEqual(expected)
  })

  test('an OpenAI film job that is refused in its answer counts nothing', () => {
    const answer = { id: 'video_1', error: { code: 'moderation_blocked', message: 'no' } }
    expect(
      readRequest({ provider: 'openai', path: '/v1/videos', answer, request: { seconds: '8' } }),
    ).toEqual({})
  })

  test('a job of Azure’s first Sora counts its seconds times its variants', () => {
    const path = '/openai/v1/video/generations/jobs'
    const request = { model: 'sora', n_seconds: 5, n_variants: 2, width: 480, height: 480 }
    expect(
      readRequest({ provider: 'azure-openai', path, request, answer: { id: 't', model: 'sora' } }),
    ).toEqual({
      videoMs: 10_000,
      model: 'sora',
      serviceTier: '480p',
    })
  })

  test.each<[object, Record<string, unknown>]>([
    [{ instances: [{ prompt: 'p' }] }, { videoMs: 8_000 }],
    [{ instances: [{ prompt: 'p' }], parameters: { durationSeconds: '4' } }, { videoMs: 4_000 }],
    [
      { instances: [{}], parameters: { durationSeconds: 6, sampleCount: 4, resolution: '4k' } },
      { videoMs: 24_000, serviceTier: '4k' },
    ],
    [
      { instances: [{}], parameters: { generateAudio: false, resolution: '1080p' } },
      { videoMs: 8_000, serviceTier: '1080p_no_audio' },
    ],
    [{ instances: [{ prompt: 'p', video: { uri: 'u' } }] }, {}],
    [{ instances: [{}], parameters: { durationSeconds: 'long' } }, {}],
  ])('a film at Google is counted as the request has it: %j', (request, expected) => {
    expect(readRequest({ ...VEO, request })).toEqual(expected)
  })

  test.each([
    // None asks for no film; a reader that takes zero for unsaid makes the usual one.
    { durationSeconds: 0 },
    { durationSeconds: '0s' },
    { sampleCount: 0 },
    // Which of two words for the same counts is the reader's affair.
    { sampleCount: 1, numberOfVideos: 4 },
    { durationSeconds: 4, duration_seconds: 8 },
    { sample_count: 4 },
    { number_of_videos: 4 },
  ])('a film at Google counts nothing where the request leaves its seconds in doubt: %j', (parameters) => {
    expect(readRequest({ ...VEO, request: { instances: [{}], parameters } })).toEqual({})
  })

  test.each([
    { resolution: 1080 },
    { resolution: 'auto' },
    { resolution: ['4k'] },
    { generate_audio: false },
  ])('a film at Google is counted at no size where the request leaves it in doubt: %j', (parameters) => {
    const expected = { videoMs: 8_000, serviceTier: 'unknown_size' }
    expect(readRequest({ ...VEO, request: { instances: [{}], parameters } })).toEqual(expected)
  })

  test.each<[object | string, object]>([
    ['{"size":"720x1280","size":"1792x1024"}', { seconds: '8' }],
    [{ size: '1792X1024' }, { seconds: '8' }],
    [{ size: 1080 }, { seconds: '8' }],
    [{}, { seconds: '8', size: 'large' }],
  ])('a film at OpenAI is counted at no size where neither side says a known one: %j', (request, answer) => {
    const call = { provider: 'openai', path: '/v1/videos' } as const
    expect(readRequest({ ...call, request, answer })).toEqual({ videoMs: 8_000, serviceTier: 'unknown_size' })
  })

  test('a film at Bedrock is counted by its shots only where it consists of shots', () => {
    const film = (modelInput: object) =>
      readRequest({ ...ASYNC, request: { modelId: 'amazon.nova-reel-v1:1', modelInput } })
    const model = 'amazon.nova-reel-v1:1'
    const shots = { multiShotManualParams: { shots: [{}] } }
    const longer = { videoGenerationConfig: { durationSeconds: 120 } }
    expect(film({ taskType: 'MULTI_SHOT_AUTOMATED', ...shots, ...longer })).toEqual({
      model,
      videoMs: 120_000,
    })
    expect(film({ taskType: 'MULTI_SHOT_MANUAL', multiShotManualParams: { shots: [] } })).toEqual({ model })
    expect(film({ taskType: 'TEXT_VIDEO', videoGenerationConfig: { durationSeconds: 0 } })).toEqual({ model })
  })

  test('a film at Google is counted under the operation’s name, and not for unknown models', () => {
    expect(observe({ ...VEO, request: { instances: [{}] } }).responseId).toBe('operations/1')
    const path = '/v1/projects/p/locations/l/publishers/google/models/other-1:predictLongRunning'
    expect(
      readRequest({ provider: 'vertex', path, request: { instances: [{}] }, answer: { name: 'o' } }),
    ).toEqual({})
  })

  test('a film at xAI is counted when its job is found done, with the cost that it says', () => {
    const created = observe({
      provider: 'xai',
      path: '/v1/videos/generations',
      request: { duration: 6 },
      answer: { request_id: 'r-1' },
    })
    expect(created).toMatchObject({ pending: true, responseId: 'r-1' })
    const fetch = { provider: 'xai', method: 'GET', path: '/v1/videos/r-1' } as const
    expect(observe({ ...fetch, answer: { status: 'pending' } })).toMatchObject({
      pending: true,
      responseId: 'r-1',
    })
    const answer = {
      status: 'done',
      video: { duration: 6, url: 'u' },
      model: 'grok-imagine-video',
      usage: { cost_in_usd_ticks: 3_000_000_000 },
    }
    expect(observe({ ...fetch, answer })).toMatchObject({
      pending: false,
      responseId: 'r-1',
      model: 'grok-imagine-video',
      units: { videoMs: 6_000 },
      reportedCostPico: 300_000_000_000n,
    })
    expect(observe({ ...fetch, answer: { status: 'failed' } })).toMatchObject({
      failed: true,
      pending: false,
    })
  })

  test.each<[object, Record<string, unknown>]>([
    [
      {
        modelId: 'amazon.nova-reel-v1:0',
        modelInput: { taskType: 'TEXT_VIDEO', videoGenerationConfig: { durationSeconds: 6 } },
      },
      { videoMs: 6_000, model: 'amazon.nova-reel-v1:0' },
    ],
    [
      {
        modelId: 'arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-reel-v1:1',
        modelInput: { taskType: 'MULTI_SHOT_MANUAL', multiShotManualParams: { shots: [{}, {}, {}] } },
      },
      { videoMs: 18_000, model: 'amazon.nova-reel-v1:1' },
    ],
    [
      { modelId: 'luma.ray-v2:0', modelInput: { prompt: 'p', duration: '5s', resolution: '540p' } },
      { videoMs: 5_000, model: 'luma.ray-v2:0', serviceTier: '540p' },
    ],
    [{ modelId: 'twelvelabs.marengo-made', modelInput: {} }, { model: 'twelvelabs.marengo-made' }],
  ])('a film at Bedrock is counted as the request has it: %j', (request, expected) => {
    expect(readRequest({ ...ASYNC, request })).toEqual(expected)
  })
})

describe('pictures are counted as they come', () => {
  test.each<[object, Record<string, unknown>]>([
    [{}, { images: 2 }],
    [{ size: '1024x1024', quality: 'standard' }, { images: 2 }],
    [{ size: '1024x1792' }, { images: 2, serviceTier: '1024x1792' }],
    [{ quality: 'hd' }, { images: 2, serviceTier: 'hd_1024x1024' }],
    [
      { size: '1792x1024', quality: 'hd' },
      { images: 2, serviceTier: 'hd_1792x1024' },
    ],
  ])('pictures of DALL-E are counted at the size and quality of the request: %j', (request, expected) => {
    expect(readRequest({ ...DALLE, request })).toEqual(expected)
  })

  test('pictures of DALL-E without a known size are counted at none, those of other models never at one', () => {
    expect(readRequest({ ...DALLE, path: '/v1/images/edits' })).toEqual({
      images: 2,
      serviceTier: 'unknown_size',
    })
    expect(readRequest({ ...DALLE, request: '{"size":"256x256","size":"1792x1024"}' })).toEqual({
      images: 2,
      serviceTier: 'unknown_size',
    })
    expect(
      readRequest({ ...DALLE, model: 'gpt-image-1', request: { size: '1536x1024', quality: 'high' } }),
    ).toEqual({
      images: 2,
    })
  })

  test.each<[object | undefined, Record<string, unknown>]>([
    [undefined, { images: 1 }],
    [{ imageGenerationConfig: { width: 1024, height: 1024, quality: 'standard' } }, { images: 1 }],
    [{ imageGenerationConfig: { quality: 'premium' } }, { images: 1, serviceTier: 'premium' }],
    [
      { imageGenerationConfig: { width: 2048, height: 512, quality: 'premium' } },
      { images: 1, serviceTier: 'premium_2048' },
    ],
  ])('pictures of Nova Canvas are counted at the size and quality of the request: %j', (config, expected) => {
    const request = { taskType: 'TEXT_IMAGE', ...config }
    expect(readRequest({ ...CANVAS, request, answer: { images: ['AA'] } })).toEqual(expected)
  })

  test.each([
    '{"imageGenerationConfig":{"quality":"standard","quality":"premium"}}',
    '{"imageGenerationConfig":{},"imageGenerationConfig":{"quality":"premium"}}',
    { imageGenerationConfig: { width: '2048', height: '2048' } },
    { imageGenerationConfig: { quality: ['premium'] } },
    { imageGenerationConfig: { quality: 'Premium' } },
    { taskType: 'OUTPAINTING', imageGenerationConfig: { numberOfImages: 1 } },
    { taskType: 'BACKGROUND_REMOVAL' },
  ])('pictures of Nova Canvas are counted at no size where the request leaves it in doubt: %j', (request) => {
    expect(readRequest({ ...CANVAS, request, answer: { images: ['AA'] } })).toEqual({
      images: 1,
      serviceTier: 'unknown_size',
    })
  })

  test.each([
    { size: 256 },
    { size: 'auto' },
    { quality: 3 },
    { quality: 'HD' },
  ])('pictures of DALL-E are counted at no size where the request leaves it in doubt: %j', (request) => {
    expect(readRequest({ ...DALLE, request })).toEqual({ images: 2, serviceTier: 'unknown_size' })
  })

  test('pictures of Stability are counted less those that its filter kept back', () => {
    const path = '/model/us.stability.stable-image-inpaint-v1%3A0/invoke'
    const answer = { seeds: [1, 2], finish_reasons: [null, 'Filter reason: prompt'], images: ['AA', ''] }
    expect(readRequest({ provider: 'bedrock', path, request: { prompt: 'p' }, answer })).toEqual({
      images: 1,
    })
  })

  test('pictures of a Bedrock profile are counted although its name does not say that it draws', () => {
    const path = '/model/arn:aws:bedrock:us-east-1:1:application-inference-profile%2Fmade/invoke'
    expect(readRequest({ provider: 'bedrock', path, answer: { images: ['AA', 'BB'] } })).toEqual({
      images: 2,
    })
  })

  test('pictures of a Fireworks workflow are counted by its steps', () => {
    const path = '/inference/v1/workflows/accounts/fireworks/models/flux-1-schnell-fp8/text_to_image'
    const call = {
      provider: 'fireworks',
      path,
      headers: { 'content-type': 'image/jpeg' },
      answer: 'JFIF',
    } as const
    expect(readRequest({ ...call, request: { prompt: 'p' } })).toEqual({ images: 1, serviceTier: '4_steps' })
    expect(readRequest({ ...call, request: { num_inference_steps: 8 } })).toEqual({
      images: 1,
      serviceTier: '8_steps',
    })
    expect(readRequest({ ...call, request: { num_inference_steps: -1 } })).toEqual({
      images: 1,
      serviceTier: 'unknown_steps',
    })
  })
})

describe('rankings are counted by the hundred documents', () => {
  test.each<[number, number, number]>([
    [1, 10, 1],
    [100, 10, 1],
    [101, 10, 2],
    [1_000, 10, 10],
    [20, 12_000, 2],
  ])('%i documents of %i characters are as many rankings as %i', (count, length, searchUnits) => {
    const documents = Array.from({ length: count }, () => 'd'.repeat(length))
    expect(readRequest({ ...RERANK, request: { query: 'q', documents } })).toEqual({ searchUnits })
  })

  test('rankings are counted by what the answer bills, where it says that', () => {
    const answer = { results: [], meta: { billed_units: { search_units: 3 } } }
    expect(readRequest({ ...RERANK, answer, request: { query: 'q', documents: ['a'] } })).toEqual({
      searchUnits: 3,
    })
  })

  test('rankings are not counted where the documents could not be counted', () => {
    const documents = Array.from({ length: 2_000 }, () => 'd')
    for (const request of [{ documents }, { query: 'q' }, { documents: 'one' }]) {
      expect(readRequest({ ...RERANK, request })).toEqual({})
    }
  })

  test('rankings at Bedrock’s own path and at Google’s are counted with the model of the body', () => {
    const modelArn = 'arn:aws:bedrock:us-west-2::foundation-model/amazon.rerank-v1:0'
    const request = {
      queries: [{ type: 'TEXT', textQuery: { text: 'q' } }],
      sources: [{ type: 'INLINE' }],
      rerankingConfiguration: { bedrockRerankingConfiguration: { modelConfiguration: { modelArn } } },
    }
    expect(readRequest({ provider: 'bedrock', path: '/rerank', request, answer: { results: [] } })).toEqual({
      searchUnits: 1,
      model: 'amazon.rerank-v1:0',
    })
    const path = '/v1/projects/p/locations/global/rankingConfigs/default_ranking_config:rank'
    const records = Array.from({ length: 150 }, (_, id) => ({ id: `${id}`, content: 'c'.repeat(900) }))
    expect(
      readRequest({ provider: 'vertex', path, request: { query: 'q', records }, answer: { records: [] } }),
    ).toEqual({
      searchUnits: 2,
      model: 'semantic-ranker-default@latest',
    })
  })
})

describe('services that run no model are counted under names of ours', () => {
  test('a container is counted by its memory', () => {
    const call = { provider: 'openai', path: '/v1/containers', answer: { id: 'cntr_1' } } as const
    expect(readRequest({ ...call, request: { name: 'c' } })).toEqual({ codeRuns: 1, model: 'container' })
    expect(readRequest({ ...call, request: { memory_limit: '4g' } })).toEqual({
      codeRuns: 4,
      model: 'container',
    })
    const answer = { id: 'cntr_1', memory_limit: '16g' }
    expect(readRequest({ ...call, answer, request: {} })).toEqual({ codeRuns: 16, model: 'container' })
    expect(readRequest({ ...call, request: { memory_limit: 'all' } })).toEqual({ model: 'container' })
  })

  test('a list of containers is not counted as one', () => {
    expect(
      readRequest({ provider: 'openai', path: '/v1/containers', answer: { data: [{ id: 'cntr_1' }] } }),
    ).toEqual({})
  })

  test('a search of a vector store and of the web is counted', () => {
    const found = { answer: { data: [] }, request: { query: 'q' } }
    expect(readRequest({ provider: 'openai', path: '/v1/vector_stores/vs_1/search', ...found })).toEqual({
      fileSearches: 1,
      model: 'vector-store-search',
    })
    expect(readRequest({ provider: 'perplexity', path: '/search', ...found })).toEqual({
      webSearches: 1,
      model: 'search',
    })
  })

  test('a cache of Gemini is counted by what was written to it, and its storage has no price', () => {
    const answer = {
      name: 'cachedContents/1',
      model: 'models/gemini-2.5-pro',
      usageMetadata: { totalTokenCount: 100_000 },
    }
    expect(observe({ provider: 'gemini', path: '/v1beta/cachedContents', answer })).toMatchObject({
      usageSource: 'reported',
      model: 'gemini-2.5-pro',
      usage: { inputTokens: 100_000, cacheWriteTokens: 100_000, outputTokens: 0 },
      units: { otherToolCalls: 1 },
    })
  })

  test('pages of Mistral are counted, and those that were annotated', () => {
    const call = { provider: 'mistral', path: '/v1/ocr' } as const
    const info = (extra = {}) => ({ model: 'mistral-ocr-2512', usage_info: { pages_processed: 3, ...extra } })
    const model = 'mistral-ocr-2512'
    expect(readRequest({ ...call, answer: info(), request: {} })).toEqual({ model, pages: 3 })
    const asked = { document_annotation_format: { type: 'json_schema' }, bbox_annotation_format: null }
    expect(readRequest({ ...call, answer: info(), request: asked })).toEqual({
      model,
      pages: 3,
      annotatedPages: 3,
    })
    expect(readRequest({ ...call, answer: info({ pages_processed_annotation: 2 }), request: asked })).toEqual(
      {
        model,
        pages: 3,
        annotatedPages: 2,
      },
    )
    const twice = '{"bbox_annotation_format":{"type":"json_schema"},"bbox_annotation_format":null}'
    expect(readRequest({ ...call, answer: info(), request: twice })).toEqual({
      model,
      pages: 3,
      otherToolCalls: 1,
    })
    const answer = info({ pages_processed_annotation: 2 })
    expect(readRequest({ ...call, answer, request: twice })).toEqual({ model, pages: 3, annotatedPages: 2 })
  })
})
