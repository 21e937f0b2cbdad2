import { anthropicMessages } from './anthropic/anthropic-messages.ts'
import { bedrockConverse } from './bedrock/bedrock-converse.ts'
import { bedrockInvoke } from './bedrock/bedrock-invoke.ts'
import {
  bedrockAsyncInvoke,
  bedrockImages,
  bedrockRankInvoke,
  bedrockRerank,
} from './bedrock/bedrock-media.ts'
import type { Dialect, Provider } from './dialect.ts'
import { type Endpoint, endpoint, fetching, postTo } from './endpoint.ts'
import { geminiEmbedContent, geminiGenerateContent } from './google/gemini.ts'
import { geminiInteractions } from './google/gemini-interactions.ts'
import { geminiLive } from './google/gemini-live.ts'
import { googleModelInPath } from './google/google-path.ts'
import { vertexImages, vertexPredict } from './google/vertex-predict.ts'
import { geminiBatch } from './jobs/gemini-batches.ts'
import { jobFile } from './jobs/job-files.ts'
import { veo } from './media/videos.ts'
import { openAiChat } from './openai/openai-chat.ts'
import { OPENAI_OVERRIDES } from './openai/openai-overrides.ts'
import { realtime } from './openai/realtime.ts'
import { cohereChat, cohereEmbed, cohereRerank } from './others/cohere.ts'
import { llamaCppCompletion } from './others/llamacpp-native.ts'
import { ollamaChat, ollamaEmbed } from './others/ollama.ts'
import { tgiGenerate } from './others/tgi-native.ts'
import { voyage } from './others/voyage.ts'
import { geminiCaches, vertexRanking } from './services.ts'

/** A method on a model, as Google writes it: `.../models/{model}:{method}`. */
function googleMethod(methods: string, dialect: Dialect): Endpoint {
  return endpoint('POST', new RegExp(`:(?:${methods})$`), dialect)
}

const GEMINI: readonly Endpoint[] = [
  googleMethod('generateContent|streamGenerateContent', geminiGenerateContent),
  googleMethod('embedContent|batchEmbedContents', geminiEmbedContent),
  endpoint('POST', /\/models\/(?:imagen|virtual-try-on)[^/]*:predict$/, vertexImages),
  googleMethod('predict', vertexPredict),
  googleMethod('predictLongRunning', veo),
  postTo('/cachedcontents', geminiCaches),
  postTo('/interactions', geminiInteractions),
  fetching('POST', /\/interactions\/[^/]+\/cancel$/, geminiInteractions),
  // Fetching an interaction tells the usage of one that ran in the background.
  fetching('GET', /\/interactions\/[^/]+$/, geminiInteractions),
  fetching('GET', /\/v1(?:alpha|beta)\d*\/batches\/[^/:]+$/, geminiBatch),
  fetching('GET', /\/files\/[^/:]+:download$/, jobFile),
  endpoint('GET', /[./]BidiGenerateContent(?:Constrained)?$/, geminiLive),
]

/** Models of others on Vertex, in their makers' formats. */
const VERTEX_PARTNERS: readonly Endpoint[] = [
  partner('anthropic', { ...anthropicMessages, name: 'vertex.anthropic-messages' }),
  partner('mistralai', { ...openAiChat(OPENAI_OVERRIDES.mistral), name: 'vertex.mistral-chat' }),
  partner('(?!anthropic|google)[^/]+', {
    ...openAiChat(OPENAI_OVERRIDES.vertex),
    name: 'vertex.partner-chat',
  }),
]

function partner(publisher: string, dialect: Dialect): Endpoint {
  // Counting tokens is a model of its own there.
  const path = `/publishers/${publisher}/models/(?!count-tokens)[^/]+:(?:rawPredict|streamRawPredict)$`
  const inPath = { modelInPath: googleModelInPath, takesIncludeUsage: false, knowsStreamOptions: false }
  return endpoint('POST', new RegExp(path), { ...dialect, ...inPath })
}

const BEDROCK: readonly Endpoint[] = [
  endpoint('POST', /\/model\/.+\/(?:converse|converse-stream)$/, bedrockConverse),
  // These draw or rank, and are not billed by tokens.
  endpoint('POST', /\/model\/.*(?:nova-canvas|titan-image|stability\.).*\/invoke$/, bedrockImages),
  endpoint('POST', /\/model\/.*\.rerank-.*\/invoke$/, bedrockRankInvoke),
  postTo('/async-invoke', bedrockAsyncInvoke),
  endpoint('POST', /\/model\/.+\/(?:invoke|invoke-with-response-stream)$/, bedrockInvoke),
]

const COHERE_V2: readonly Endpoint[] = [
  postTo('/v2/chat', cohereChat),
  endpoint('POST', /\/v[12]\/embed$/, cohereEmbed),
]

const COHERE: readonly Endpoint[] = [
  ...COHERE_V2,
  endpoint('POST', /\/v1\/(?:chat|generate|summarize)$/, cohereChat),
  endpoint('POST', /\/(?:rerank|classify)$/, cohereRerank),
]

const OLLAMA: readonly Endpoint[] = [
  endpoint('POST', /\/api\/(?:chat|generate)$/, ollamaChat),
  endpoint('POST', /\/api\/(?:embed|embeddings)$/, ollamaEmbed),
]

/** Also `/`, and `/models/{owner}/{name}` of the hosted service. */
const TGI = [endpoint('POST', /^$|\/generate(?:_stream)?$|\/models\/[^/]+\/[^/]+$/, tgiGenerate)]

/** `/completions` is llama.cpp's own only outside `/v1`. */
const LLAMACPP = [
  endpoint('POST', /\/(?:completion|infill)$|(?<!\/v1|\/chat)\/completions$/, llamaCppCompletion),
]

const VOYAGE = [
  endpoint('POST', /\/(?:embeddings|multimodalembeddings|contextualizedembeddings|rerank)$/, voyage),
]

const REALTIME = [endpoint('GET', /\/realtime$/, realtime)]

/** Gateways before several providers keep those providers' paths. */
const BEHIND_GATEWAYS: readonly Endpoint[] = [...GEMINI, ...VERTEX_PARTNERS, ...BEDROCK, ...COHERE_V2]

const NATIVE: { readonly [P in Provider]?: readonly Endpoint[] } = {
  'azure-ai': [endpoint('POST', /\/cohere\/v[12]\/rerank$/, cohereRerank), ...COHERE_V2],
  gemini: GEMINI,
  vertex: [...GEMINI, ...VERTEX_PARTNERS, endpoint('POST', /\/rankingConfigs\/[^/]+:rank$/, vertexRanking)],
  bedrock: [...BEDROCK, postTo('/rerank', bedrockRerank)],
  cohere: COHERE,
  ollama: OLLAMA,
  tgi: TGI,
  llamacpp: LLAMACPP,
  voyageai: VOYAGE,
  vllm: COHERE_V2,
  cloudflare: BEHIND_GATEWAYS,
  'litellm-proxy': BEHIND_GATEWAYS,
  'openai-compatible': [...BEHIND_GATEWAYS, ...OLLAMA],
}

/** Endpoints of `provider` in formats that are neither OpenAI's nor spoken under OpenAI's paths. */
export function nativeEndpoints(provider: Provider): readonly Endpoint[] {
  return [...(NATIVE[provider] ?? []), ...REALTIME]
}
