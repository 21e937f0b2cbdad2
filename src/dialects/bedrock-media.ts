import { bedrockModel, bedrockModelInPath } from './bedrock-path.ts'
import { searchUnitsOf, secondsAsMs, unitsIn } from './billed-units.ts'
import type { Dialect } from './dialect.ts'
import { carriesError } from './error-in-body.ts'
import { requestDialect } from './json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from './json-value.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

const FIND_TELLING = findMembers(['error'])
/** "A query with up to 100 documents ... of 512 tokens, the query's in it": https://aws.amazon.com/bedrock/pricing */
const TOKENS_A_DOCUMENT = 512

/**
 * InvokeModel of models that draw, billed by the picture: those in the answer, at the size and quality of the request. Of
 * Stability's, those that a filter kept back are not counted.
 * https://docs.aws.amazon.com/nova/latest/userguide/image-gen-req-resp-structure.html
 */
export const bedrockImages: Dialect = requestDialect({
  name: 'bedrock.images',
  format: {
    plan: planJson({
      images: ['length'],
      artifacts: [{ finishReason: 'value' }],
      finish_reasons: ['value'],
      error: 'value',
    }),
    findTelling: FIND_TELLING,
  },
  modelInPath: bedrockModelInPath,
  wants: { imageGenerationConfig: { width: 'value', height: 'value', quality: 'value' } },
  readCall: ({ request, fields, isRead }) => ({
    serviceTier: isRead
      ? imageTier(bedrockModelInPath(request.path) ?? '', objectIn(fields.imageGenerationConfig) ?? {})
      : null,
  }),
  readAnswer: (document) => {
    const kept = arrayIn(document.finish_reasons).filter((reason) => reason !== null).length
    const drawn = arrayIn(document.images ?? document.artifacts).length
    const isTold = document.images !== undefined || document.artifacts !== undefined
    return {
      units: isTold ? { images: Math.max(0, drawn - kept) } : null,
      failed: carriesError(document),
    }
  },
})

/** Amazon's own models cost by quality and by how large the longer side is. */
function imageTier(model: string, { width, height, quality }: JsonObject): string | null {
  const longer = Math.max(unitsIn(width) ?? 0, unitsIn(height) ?? 0)
  const size = model.includes('nova-canvas')
    ? longer > 1024
      ? '2048'
      : null
    : model.includes('titan-image') && longer > 0 && longer <= 512
      ? '512'
      : null
  const isPremium = textIn(quality) === 'premium'
  const parts = [...(isPremium ? ['premium'] : []), ...(size === null ? [] : [size])]
  return parts.length === 0 ? null : parts.join('_')
}

/**
 * InvokeModel of rankers, billed by the query with up to a hundred documents, which only the request has.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html
 */
export const bedrockRankInvoke: Dialect = requestDialect({
  name: 'bedrock.rerank-invoke',
  format: {
    plan: planJson({ meta: { billed_units: { search_units: 'value' } }, error: 'value' }),
    findTelling: FIND_TELLING,
  },
  modelInPath: bedrockModelInPath,
  wants: { documents: ['length'], query: 'length' },
  readCall: ({ fields }) => ({
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
  hidesModel: true,
  format: { plan: planJson({ error: 'value' }), findTelling: FIND_TELLING },
  wants: {
    queries: ['length'],
    sources: ['length'],
    rerankingConfiguration: { bedrockRerankingConfiguration: { modelConfiguration: { modelArn: 'value' } } },
  },
  readCall: ({ fields }) => {
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

/** What Nova Reel makes unless it is told, and of each shot. */
const REEL_MS = 6_000

/**
 * Work that Bedrock begins and answers with an ARN: films, billed by the second that the request asks for. Of other models
 * the model alone is known. A job that fails is not billed.
 * https://docs.aws.amazon.com/nova/latest/userguide/video-gen-access.html
 */
export const bedrockAsyncInvoke: Dialect = requestDialect({
  name: 'bedrock.async-invoke',
  hidesModel: true,
  format: { plan: planJson({ invocationArn: 'value', error: 'value' }), findTelling: FIND_TELLING },
  wants: {
    modelId: 'value',
    modelInput: {
      taskType: 'value',
      videoGenerationConfig: { durationSeconds: 'value' },
      multiShotManualParams: { shots: ['length'] },
      duration: 'value',
      resolution: 'value',
    },
  },
  readCall: ({ fields }) => {
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
  const shots = member(input, 'multiShotManualParams')?.shots
  if (Array.isArray(shots)) return shots.length * REEL_MS
  const said = member(input, 'videoGenerationConfig')?.durationSeconds ?? null
  return said === null ? (input.taskType === 'TEXT_VIDEO' ? REEL_MS : null) : secondsAsMs(said)
}
