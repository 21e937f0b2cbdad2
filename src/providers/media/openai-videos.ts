import type { BilledUnits } from '../../call/usage.ts'
import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, deploymentIn } from '../dialect.ts'
import { secondsAsMs, UNKNOWN_SIZE, unitsIn, wordIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { type CallHead, requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, textIn } from '../reading/json-value.ts'

const PREFILTER = ['error']

/**
 * OpenAI's videos, new and remixed: the job that answers says its seconds and its size, by which it is billed. Those
 * are known when it is begun, so it counts then, under its id; a job that fails later is not billed. Source: OpenAI's
 * API reference, "Videos".
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

/** The job's figure stands above the request, also where it is the usual size. */
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
  answers: ANSWER_COUNTS.azureVideos,
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

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null
}

const SIZE = /^(\d{2,5})x(\d{2,5})$/

/** The name of a size by its shorter side; `null`: the usual one, or none that is a size. */
function resolutionOf(size: string | null): string | null {
  const [, width, height] = SIZE.exec(size ?? '') ?? []
  if (width === undefined || height === undefined) return null
  const shorter = Math.min(Number(width), Number(height))
  return shorter === 720 ? null : `${shorter}p`
}

/** The units of a film of so many milliseconds; none where that is not known. */
export function filmOf(videoMs: number | null): { readonly units?: Partial<BilledUnits> } {
  return videoMs === null ? {} : { units: { videoMs } }
}
