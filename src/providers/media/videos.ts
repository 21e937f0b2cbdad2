import type { BilledUnits } from '../../call/usage.ts'
import type { Dialect } from '../dialect.ts'
import { googleModelInPath } from '../google/google-path.ts'
import { deploymentIn } from '../openai/deployment-path.ts'
import { secondsAsMs, UNKNOWN_SIZE, unitsIn, wordIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { type CallHead, requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { costInTicks } from '../reading/reported-cost.ts'

const PREFILTER = ['error']

/**
 * OpenAI's videos, new and remixed: the job that answers says its seconds and its size, by which it is billed. Those are
 * known when it is begun, so it counts then, under its id; a job that fails later is not billed.
 * Source: OpenAI's API reference, "Videos".
 */
export const openAiVideos: Dialect = requestDialect({
  name: 'openai.videos',
  takesForm: true,
  fields: {
    id: 'value',
    model: 'value',
    seconds: 'value',
    size: 'value',
    error: 'value',
  },
  prefilter: PREFILTER,
  modelInPath: deploymentIn,
  requestFields: { seconds: 'value', size: 'value' },
  readRequest: (call) => ({
    units: { videoMs: secondsAsMs(call.fields.seconds) },
    serviceTier: sizeAsked(call),
  }),
  readAnswer: (job, _raw, call) => ({
    ...filmOf(secondsAsMs(job.seconds)),
    serviceTier: isSaid(job.size) ? sizeMade(job.size, call) : null,
    model: textIn(job.model),
    responseId: textIn(job.id),
    failed: carriesError(job),
  }),
})

function sizeAsked({ fields, isRead }: CallHead): string | null {
  return isRead ? tierOfSize(fields.size) : UNKNOWN_SIZE
}

/** What the job says stands above the request, also where it is the usual size. */
function sizeMade(size: unknown, call: CallHead): string | null {
  return tierOfSize(size) ?? (sizeAsked(call) === null ? null : 'standard')
}

function tierOfSize(value: unknown): string | null {
  const size = wordIn(value)
  if (size === null) return null
  return size !== undefined && SIZE.test(size) ? resolutionOf(size) : UNKNOWN_SIZE
}

/**
 * Azure's jobs of the first Sora: seconds times variants, and a price by resolution.
 * Source: learn.microsoft.com, "Sora video generation".
 */
export const azureVideoJobs: Dialect = requestDialect({
  name: 'azure.video-jobs',
  takesForm: true,
  fields: {
    id: 'value',
    model: 'value',
    n_seconds: 'value',
    n_variants: 'value',
    width: 'value',
    height: 'value',
    error: 'value',
  },
  prefilter: PREFILTER,
  modelInPath: deploymentIn,
  requestFields: { n_seconds: 'value', n_variants: 'value', width: 'value', height: 'value' },
  readRequest: ({ fields }) => azureFilm(fields),
  readAnswer: (job) => ({
    ...(job.n_seconds === undefined ? {} : azureFilm(job)),
    model: textIn(job.model),
    responseId: textIn(job.id),
    failed: carriesError(job),
  }),
})

function azureFilm({ n_seconds, n_variants, width, height }: JsonObject) {
  const variants = n_variants === undefined || n_variants === null ? 1 : unitsIn(n_variants)
  const ms = secondsAsMs(n_seconds)
  return {
    ...filmOf(ms === null || variants === null ? null : ms * variants),
    serviceTier: resolutionOf(`${width}x${height}`),
  }
}

/**
 * xAI's videos: the answer has an id alone, and the fetch that finds the job done has its cost.
 * Source: docs.x.ai, "Video generation".
 */
export const xaiVideos: Dialect = requestDialect({
  name: 'xai.videos',
  fields: { request_id: 'value', error: 'value' },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: () => ({ pending: true }),
  readAnswer: (job) => ({
    responseId: textIn(job.request_id),
    pending: true,
    failed: carriesError(job),
  }),
})

/** The fetch of such a job, by the id in its path. */
export const xaiVideo: Dialect = requestDialect({
  name: 'xai.video',
  fields: {
    status: 'value',
    model: 'value',
    usage: 'usage',
    video: { duration: 'value' },
    error: 'value',
  },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: ({ request }) => ({ responseId: request.path.slice(request.path.lastIndexOf('/') + 1) }),
  readAnswer: (job, raw) => {
    const usage = member(job, 'usage')
    const isDone = job.status === 'done' || usage !== null
    return {
      ...(isDone ? filmOf(secondsAsMs(member(job, 'video')?.duration)) : {}),
      raw,
      model: textIn(job.model),
      pending: !isDone && job.status === 'pending',
      failed: carriesError(job) || job.status === 'failed',
      reportedCostPico: usage === null ? null : costInTicks(usage),
    }
  },
})

/** What it makes unless it is told. */
const VEO_MS = 8_000

/**
 * Google's Veo, on AI Studio and Vertex: the answer has an operation's name alone, so that seconds and resolution are the
 * request's. Going on with a film is not counted: how long that is stands nowhere.
 * Source: ai.google.dev/gemini-api/docs/video; Vertex's reference, "Veo on Vertex AI video generation API".
 */
export const veo: Dialect = requestDialect({
  name: 'google.videos',
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

function filmOf(videoMs: number | null): { readonly units?: Partial<BilledUnits> } {
  return videoMs === null ? {} : { units: { videoMs } }
}

const SIZE = /^(\d{2,5})x(\d{2,5})$/

/** What a size is called by its shorter side; `null`: the usual one, or none that is a size. */
export function resolutionOf(size: string | null): string | null {
  const [, width, height] = SIZE.exec(size ?? '') ?? []
  if (width === undefined || height === undefined) return null
  const shorter = Math.min(Number(width), Number(height))
  return shorter === 720 ? null : `${shorter}p`
}
