import type { Exchange, NotAsked } from './exchange.ts'
import { mediaCall } from './media-wires.ts'
import { batchCall, chatCall, embeddingCall, responsesCall } from './openai-wires.ts'
import type { PriceCase } from './price-cases.ts'
import { anthropicMessage, bedrockConverse, cohereCall, geminiContent } from './wires.ts'

const PIECES_OF_MEDIA: ReadonlySet<string> = new Set([
  'searchUnit',
  'image',
  'audioSecond',
  'videoSecond',
  'character',
  'page',
])

/** Providers that speak Anthropic's format beside OpenAI's, which reports no lifetimes. */
const MESSAGES_TOO: ReadonlySet<string> = new Set([
  'moonshotai',
  'openrouter',
  'vercel-gateway',
  'databricks',
])

/** What no answer tells. The first that fits. */
const NEVER_REPORTED: readonly (readonly [fits: (priceCase: PriceCase) => boolean, why: string])[] = [
  [
    ({ provider, tier }) => provider === 'bedrock' && tier === 'batch',
    'batches of Bedrock go from bucket to bucket',
  ],
  [
    ({ provider, tier }) => provider === 'vertex' && tier === 'batch',
    'batches of Vertex go from bucket to bucket',
  ],
  [
    ({ provider, tier }) => provider === 'databricks' && tier !== '',
    'batches of Databricks are queries in SQL',
  ],
  [
    ({ class: wanted, provider, kind }) => wanted === 'webSearch' && provider === 'groq' && kind === 'chat',
    'Groq does not count its searches',
  ],
]

/** The call that asks for `priceCase`, in the provider's own format; `number` makes its ids its own. */
export function exchangeFor(priceCase: PriceCase, number: number): Exchange | NotAsked {
  const { provider, kind, tier, class: wanted, model } = priceCase
  const never = NEVER_REPORTED.find(([fits]) => fits(priceCase))
  if (never !== undefined) return { why: never[1] }
  if (tier.startsWith('batch') && provider !== 'anthropic') return batchCall(priceCase, number)
  if (PIECES_OF_MEDIA.has(wanted) || ['image', 'transcription', 'speech', 'video', 'ocr'].includes(kind)) {
    const media = mediaCall(priceCase)
    if (media !== null) return media
  }
  if (wanted === 'cacheWrite1h' && MESSAGES_TOO.has(provider))
    return anthropicMessage('/v1/messages', priceCase)
  switch (provider) {
    case 'anthropic':
      return anthropicMessage('/v1/messages', priceCase)
    case 'azure-ai':
      if (model.startsWith('claude')) return anthropicMessage('/anthropic/v1/messages', priceCase)
      break
    case 'bedrock':
      return bedrockConverse(priceCase)
    case 'gemini':
      return geminiContent(`/v1beta/models/${model}`, priceCase)
    case 'vertex':
      return vertexCall(priceCase)
    case 'cohere':
      return kind === 'embedding' || kind === 'rerank' || kind === 'chat'
        ? cohereCall(priceCase)
        : chatCall(priceCase)
    default:
  }
  if (kind === 'embedding' || kind === 'rerank') return embeddingCall(priceCase)
  const isAgent = provider === 'perplexity' && model.includes('/')
  const saysMore = wanted === 'cacheReadAudio' || wanted === 'cacheWrite12h' || wanted === 'webSearch'
  const speaksResponses = ['openai', 'azure-openai', 'xai'].includes(provider)
  return kind === 'responses' || isAgent || (saysMore && speaksResponses)
    ? responsesCall(priceCase)
    : chatCall(priceCase)
}

function vertexCall(priceCase: PriceCase): Exchange | NotAsked {
  const { model } = priceCase
  const publishers = '/v1/projects/p/locations/global/publishers'
  if (model.startsWith('claude'))
    return anthropicMessage(`${publishers}/anthropic/models/${model}:rawPredict`, priceCase)
  const [maker = '', name] = model.split('/')
  if (name !== undefined || /^(?:mistral|codestral|ministral|jamba)/.test(model)) {
    const publisher = name === undefined ? (model.startsWith('jamba') ? 'ai21' : 'mistralai') : maker
    // Mistral's have their own method; the other makers' are behind the OpenAI-compatible one.
    return publisher === 'mistralai'
      ? chatCall(priceCase, `${publishers}/mistralai/models/${name ?? model}:rawPredict`)
      : chatCall(priceCase, '/v1/projects/p/locations/global/endpoints/openapi/chat/completions')
  }
  return geminiContent(`${publishers}/google/models/${model}`, priceCase)
}
