import { asJson, type Exchange, type NotAsked } from './exchange.ts'
import type { PriceCase } from './price-cases.ts'

/** Anthropic's Messages, its own and on Vertex. */
export function anthropicMessage(path: string, priceCase: PriceCase): Exchange | NotAsked {
  const { model, class: wanted, tier, use } = priceCase
  const cached = wanted === 'cacheRead' ? use.count : 0
  const hour = wanted === 'cacheWrite1h' ? use.count : 0
  const written = wanted === 'cacheWrite' ? use.count : hour
  if (!['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h', 'webSearch'].includes(wanted))
    return { why: `Anthropic's answers tell no ${wanted}` }
  if (!['', 'batch', 'priority', 'fast', 'us', 'batch+us'].includes(tier))
    return { why: `Anthropic's answers tell no tier ${tier}` }
  const usage = {
    input_tokens: use.inputTokens - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour },
    output_tokens: use.outputTokens,
    service_tier: tier.startsWith('batch') ? 'batch' : tier === 'priority' ? 'priority' : 'standard',
    ...(tier === 'fast' ? { speed: 'fast' } : {}),
    ...(tier.endsWith('us') ? { inference_geo: 'us' } : {}),
    ...(wanted === 'webSearch' ? { server_tool_use: { web_search_requests: use.count } } : {}),
  }
  // Vertex's revision is not in the answer.
  const [name] = model.split('@')
  return asJson(
    path,
    { model, max_tokens: 10, messages: [{ role: 'user', content: 'q' }] },
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: name,
      content: [{ type: 'text', text: 'a' }],
      stop_reason: 'end_turn',
      usage,
    },
  )
}

/** Converse, for all of Bedrock's; embeddings by their headers. */
export function bedrockConverse(priceCase: PriceCase): Exchange | NotAsked {
  const { model, kind, class: wanted, tier, use } = priceCase
  const path = `/model/${encodeURIComponent(model)}`
  if (kind === 'embedding') {
    if (wanted !== 'input') return { why: `Bedrock's embeddings tell no ${wanted}` }
    const exchange = asJson(`${path}/invoke`, { inputText: 'q' }, { embedding: [0.1] })
    const headers = {
      ...exchange.answer.headers,
      'x-amzn-bedrock-input-token-count': `${use.inputTokens}`,
      'x-amzn-bedrock-output-token-count': '0',
    }
    return { ...exchange, answer: { ...exchange.answer, headers } }
  }
  const cached = wanted === 'cacheRead' ? use.count : 0
  const ttl = wanted === 'cacheWrite1h' ? '1h' : wanted === 'cacheWrite' ? '5m' : null
  const written = ttl === null ? 0 : use.count
  if (!['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'].includes(wanted))
    return { why: `Converse tells no ${wanted}` }
  const usage = {
    inputTokens: use.inputTokens - cached - written,
    outputTokens: use.outputTokens,
    totalTokens: use.inputTokens + use.outputTokens,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: written,
    ...(ttl === null ? {} : { cacheDetails: [{ ttl, inputTokens: written }] }),
  }
  return asJson(
    `${path}/converse`,
    { messages: [{ role: 'user', content: [{ text: 'q' }] }] },
    {
      output: { message: { role: 'assistant', content: [{ text: 'a' }] } },
      stopReason: 'end_turn',
      usage,
      ...(tier === '' ? {} : { serviceTier: { type: tier } }),
    },
  )
}

