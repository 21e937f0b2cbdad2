import type { BilledUnit, BilledUnits } from '../../call/usage.ts'
import { madeAndListedAs } from '../catalog-lists.ts'
import { endpoint, postTo } from '../endpoint.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { mistralOcr } from '../others/mistral-ocr.ts'
import { BEGINS_WORK } from '../paths/free-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { millisecondsIn, unitsByTool } from '../reading/billed-units.ts'
import { type Counts, parseCount, subtractCounts } from '../reading/counts.ts'
import { type JsonObject, member } from '../reading/json-value.ts'

/** Usage of Mistral's models, also on Vertex. A stream has it on its last chunk; an unknown request field is refused with 422. */
export const MISTRAL_OVERRIDES: OpenAiOverrides = {
  takesIncludeUsage: false,
  correct: audioIsApart,
  readUnits: connectors,
}

/** Mistral itself. */
export const mistral: HostedProvider = {
  hosts: ['api.mistral.ai', 'codestral.mistral.ai'],
  credential: BEARER,
  catalog: madeAndListedAs('mistral', ['mistral', 'mistralai']),
  isBelowV1: true,
  openAi: MISTRAL_OVERRIDES,
  endpoints: [
    postTo('/ocr', mistralOcr),
    // Agents answer with chat's usage, in a stream on its last event.
    endpoint('POST', /\/conversations(?:\/[^/]+(?:\/restart)?)?$/, openAiChat(MISTRAL_OVERRIDES)),
  ],
  freePaths: [
    {
      patterns: ['POST **/v1/batch/jobs', 'POST **/v1/fine_tuning/jobs'],
      why: BEGINS_WORK,
      reportedBy: 'GET of the job, or of the file that it leaves',
    },
  ],
}

/**
 * Audio is not in `prompt_tokens` but in the total, and at times nowhere else, so the input is what the total
 * leaves beside the completion (recorded). Without audio that is the prompt itself.
 */
function audioIsApart(counts: Counts, usage: JsonObject): Counts {
  const rest = subtractCounts(parseCount(usage.total_tokens), counts.outputTokens ?? null)
  const isMore =
    typeof rest === 'number' && typeof counts.inputTokens === 'number' && rest > counts.inputTokens
  return isMore ? { ...counts, inputTokens: rest } : counts
}

const MISTRAL_CALLS: ReadonlyMap<string, BilledUnit> = new Map([
  ['web_search', 'webSearches'],
  ['code_interpreter', 'codeRuns'],
])

/** Mistral's seconds of sound, and calls of its connectors by name: docs.mistral.ai, "Agents", "Connectors". */
function connectors(usage: JsonObject): Partial<BilledUnits> | null {
  return {
    ...unitsByTool(member(usage, 'connectors') ?? {}, MISTRAL_CALLS),
    audioMs: millisecondsIn(usage.prompt_audio_seconds),
  }
}
