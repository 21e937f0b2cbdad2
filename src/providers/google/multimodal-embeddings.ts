import type { Dialect } from '../dialect.ts'
import { charactersIn, millisecondsIn, sumUnits } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { type CallHead, requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectsIn, textIn } from '../reading/json-value.ts'
import { googleModelInPath } from './google-path.ts'

const NULL_BYTES = 'null'.length
/** Between two embeddings of a film, in seconds, unless the request says another. */
const USUAL_INTERVAL = 16

/**
 * Embeddings of text, pictures and films in one space, billed by the character, by the picture and by the second of a
 * film, which costs more the closer its embeddings are. Only the request has the text and the intervals.
 * Source: cloud.google.com/vertex-ai, "Multimodal embeddings API"; cloud.google.com/vertex-ai/generative-ai/pricing.
 */
export const multimodalEmbeddings: Dialect = requestDialect({
  name: 'vertex.multimodal-embeddings',
  generatesNothing: true,
  fields: {
    predictions: [
      {
        textEmbedding: 'length',
        imageEmbedding: 'length',
        videoEmbeddings: [{ startOffsetSec: 'value', endOffsetSec: 'value' }],
      },
    ],
    error: 'value',
  },
  prefilter: ['predictions', 'error'],
  modelInPath: googleModelInPath,
  requestFields: {
    instances: [{ text: 'text', image: 'length', video: { videoSegmentConfig: { intervalSec: 'value' } } }],
  },
  readRequest: (call) => ({
    units: { characters: charactersOf(call), images: countOf(objectsIn(call.fields.instances), 'image') },
    serviceTier: tierOf(call),
  }),
  readAnswer: (document, _raw, call) => {
    const predictions = objectsIn(document.predictions)
    const segments = predictions.flatMap(({ videoEmbeddings }) => objectsIn(videoEmbeddings))
    const characters = charactersOf(call)
    const hasText = countOf(predictions, 'textEmbedding') !== null
    return {
      units: {
        characters,
        // How long the text was is not known: that counts as something beside the rest that has no price.
        otherToolCalls: hasText && characters === null ? 1 : null,
        images: countOf(predictions, 'imageEmbedding'),
        videoMs: sumUnits(...segments.map(lengthOf)),
      },
      failed: carriesError(document),
    }
  },
})

/** White space is not counted. */
function charactersOf({ fields }: CallHead): number | null {
  const texts = objectsIn(fields.instances).map(({ text }) => textIn(text)?.replace(/\s/gu, '') ?? '')
  return charactersIn(texts.join('')) || null
}

/** How many have it; `null`: none. */
function countOf(parts: readonly JsonObject[], name: string): number | null {
  return parts.filter((part) => typeof part[name] === 'number' && part[name] > NULL_BYTES).length || null
}

function lengthOf({ startOffsetSec, endOffsetSec }: JsonObject): number | null {
  const [start, end] = [millisecondsIn(startOffsetSec ?? 0), millisecondsIn(endOffsetSec)]
  return start === null || end === null ? null : Math.max(0, end - start)
}

/** The dearest of several films. */
function tierOf({ fields, isRead }: CallHead): string | null {
  if (!isRead) return 'unknown_interval'
  const intervals = objectsIn(fields.instances).map(
    (instance) => member(member(instance, 'video'), 'videoSegmentConfig')?.intervalSec ?? USUAL_INTERVAL,
  )
  const least = Math.min(
    USUAL_INTERVAL,
    ...intervals.map((seconds) => (typeof seconds === 'number' ? seconds : 0)),
  )
  return least >= 15 ? null : least >= 8 ? 'video_standard' : 'video_plus'
}
