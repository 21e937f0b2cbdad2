import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS } from '../dialect.ts'
import { RANKS } from '../openai/openai-prompt-only.ts'
import { searchUnitsOf, secondsAsMs, UNKNOWN_SIZE, unitsIn, wordIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { countUsage, parseCount } from '../reading/counts.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { ifCounted, withoutOutput } from '../reading/usage-update.ts'
import { bedrockModel, bedrockModelInPath, headerUsage } from './bedrock-usage.ts'

const PREFILTER = ['error']
/** "A query with up to 100 documents ... of 512 tokens, the query's in it": https://aws.amazon.com/bedrock/pricing */
const TOKENS_A_DOCUMENT = 512

/**
 * InvokeModel of models that draw, billed by the picture: those in the answer, at the size and quality of the request. Of
 * Stability's, those that a filter kept back are not counted.
 * https://docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html
 */
export const bedrockImages: Dialect = requestDialect({
  name: 'bedrock.images',
  answers: ANSWER_COUNTS.bedrockImages,
  medium: 'pictures',
  fields: {
    images: ['length'],
    artifacts: [{ finishReason: 'value' }],
    finish_reasons: ['value'],
    error: 'value',
  },
  prefilter: PREFILTER,
  modelInPath: bedrockModelInPath,
  requestFields: {
    taskType: 'value',
    imageGenerationConfig: { width: 'value', height: 'value', quality: 'value' },
  },
  readRequest: ({ request, fields, isRead }) => {
    const model = bedrockModelInPath(request.path) ?? ''
    if (!COSTS_BY_SIZE.test(model)) return {}
    const config = objectIn(fields.imageGenerationConfig) ?? {}
    const isSized = isSaid(config.width) || SIZED_TASKS.has(textIn(fields.taskType) ?? '')
    return { serviceTier: isRead && isSized ? imageTier(model, config) : UNKNOWN_SIZE }
  },
  readAnswer: (document) => {
    const kept = arrayIn(document.finish_reasons).filter((reason) => reason !== null).length
    const drawn = arrayIn(document.images ?? document.artifacts).length
    const isReported = document.images !== undefined || document.artifacts !== undefined
    return {
      units: isReported ? { images: Math.max(0, drawn - kept) } : null,
      failed: carriesError(document),
    }
  },
})

/** Tasks whose pictures are of the usual size unless it is said; those of others are as large as what they are made of. */
const SIZED_TASKS: ReadonlySet<string> = new Set(['TEXT_IMAGE', 'COLOR_GUIDED_GENERATION', 'IMAGE_VARIATION'])

const COSTS_BY_SIZE = /nova-canvas|titan-image/

/** Amazon's own models cost by quality and by how large the longer side is. */
function imageTier(model: string, config: JsonObject): string | null {
  const width = sideOf(config.width)
  const height = sideOf(config.height)
  const quality = wordIn(config.quality) ?? (isSaid(config.quality) ? '' : 'standard')
  if (width === null || height === null || !/^(?:standard|premium)$/.test(quality)) return UNKNOWN_SIZE
  const longer = Math.max(width, height)
  const size = model.includes('nova-canvas') ? (longer > 1024 ? '2048' : null) : longer <= 512 ? '512' : null
  const parts = [...(quality === 'premium' ? ['premium'] : []), ...(size === null ? [] : [size])]
  return parts.length === 0 ? null : parts.join('_')
}

const USUAL_SIDE = 1024

/** Pixels; `null`: not known. */
function sideOf(said: unknown): number | null {
  const side = isSaid(said) ? unitsIn(said) : USUAL_SIDE
  return side === 0 ? null : side
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}

const NULL_BYTES = 'null'.length

/**
 * InvokeModel of the model that embeds text and pictures, billed by the text's tokens and by the picture, which only the
 * request has. https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-mm.html
 */
export const bedrockPictureEmbeddings: Dialect = requestDialect({
  name: 'bedrock.picture-embeddings',
  generatesNothing: true,
  fields: { inputTextTokenCount: 'value', error: 'value' },
  prefilter: PREFILTER,
  modelInPath: bedrockModelInPath,
  requestFields: { inputImage: 'length' },
  readRequest: ({ head, fields, isRead }) => {
    const hasPicture = typeof fields.inputImage === 'number' && fields.inputImage > NULL_BYTES
    const said = headerUsage(head.headers)
    return {
      usage: said === null ? null : withoutOutput(said),
      // A picture that may be there counts as something beside the text that has no price.
      units: isRead ? { images: hasPicture ? 1 : null } : { otherToolCalls: 1 },
    }
  },
  readAnswer: (document) => {
    const counted = ifCounted(countUsage({ inputTokens: parseCount(document.inputTextTokenCount) }))
    return {
      usage: counted === null ? null : withoutOutput(counted),
      isFinal: true,
      failed: carriesError(document),
    }
  },
})

/**
 * InvokeModel of rankers, billed by the query with up to a hundred documents, which only the request has.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html
 */
export const bedrockRankInvoke: Dialect = requestDialect({
  name: 'bedrock.rerank-invoke',
  ...RANKS,
  fields: { meta: { billed_units: { search_units: 'value' } }, error: 'value' },
  prefilter: PREFILTER,
  modelInPath: bedrockModelInPath,
  requestFields: { documents: ['length'], query: 'length' },
  readRequest: ({ fields }) => ({
    units: { searchUnits: rankUnits(fields.documents, fields.query) },
  }),
  readAnswer: (document) => {
    const billed = unitsIn(member(document.meta, 'billed_units')?.search_units)
    return { ...(billed === null ? {} : { units: { searchUnits: billed } }), failed: carriesError(document) }
  },
})

/** Bedrock's Rerank, of the agents' runtime: the model is in the body. */
export const bedrockRerank: Dialect = requestDialect({
  name: 'bedrock.rerank',
  ...RANKS,
  hidesModel: true,
  fields: { error: 'value' },
  prefilter: PREFILTER,
  requestFields: {
    queries: ['length'],
    sources: ['length'],
    rerankingConfiguration: { bedrockRerankingConfiguration: { modelConfiguration: { modelArn: 'value' } } },
  },
  readRequest: ({ fields }) => {
    const configuration = member(fields.rerankingConfiguration, 'bedrockRerankingConfiguration')
    const arn = textIn(member(configuration, 'modelConfiguration')?.modelArn)
    const [query] = arrayIn(fields.queries)
    return {
      model: arn === null ? null : bedrockModel(arn),
      units: { searchUnits: rankUnits(fields.sources, query) },
    }
  },
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

function rankUnits(documents: unknown, query: unknown): number | null {
  if (!Array.isArray(documents)) return null
  return searchUnitsOf(documents, typeof query === 'number' ? query : 0, TOKENS_A_DOCUMENT)
}

/** The length of a Nova Reel film, and of each shot, unless the request says another. */
const REEL_MS = 6_000

/**
 * Work that Bedrock begins and answers with an ARN: films, billed by the second that the request asks for. Of other models
 * the model alone is known. A job that fails is not billed.
 * https://docs.aws.amazon.com/nova/latest/userguide/video-gen-access.html
 */
export const bedrockAsyncInvoke: Dialect = requestDialect({
  name: 'bedrock.async-invoke',
  hidesModel: true,
  fields: { invocationArn: 'value', error: 'value' },
  prefilter: PREFILTER,
  requestFields: {
    modelId: 'value',
    modelInput: {
      taskType: 'value',
      videoGenerationConfig: { durationSeconds: 'value' },
      multiShotManualParams: { shots: ['length'] },
      duration: 'value',
      resolution: 'value',
    },
  },
  readRequest: ({ fields }) => {
    const id = textIn(fields.modelId)
    const model = id === null ? null : bedrockModel(id)
    const input = objectIn(fields.modelInput) ?? {}
    if (model?.includes('nova-reel') === true) return { model, units: { videoMs: reelMs(input) } }
    if (model?.includes('luma.ray') !== true) return { model }
    const resolution = textIn(input.resolution) ?? '720p'
    return {
      model,
      units: { videoMs: input.duration === undefined ? null : secondsAsMs(input.duration) },
      serviceTier: resolution === '720p' ? null : resolution,
    }
  },
  readAnswer: (document) => ({ responseId: textIn(document.invocationArn), failed: carriesError(document) }),
})

function reelMs(input: JsonObject): number | null {
  if (input.taskType === 'MULTI_SHOT_MANUAL') {
    return arrayIn(member(input, 'multiShotManualParams')?.shots).length * REEL_MS || null
  }
  const said = member(input, 'videoGenerationConfig')?.durationSeconds ?? null
  if (said === null) return input.taskType === 'TEXT_VIDEO' ? REEL_MS : null
  return secondsAsMs(said) || null
}