/** generateContent and embedContent, on AI Studio and Vertex. */
export function geminiContent(base: string, priceCase: PriceCase): Exchange | NotAsked {
  const { provider, model, kind, class: wanted, tier, use } = priceCase
  const MODALITIES: Readonly<Record<string, string>> = {
    audioInput: 'AUDIO',
    cacheReadAudio: 'AUDIO',
    imageInput: 'IMAGE',
    videoInput: 'VIDEO',
    audioOutput: 'AUDIO',
    imageOutput: 'IMAGE',
  }
  const modality = MODALITIES[wanted] ?? 'TEXT'
  const isOutput = wanted === 'audioOutput' || wanted === 'imageOutput'
  const prompt = {
    promptTokenCount: use.inputTokens,
    totalTokenCount: use.inputTokens + use.outputTokens,
    promptTokensDetails: [{ modality: isOutput ? 'TEXT' : modality, tokenCount: use.inputTokens }],
  }
  if (kind === 'embedding') {
    return wanted === 'output'
      ? { why: 'embeddings have no output' }
      : asJson(
          `${base}:embedContent`,
          { content: {} },
          { embedding: { values: [0.1] }, usageMetadata: prompt },
        )
  }
  if (wanted.startsWith('cacheWrite')) return { why: 'Google counts no cache writes in an answer' }
  const isThought = wanted === 'reasoning'
  const usageMetadata = {
    ...prompt,
    ...(isThought
      ? { thoughtsTokenCount: use.outputTokens }
      : {
          candidatesTokenCount: use.outputTokens,
          candidatesTokensDetails: [{ modality, tokenCount: use.outputTokens }],
        }),
    ...(wanted === 'cacheRead' || wanted === 'cacheReadAudio'
      ? {
          cachedContentTokenCount: use.count,
          cacheTokensDetails: [{ modality, tokenCount: use.count }],
        }
      : {}),
    ...tierOf(provider, tier),
  }
  // One prompt that was grounded up to Gemini 2, each query since.
  const isByQuery = !/^gemini-[12]/.test(model)
  const queries = Array.from({ length: isByQuery ? use.count : 1 }, (_, index) => `q${index}`)
  return asJson(
    `${base}:generateContent`,
    { contents: [{ parts: [{ text: 'q' }] }] },
    {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'a' }] },
          finishReason: 'STOP',
          ...(wanted === 'webSearch' ? { groundingMetadata: { webSearchQueries: queries } } : {}),
        },
      ],
      usageMetadata,
      modelVersion: model,
      responseId: 'r1',
    },
  )
}

/** What the fetch of a batch tells, its answers in it. */
export function geminiBatch(priceCase: PriceCase, number: number): Exchange | NotAsked {
  const content = geminiContent('', { ...priceCase, tier: '' })
  if ('why' in content) return content
  const { model, kind } = priceCase
  const name = `batches/b${`${number}`.padStart(12, '0')}`
  const responses = [{ response: JSON.parse(`${content.answer.body}`) }]
  const answer = {
    name,
    done: true,
    metadata: { name, model: `models/${model}`, state: 'BATCH_STATE_SUCCEEDED' },
    response:
      kind === 'embedding'
        ? { inlinedEmbedContentResponses: { inlinedResponses: responses } }
        : { inlinedResponses: { inlinedResponses: responses } },
  }
  return { ...asJson(`/v1beta/${name}`, {}, answer), method: 'GET', body: null }
}

function tierOf(provider: string, tier: string): object {
  if (tier === '') return {}
  return provider === 'vertex' ? { trafficType: `ON_DEMAND_${tier.toUpperCase()}` } : { serviceTier: tier }
}

/** What Cohere bills is in `billed_units`. */
export function cohereCall(priceCase: PriceCase): Exchange | NotAsked {
  const { model, kind, class: wanted, use } = priceCase
  const billed = { input_tokens: use.inputTokens, output_tokens: use.outputTokens }
  if (kind === 'chat') {
    if (wanted !== 'input' && wanted !== 'output') return { why: `Cohere's chat tells no ${wanted}` }
    const message = { role: 'assistant', content: [{ type: 'text', text: 'a' }] }
    return asJson(
      '/v2/chat',
      { model, messages: [{ role: 'user', content: 'q' }] },
      { id: '1', finish_reason: 'COMPLETE', message, usage: { billed_units: billed, tokens: billed } },
    )
  }
  const isRerank = kind === 'rerank'
  const units =
    wanted === 'searchUnit'
      ? { search_units: use.count }
      : wanted === 'imageInput'
        ? { images: 1, image_tokens: use.count }
        : { input_tokens: use.inputTokens }
  if (!['input', 'searchUnit', 'imageInput'].includes(wanted))
    return { why: `Cohere's ${kind} tells no ${wanted}` }
  return asJson(
    isRerank ? '/v2/rerank' : '/v2/embed',
    isRerank ? { model, query: 'q', documents: ['a'] } : { model, texts: ['q'], input_type: 'search_query' },
    {
      id: '1',
      ...(isRerank ? { results: [] } : { embeddings: { float: [[0.1]] } }),
      meta: { billed_units: units },
    },
  )
}
