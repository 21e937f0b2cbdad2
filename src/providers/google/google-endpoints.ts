import { anthropicMessages } from '../anthropic/anthropic-messages.ts'
import {
  ANSWER_COUNTS,
  type AnswerForm,
  type Dialect,
  type Endpoint,
  endpoint,
  fetching,
  postTo,
} from '../dialect.ts'
import { geminiBatch } from '../jobs/gemini-batches.ts'
import { jobFile } from '../jobs/job-files.ts'
import { MISTRAL_OVERRIDES } from '../makers/mistral.ts'
import { veo } from '../media/veo.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { type OpenAiOverrides, USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { addCounts, type Counts, countUsage, parseCount, subtractCounts } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectsIn, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate, withoutOutput } from '../reading/usage-update.ts'
import { geminiEmbedContent, geminiGenerateContent } from './gemini.ts'
import { geminiInteractions } from './gemini-interactions.ts'
import { geminiLive } from './gemini-live.ts'
import { googleModelInPath } from './google-path.ts'
import { multimodalEmbeddings } from './multimodal-embeddings.ts'

/** A method on a model, as Google writes it: `.../models/{model}:{method}`. */
function googleMethod(methods: string, dialect: Dialect): Endpoint {
  return endpoint('POST', new RegExp(`:(?:${methods})$`), dialect)
}

/**
 * `predict` of Google's models, on Vertex and AI Studio: text embeddings count per text, in
 * `embeddings.statistics`; Imagen answers with pictures, which are what is billed, those kept back by a filter
 * left out; the older text models count in `metadata`.
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
const vertexPredict: Dialect = jsonDialect({
  name: 'vertex.predict',
  generatesNothing: true,
  fields: {
    predictions: [{ embeddings: { statistics: { token_count: 'value' } }, mimeType: 'value' }],
    metadata: {
      billableCharacterCount: 'value',
      tokenMetadata: {
        inputTokenCount: { totalTokens: 'value' },
        outputTokenCount: { totalTokens: 'value' },
      },
    },
    error: 'value',
  },
  prefilter: ['predictions', 'metadata', 'error'],
  read: read,
  modelInPath: googleModelInPath,
})

/** The same of models that draw, whose empty answer (all was filtered) must not be filled in with tokens. */
const vertexImages: Dialect = {
  ...vertexPredict,
  name: 'vertex.images',
  answers: ANSWER_COUNTS.imagen,
  medium: 'pictures',
  countsTokens: false,
  billsUnits: true,
}

function read(document: JsonObject): UsageUpdate {
  const predictions = objectsIn(document.predictions)
  const statistics = predictions.map((prediction) => member(member(prediction, 'embeddings'), 'statistics'))
  const isEmbedding = statistics.some((one) => one !== null)
  const metadata = member(document, 'metadata')
  const tokens = member(metadata, 'tokenMetadata')
  const counted = ifCounted(
    countUsage({
      inputTokens: isEmbedding
        ? addCounts(...statistics.map((one) => parseCount(one?.token_count)))
        : parseCount(member(tokens, 'inputTokenCount')?.totalTokens),
      outputTokens: parseCount(member(tokens, 'outputTokenCount')?.totalTokens),
    }),
  )
  const images = predictions.filter(
    (prediction) => textIn(prediction.mimeType)?.startsWith('image/') === true,
  )
  return {
    usage: counted !== null && isEmbedding ? withoutOutput(counted) : counted,
    raw: counted === null ? null : JSON.stringify({ statistics, metadata }),
    units: {
      images: images.length === 0 ? null : images.length,
      characters: unitsIn(metadata?.billableCharacterCount),
    },
    failed: carriesError(document),
  }
}

/**
 * A cache that Gemini keeps: its tokens are read once, at the price of input, and stored by the hour. How long is not known here:
 * the storage counts as one call of the provider's that has no price, so that the cost says it is not all.
 * Source: ai.google.dev/gemini-api/docs/caching, ai.google.dev/gemini-api/docs/pricing.
 */
