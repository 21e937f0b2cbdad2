import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS } from '../dialect.ts'
import { googleModelInPath } from '../google/google-path.ts'
import { secondsAsMs, UNKNOWN_SIZE, unitsIn, wordIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, objectIn, textIn } from '../reading/json-value.ts'

const PREFILTER = ['error']

/** The length of a film unless the request says another. */
const VEO_MS = 8_000

/**
 * Google's Veo, on AI Studio and Vertex: the answer has an operation's name alone, so that seconds and resolution are the
 * request's. Going on with a film is not counted: how long that is stands nowhere.
 * Source: ai.google.dev/gemini-api/docs/video; Vertex's reference, "Veo on Vertex AI video generation API".
 */
export const veo: Dialect = requestDialect({
  name: 'google.videos',
  answers: ANSWER_COUNTS.veo,
  fields: { name: 'value', error: 'value' },
  prefilter: PREFILTER,
  modelInPath: googleModelInPath,
  requestFields: {
    instances: [{ video: 'length' }],
    parameters: {
      durationSeconds: 'value',
      sampleCount: 'value',
      numberOfVideos: 'value',
      generateAudio: 'value',
      resolution: 'value',
      // Some of Google's readers take names in this spelling as well, others pass them over.
      duration_seconds: 'value',
      sample_count: 'value',
      number_of_videos: 'value',
      generate_audio: 'value',
    },
  },
  readRequest: ({ fields, request, isRead }) => {
    const model = googleModelInPath(request.path) ?? ''
    if (!isRead || !/^veo-/.test(model)) return {}
    const parameters = objectIn(fields.parameters) ?? {}
    return {
      units: { videoMs: veoMs(arrayIn(fields.instances), parameters) },
      serviceTier: veoTier(model, parameters),
    }
  },
  readAnswer: (operation) => ({ responseId: textIn(operation.name), failed: carriesError(operation) }),
})

/** `null`: not known. So is zero of anything, which a reader may take for what was not said. */
function veoMs(instances: readonly unknown[], parameters: JsonObject): number | null {
  const { durationSeconds, duration_seconds, sampleCount, numberOfVideos, sample_count, number_of_videos } =
    parameters
  const goesOn = instances.some((instance) => objectIn(instance)?.video !== undefined)
  const isSpeltElse = [duration_seconds, sample_count, number_of_videos].some(isSaid)
  if (goesOn || isSpeltElse || (isSaid(sampleCount) && isSaid(numberOfVideos))) return null
  const each = isSaid(durationSeconds) ? secondsAsMs(durationSeconds) : VEO_MS
  const count = sampleCount ?? numberOfVideos
  const films = isSaid(count) ? unitsIn(count) : 1
  return each === null || films === null ? null : each * films * Math.max(1, instances.length) || null
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}

const RESOLUTION = /^(?:\d{3,4}p|[248]k)$/

/** Its resolution but for the usual one, and whether the film is silent, which is cheaper where it is known. */
function veoTier(model: string, parameters: JsonObject): string | null {
  const { resolution, generateAudio, generate_audio } = parameters
  const size = wordIn(resolution) === null ? '720p' : (textIn(resolution)?.toLowerCase() ?? '')
  if (!RESOLUTION.test(size) || isSaid(generate_audio)) return UNKNOWN_SIZE
  const isSilent = generateAudio === false && model.startsWith('veo-3')
  const parts = [...(size === '720p' ? [] : [size]), ...(isSilent ? ['no_audio'] : [])]
  return parts.length === 0 ? null : parts.join('_')
}
