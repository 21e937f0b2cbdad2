import { asJson, type Exchange, type NotAsked } from './exchange.ts'
import type { PriceCase } from './price-cases.ts'
import { geminiBatch } from './wires.ts'

const CHAT_PATHS: Readonly<Record<string, string>> = {
  groq: '/openai/v1/chat/completions',
  fireworks: '/inference/v1/chat/completions',
  perplexity: '/chat/completions',
  deepseek: '/chat/completions',
  zai: '/api/paas/v4/chat/completions',
  openrouter: '/api/v1/chat/completions',
  alibaba: '/compatible-mode/v1/chat/completions',
  cloudflare: '/client/v4/accounts/a/ai/v1/chat/completions',
}

/**
 * Models that write to the cache, and the member of a chat's usage that says so. The others report no writes.
 */
const WRITES_IN_DETAILS = 'openai azure-openai azure-ai openrouter moonshotai fireworks alibaba'.split(' ')
const WRITES_AT_ROOT = ['vercel-gateway', 'databricks']

/** Parts of the prompt, by the class that is asked for. */
function promptDetails({ class: wanted, use }: PriceCase): object {
  switch (wanted) {
    case 'cacheRead':
      return { cached_tokens: use.count }
    case 'audioInput':
      return { audio_tokens: use.count }
    case 'cacheReadAudio':
      return {
        audio_tokens: use.count,
        cached_tokens: use.count,
        cached_tokens_details: { audio_tokens: use.count },
      }
    case 'imageInput':
      return { image_tokens: use.count }
    case 'videoInput':
      return { video_tokens: use.count }
    case 'cacheWrite':
      return { cache_write_tokens: use.count }
    case 'cacheWrite12h':
      return {
        cache_write_tokens: use.count,
        cache_write_tokens_details: { ttl_30m_tokens: 0, ttl_12h_tokens: use.count },
      }
    default:
      return {}
  }
}

function answerDetails({ class: wanted, use }: PriceCase): object {
  switch (wanted) {
    case 'audioOutput':
      return { audio_tokens: use.count }
    case 'imageOutput':
      return { image_tokens: use.count }
    case 'reasoning':
      return { reasoning_tokens: use.count }
    default:
      return {}
  }
}

const TIERS: readonly string[] = ['', 'flex', 'priority', 'ultrafast', 'balanced']

export function chatCall(priceCase: PriceCase, path?: string): Exchange | NotAsked {
  const { provider, model, class: wanted, tier, use } = priceCase
  const isPerplexity = provider === 'perplexity'
  if (!TIERS.includes(tier) && !isPerplexity) return { why: `chat completions tell no tier ${tier}` }
  if (wanted === 'cacheWrite1h') return { why: 'chat completions tell no writes for an hour' }
  const isWrite = wanted.startsWith('cacheWrite')
  if (isWrite && ![...WRITES_IN_DETAILS, ...WRITES_AT_ROOT].includes(provider))
    return { why: `chat completions of ${provider} tell no cache writes` }
  if (['webSearch', 'searchUnit', 'page', 'character', 'image'].includes(wanted) && !isPerplexity)
    return { why: `chat completions of ${provider} tell no ${wanted}` }
  if (provider === 'xai' && wanted === 'reasoning') return { why: 'reasoning is output there' }
  const usage = {
    prompt_tokens: use.inputTokens,
    completion_tokens: use.outputTokens,
    total_tokens: use.inputTokens + use.outputTokens,
    prompt_tokens_details: WRITES_AT_ROOT.includes(provider) && isWrite ? {} : promptDetails(priceCase),
    completion_tokens_details: answerDetails(priceCase),
    ...(WRITES_AT_ROOT.includes(provider) && isWrite ? { cache_creation_input_tokens: use.count } : {}),
    ...(isPerplexity ? { search_context_size: tier.replace('search_', '') || 'low' } : {}),
    ...(isPerplexity && wanted === 'webSearch' ? { num_search_queries: use.count } : {}),
    ...(isPerplexity && wanted === 'reasoning' ? { completion_tokens: 0, reasoning_tokens: use.count } : {}),
  }
  return asJson(
    path ?? CHAT_PATHS[provider] ?? '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'q' }] },
    {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
      usage,
      ...(tier === '' || isPerplexity ? {} : { service_tier: tier }),
    },
  )
}

function responsesUsage(priceCase: PriceCase): object {
  const { use } = priceCase
  return {
    input_tokens: use.inputTokens,
    input_tokens_details: promptDetails(priceCase),
    output_tokens: use.outputTokens,
    output_tokens_details: answerDetails(priceCase),
    total_tokens: use.inputTokens + use.outputTokens,
  }
}

export function responsesCall(priceCase: PriceCase): Exchange | NotAsked {
  const { provider, model, class: wanted, tier, use } = priceCase
  if (!TIERS.includes(tier)) return { why: `responses tell no tier ${tier}` }
  if (wanted === 'cacheWrite1h') return { why: 'responses tell no writes for an hour' }
  if (wanted.startsWith('cacheWrite') && ![...WRITES_IN_DETAILS, 'perplexity'].includes(provider))
    return { why: `responses of ${provider} tell no cache writes` }
  const searches =
    wanted === 'webSearch'
      ? Array.from({ length: use.count }, (_, index) => ({
          type: 'web_search_call',
          id: `ws_${index}`,
          status: 'completed',
          action: { type: 'search', query: 'q' },
        }))
      : []
  return asJson(
    '/v1/responses',
    { model, input: 'q' },
    {
      id: `resp_${crypto.randomUUID()}`,
      object: 'response',
      status: 'completed',
      model,
      ...(tier === '' ? {} : { service_tier: tier }),
      output: [
        ...searches,
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
      ],
      usage: responsesUsage(priceCase),
    },
  )
}

export function embeddingCall(priceCase: PriceCase): Exchange | NotAsked {
  const { provider, kind, model, class: wanted, use } = priceCase
  if (wanted !== 'input') return { why: `embeddings and rerankers of ${provider} tell no ${wanted}` }
  const path =
    kind === 'rerank'
      ? '/v1/rerank'
      : model.includes('multimodal')
        ? '/v1/multimodalembeddings'
        : '/v1/embeddings'
  return asJson(
    path,
    { model, input: 'q' },
    {
      object: 'list',
      model,
      data: [],
      usage: { prompt_tokens: use.inputTokens, total_tokens: use.inputTokens },
    },
  )
}

/** What batches tell, where the answer to their fetch tells it. */
export function batchCall(priceCase: PriceCase, number: number): Exchange | NotAsked {
  const { provider, model } = priceCase
  const get = (path: string, answer: object): Exchange => ({
    ...asJson(path, {}, answer),
    method: 'GET',
    body: null,
  })
  switch (provider) {
    case 'openai':
    case 'azure-openai': {
      const id = `batch_${`${number}`.padStart(12, '0')}`
      const usage = responsesUsage(priceCase)
      // A case is one request, as the size of its prompt matters.
      const request_counts = { total: 1, completed: 1, failed: 0 }
      const counted = { status: 'completed', model, output_file_id: 'file-1', request_counts, usage }
      const batch = { id, object: 'batch', ...counted }
      return get(`/v1/batches/${id}`, batch)
    }
    case 'gemini':
      return geminiBatch(priceCase, number)
    default:
      return { why: `how batches of ${provider} report their use is unknown` }
  }
}
