import { anthropicMessages } from '../anthropic/anthropic-messages.ts'
import type { Dialect } from '../dialect.ts'
import { type Endpoint, endpoint, fetching, postTo } from '../endpoint.ts'
import { geminiBatch } from '../jobs/gemini-batches.ts'
import { jobFile } from '../jobs/job-files.ts'
import { MISTRAL_OVERRIDES } from '../makers/mistral.ts'
import { veo } from '../media/veo.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { geminiEmbedContent, geminiGenerateContent } from './gemini.ts'
import { geminiCaches } from './gemini-caches.ts'
import { geminiInteractions } from './gemini-interactions.ts'
import { geminiLive } from './gemini-live.ts'
import { servedByGoogle } from './google-answer-form.ts'
import { VERTEX_OVERRIDES } from './google-overrides.ts'
import { googleModelInPath } from './google-path.ts'
import { vertexImages, vertexPredict } from './vertex-predict.ts'

/** A method on a model, as Google writes it: `.../models/{model}:{method}`. */
function googleMethod(methods: string, dialect: Dialect): Endpoint {
  return endpoint('POST', new RegExp(`:(?:${methods})$`), dialect)
}

/** Gemini's interface, on AI Studio and Vertex. */
export const GEMINI_ENDPOINTS = servedByGoogle([
  googleMethod('generateContent|streamGenerateContent', geminiGenerateContent),
  googleMethod('embedContent|batchEmbedContents', geminiEmbedContent),
  endpoint('POST', /\/models\/(?:imagen|virtual-try-on)[^/]*:predict$/, vertexImages),
  googleMethod('predict', vertexPredict),
  googleMethod('predictLongRunning', veo),
  postTo('/cachedcontents', geminiCaches),
  postTo('/interactions', geminiInteractions),
  fetching('POST', /\/interactions\/[^/]+\/cancel$/, geminiInteractions),
  // Fetching an interaction reports the usage of one that ran in the background.
  fetching('GET', /\/interactions\/[^/]+$/, geminiInteractions),
  fetching('GET', /\/v1(?:alpha|beta)\d*\/batches\/[^/:]+$/, geminiBatch),
  fetching('GET', /\/files\/[^/:]+:download$/, jobFile),
  endpoint('GET', /[./]BidiGenerateContent(?:Constrained)?$/, geminiLive),
])

/** Models of others on Vertex, in their makers' formats. */
export const VERTEX_PARTNER_ENDPOINTS = servedByGoogle([
  partner('anthropic', { ...anthropicMessages, name: 'vertex.anthropic-messages' }),
  partner('mistralai', { ...openAiChat(MISTRAL_OVERRIDES), name: 'vertex.mistral-chat' }),
  partner('(?!anthropic|google)[^/]+', {
    ...openAiChat(VERTEX_OVERRIDES),
    name: 'vertex.partner-chat',
  }),
])

function partner(publisher: string, dialect: Dialect): Endpoint {
  // Counting tokens is a model of its own there.
  const path = `/publishers/${publisher}/models/(?!count-tokens)[^/]+:(?:rawPredict|streamRawPredict)$`
  const inPath = { modelInPath: googleModelInPath, takesIncludeUsage: false, knowsStreamOptions: false }
  return endpoint('POST', new RegExp(path), { ...dialect, ...inPath })
}
