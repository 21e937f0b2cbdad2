import { asJson, type Exchange, type NotAsked } from './exchange.ts'
import type { PriceCase } from './price-cases.ts'

const AUDIO = Buffer.alloc(1_000, 0xff)
const BOUNDARY = 'x-bench-prices'
const TOKEN_CLASSES: readonly string[] = [
  'input',
  'output',
  'cacheRead',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
]

/** Pictures, sound, film, pages and rerankers; `null`: asked for as text. */
export function mediaCall(priceCase: PriceCase): Exchange | NotAsked | null {
  const { provider, kind, class: wanted, model, use, tier } = priceCase
  const isTokens = use.inputTokens > 0 || use.outputTokens > 0
  if (isTokens && ['gemini', 'vertex', 'openrouter', 'bedrock'].includes(provider)) return null
  if (tier !== '') return { why: `calls for ${kind} tell no tier ${tier}` }
  if (wanted === 'searchUnit') {
    if (provider === 'cohere') return null
    return provider === 'bedrock' ? rerankOfBedrock(priceCase) : rerank(priceCase)
  }
  if (wanted === 'page') {
    return asJson(
      '/v1/ocr',
      { model, document: { type: 'document_url', document_url: 'https://example.com/1.pdf' } },
      { model, pages: [], usage_info: { pages_processed: use.count, doc_size_bytes: 1 } },
    )
  }
  if (wanted === 'character') {
    return {
      ...asJson(speechPath(provider), { model, voice: 'v', input: 'a'.repeat(use.count) }, {}),
      ...sound(),
    }
  }
  if (wanted === 'videoSecond') return video(priceCase)
  if (wanted === 'image') return image(priceCase)
  if (wanted === 'audioSecond') return transcription(priceCase, { type: 'duration', seconds: use.count })
  if (!TOKEN_CLASSES.includes(wanted)) return { why: `calls for ${kind} tell no ${wanted}` }
  const usage = {
    type: 'tokens',
    input_tokens: use.inputTokens,
    input_tokens_details: {
      ...(wanted === 'imageInput' ? { image_tokens: use.count } : {}),
      ...(wanted === 'audioInput' ? { audio_tokens: use.count } : {}),
      ...(wanted === 'cacheRead' ? { cached_tokens: use.count } : {}),
    },
    output_tokens: use.outputTokens,
    output_tokens_details: {
      ...(wanted === 'imageOutput' ? { image_tokens: use.count } : {}),
      ...(wanted === 'audioOutput' ? { audio_tokens: use.count } : {}),
    },
    total_tokens: use.inputTokens + use.outputTokens,
  }
  if (kind === 'image') return asJson('/v1/images/generations', { model, prompt: 'q' }, { data: [], usage })
  if (kind === 'transcription') return transcription(priceCase, usage)
  if (kind === 'speech') {
    const events = `data: ${JSON.stringify({ type: 'speech.audio.done', usage })}\n\n`
    return {
      ...asJson(speechPath(provider), { model, voice: 'v', input: 'q', stream_format: 'sse' }, {}),
      answer: { headers: { 'content-type': 'text/event-stream' }, body: events },
    }
  }
  return null
}

function speechPath(provider: string): string {
  return provider === 'groq' ? '/openai/v1/audio/speech' : '/v1/audio/speech'
}

function sound(): Pick<Exchange, 'answer'> {
  return { answer: { headers: { 'content-type': 'audio/mpeg' }, body: AUDIO } }
}

function transcription({ provider, model }: PriceCase, usage: object): Exchange | NotAsked {
  if (provider === 'vertex' || provider === 'gemini')
    return { why: 'Google has no transcriptions of its own' }
  const part = (name: string, value: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const isMistral = provider === 'mistral'
  const seconds = { ...usage } as { readonly seconds?: number }
  const reported = isMistral
    ? { prompt_audio_seconds: seconds.seconds, prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 }
    : usage
  const answer = { text: 'a', ...(isMistral ? { model } : {}), usage: reported }
  return {
    ...asJson(
      provider === 'groq' ? '/openai/v1/audio/transcriptions' : '/v1/audio/transcriptions',
      {},
      answer,
    ),
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    body: `${part('model', model)}--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\ncontent-type: audio/mpeg\r\n\r\nxx\r\n--${BOUNDARY}--\r\n`,
  }
}

function image({ provider, model, use }: PriceCase): Exchange | NotAsked {
  const pictures = Array.from({ length: use.count }, () => ({ b64_json: 'AA==' }))
  if (provider === 'gemini' || provider === 'vertex') {
    const base = provider === 'gemini' ? '/v1beta' : '/v1/projects/p/locations/global/publishers/google'
    const predictions = pictures.map(() => ({ mimeType: 'image/png', bytesBase64Encoded: 'AA==' }))
    if (!model.startsWith('imagen')) return { why: 'this picture is billed by its tokens' }
    return asJson(`${base}/models/${model}:predict`, { instances: [{ prompt: 'q' }] }, { predictions })
  }
  if (provider === 'bedrock') {
    const images = pictures.map(() => 'AA==')
    return asJson(
      `/model/${encodeURIComponent(model)}/invoke`,
      { prompt: 'q', taskType: 'TEXT_IMAGE' },
      { images },
    )
  }
  if (provider === 'fireworks') return { why: 'a picture is so many steps there' }
  return asJson(
    '/v1/images/generations',
    { model, prompt: 'q', n: use.count },
    { created: 1, data: pictures },
  )
}

function video({ provider, model, use }: PriceCase): Exchange | NotAsked {
  const seconds = use.count
  switch (provider) {
    case 'openai':
    case 'azure-openai':
      return asJson(
        '/v1/videos',
        { model, prompt: 'q', seconds: `${seconds}`, size: '1280x720' },
        {
          id: `video_${crypto.randomUUID()}`,
          object: 'video',
          model,
          status: 'queued',
          seconds: `${seconds}`,
          size: '1280x720',
        },
      )
    case 'gemini':
    case 'vertex': {
      const base = provider === 'gemini' ? '/v1beta' : '/v1/projects/p/locations/global/publishers/google'
      return asJson(
        `${base}/models/${model}:predictLongRunning`,
        { instances: [{ prompt: 'q' }], parameters: { durationSeconds: seconds } },
        { name: `models/${model}/operations/${crypto.randomUUID()}` },
      )
    }
    default:
      return { why: `what films of ${provider} report is unknown` }
  }
}

function rerank({ provider, model, use }: PriceCase): Exchange {
  const path = provider === 'azure-ai' ? '/cohere/v2/rerank' : '/v1/rerank'
  const answer = { id: '1', results: [], meta: { billed_units: { search_units: use.count } } }
  return asJson(path, { model, query: 'q', documents: ['a'] }, answer)
}

/** One query of up to 100 documents is one unit; the answer counts nothing. */
function rerankOfBedrock({ model, use }: PriceCase): Exchange {
  const documents = Array.from({ length: use.count * 100 }, () => 'a')
  const body = { api_version: 2, query: 'q', documents }
  return asJson(`/model/${encodeURIComponent(model)}/invoke`, body, { results: [] })
}