const geminiCaches: Dialect = {
  ...jsonDialect({
    name: 'gemini.cached-contents',
    tokenizerFamily: 'gemini',
    fields: { model: 'value', usageMetadata: 'usage', error: 'value' },
    prefilter: ['usageMetadata', 'error'],
    read: (document, raw) => {
      const total = parseCount(member(document, 'usageMetadata')?.totalTokenCount)
      const counted = ifCounted(countUsage({ inputTokens: total, cacheWriteTokens: total }))
      const model = textIn(document.model)
      return {
        usage: counted === null ? null : withoutOutput(counted),
        raw,
        isFinal: true,
        units: counted === null ? null : { otherToolCalls: 1 },
        model: model === null ? null : model.slice(model.lastIndexOf('/') + 1),
        failed: carriesError(document),
      }
    },
  }),
  countsTokens: false,
  billsUnits: true,
}

/** `json` may have `;enum-encoding=int` behind it. Files are downloaded as `media`, which changes no other answer. */
const READABLE = /^(?:json|sse|media)$/i

/**
 * Google's "system parameters", https://cloud.google.com/apis/docs/system-parameters. Those with a dollar sign that
 * stand for a whole request (`$httpHeaders`, `$req`) set headers and bodies that were not judged.
 */
export const GOOGLE_ANSWER_FORM: AnswerForm = {
  parameters: new Map([
    ['alt', READABLE],
    ['$alt', READABLE],
    ...[
      'fields',
      '$fields',
      'callback',
      '$callback',
      '$ct',
      '$httpheaders',
      '$httpmethod',
      '$outputdefaults',
      '$req',
      'x-goog-fieldmask',
      'x-goog-field-mask',
      'x-goog-user-project',
      '$userproject',
      'userproject',
    ].map((name) => [name, null] as const),
  ]),
  headers: ['x-goog-fieldmask', 'x-goog-field-mask', 'x-goog-user-project'],
}

/** Endpoints of Google's servers, wherever they are served. */
function servedByGoogle(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.map((endpoint) => ({
    ...endpoint,
    dialect: { ...endpoint.dialect, answerForm: GOOGLE_ANSWER_FORM },
  }))
}

/** Gemini's interface, on AI Studio and Vertex. */
export const GEMINI_ENDPOINTS = servedByGoogle([
  googleMethod('generateContent|streamGenerateContent', geminiGenerateContent),
  googleMethod('embedContent|batchEmbedContents', geminiEmbedContent),
  endpoint('POST', /\/models\/(?:imagen|virtual-try-on)[^/]*:predict$/, vertexImages),
  endpoint('POST', /\/models\/multimodalembedding[^/]*:predict$/, multimodalEmbeddings),
  googleMethod('predict', vertexPredict),
  googleMethod('predictLongRunning', veo),
  postTo('/cachedcontents', geminiCaches),
  postTo('/interactions', geminiInteractions),
  fetching('POST', /\/interactions\/[^/]+\/cancel$/, geminiInteractions),
  // Fetching an interaction reports the usage of one that ran in the background.
  fetching('GET', /\/interactions\/[^/]+$/, geminiInteractions),
  fetching('GET', /\/v1(?:alpha|beta)\d*\/batches\/[^/:]+$/, geminiBatch),
  fetching('GET', /\/files\/[^/:]+:download$/, jobFile(USAGE_IF_ASKED)),
  endpoint('GET', /[./]BidiGenerateContent(?:Constrained)?$/, geminiLive),
])

/** At Google's endpoint in OpenAI's format, thoughts are in neither count, only in the total (recorded). */
export const GOOGLE_OVERRIDES: OpenAiOverrides = { takesIncludeUsage: true, correct: outputIsTheRest }

/** The same on Vertex, which reports the tier as well. */
export const VERTEX_OVERRIDES: OpenAiOverrides = { ...GOOGLE_OVERRIDES, readTier: trafficType }

function outputIsTheRest(counts: Counts, usage: JsonObject): Counts {
  const rest = subtractCounts(parseCount(usage.total_tokens), counts.inputTokens ?? null)
  return typeof rest === 'number' ? { ...counts, outputTokens: rest } : counts
}

/** Vertex's word for the tier, in OpenAI's format beside the counts. */
function trafficType(usage: JsonObject): string | null {
  return textIn(member(member(usage, 'extra_properties'), 'google')?.traffic_type)
}

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
