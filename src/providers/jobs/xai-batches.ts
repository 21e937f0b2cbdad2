import { createHash } from 'node:crypto'
import { MAX_JOB_USES } from '../../call/call-record.ts'
import { foldObjectId } from '../../call/object-event.ts'
import type { JobObservation } from '../../call/observation.ts'
import { NO_USAGE } from '../../call/usage.ts'
import type { Dialect, UsageReader } from '../dialect.ts'
import { createUsageShapes } from '../generic-usage.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { secondsAsMs, unitsOf } from '../reading/billed-units.ts'
import { observe } from '../reading/counts.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { compileProjection, JsonScanner } from '../wires/json.ts'
import { observeJobs } from './job-list.ts'

const ANSWER = {
  id: 'value',
  model: 'value',
  usage: 'usage',
  video: { duration: 'value' },
} as const
/** The members of a response in which the answer stands, by the kind of its request. */
const KINDS = [
  'chat_get_completion',
  'responses',
  'image_generation',
  'image_edit',
  'video_generation',
  'video_edit',
  'video_extension',
] as const
const RESPONSE = { ...ANSWER, ...Object.fromEntries(KINDS.map((kind) => [kind, ANSWER])) }
const PROJECTION = compileProjection({
  results: [{ batch_request_id: 'value', batch_result: { response: RESPONSE } }, 'passed_on'],
})
const BATCH = /\/batches\/([^/]+)\/results$/i

/**
 * A page of a batch's results. They can be read while it runs, by pages of any size, and requests may be added to it at
 * any time: so each result is counted by itself, once, for the client that submitted the batch.
 * Source: docs.x.ai, "Batch API"; the messages of xAI's gRPC interface (`ListBatchResultsResponse`).
 */
export function xaiBatchResults(overrides: OpenAiOverrides): Dialect {
  return {
    name: 'xai.batch-results',
    readsRequest: false,
    takesIncludeUsage: false,
    countsTokens: false,
    modelInPath: () => null,
    createReader: ({ path }, head) =>
      createPageReader(head.status === 200 ? (BATCH.exec(path)?.[1] ?? null) : null, overrides),
    textOf: () => '',
  }
}

/** @param batchId `null`: nothing is read. */
function createPageReader(batchId: string | null, overrides: OpenAiOverrides): UsageReader {
  const uses: JobObservation[] = []
  const scanner = new JsonScanner(PROJECTION, false, null, ({ value }) => {
    const use = batchId === null ? null : useOf(batchId, objectIn(value), overrides)
    if (use !== null && uses.length < MAX_JOB_USES) uses.push(use)
  })
  return {
    push(chunk) {
      if (batchId !== null) scanner.push(chunk)
    },
    // A page that was cut has its first results whole.
    end: () => observeJobs(uses),
    peek: () => observeJobs(uses),
    revision: 0,
  }
}

/** The use of one request; `null`: it has no answer, and is not billed. */
function useOf(
  batchId: string,
  result: JsonObject | null,
  overrides: OpenAiOverrides,
): JobObservation | null {
  const response = member(member(result, 'batch_result'), 'response')
  if (result === null || response === null) return null
  const answer = KINDS.map((kind) => member(response, kind)).find((found) => found !== null) ?? response
  const usage = member(answer, 'usage')
  const found = createUsageShapes(overrides).read(answer, answer)?.usage ?? null
  const videoMs = secondsAsMs(member(answer, 'video')?.duration)
  return {
    ...observe({
      usageSource: found === null ? 'none' : found.invalid ? 'invalid' : 'reported',
      usage: found?.usage ?? NO_USAGE,
      units: unitsOf({
        ...(usage === null ? {} : overrides.readUnits?.(usage)),
        ...(videoMs === null ? {} : { videoMs }),
      }),
      model: textIn(answer.model),
      responseId: resultIdOf(batchId, textIn(result.batch_request_id), textIn(answer.id)),
      serviceTier: 'batch',
      reportedCostPico: usage === null ? null : (overrides.readCost?.(usage) ?? null),
    }),
    partOf: batchId,
  }
}

/**
 * The name under which a result is counted once. The id of a request is its client's to choose, at any length; two requests
 * of one id differ in the ids of their answers, where these have some.
 */
function resultIdOf(batchId: string, requestId: string | null, answerId: string | null): string {
  const named = JSON.stringify([foldObjectId(batchId), requestId, answerId])
  return `${batchId.slice(0, 128)}:${createHash('sha256').update(named).digest('base64url')}`
}
