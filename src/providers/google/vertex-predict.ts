import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS } from '../dialect.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { addCounts, countUsage, parseCount } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectsIn, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate, withoutOutput } from '../reading/usage-update.ts'
import { googleModelInPath } from './google-path.ts'

/**
 * `predict` of Google's models, on Vertex and AI Studio: text embeddings count per text, in
 * `embeddings.statistics`; Imagen answers with pictures, which are what is billed, those kept back by a filter
 * left out; the older text models count in `metadata`.
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
export const vertexPredict: Dialect = jsonDialect({
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
export const vertexImages: Dialect = {
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
