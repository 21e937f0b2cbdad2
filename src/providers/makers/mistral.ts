import type { BilledUnit, BilledUnits } from '../../call/usage.ts'
import { madeAndListedAs } from '../catalog-lists.ts'
import { type Dialect, endpoint, fetching, postTo, type UsageReader } from '../dialect.ts'
import { addResult, RESULT } from '../jobs/job-files.ts'
import { createJobSums, madeAtMs, observeJobs } from '../jobs/job-list.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { openAiEmbeddings } from '../openai/openai-prompt-only.ts'
import { promptOnlyUsage } from '../openai/openai-usage.ts'
import { BEGINS_WORK } from '../paths/free-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { millisecondsIn, unitsByTool, unitsIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { type Counts, parseCount, subtractCounts, totalDisagrees } from '../reading/counts.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { ifCounted } from '../reading/usage-update.ts'
import { compileProjection, JsonScanner } from '../wires/json.ts'

/**
 * Usage of Mistral's models, also on Vertex. A stream has it on its last chunk; an unknown request field is refused
 * with 422.
 */
export const MISTRAL_OVERRIDES: OpenAiOverrides = {
  takesIncludeUsage: false,
  correct: audioIsApart,
  readUnits: connectors,
}

/**
 * Mistral's OCR: billed by the page, `usage_info.pages_processed`, and on top of it by the page that was annotated,
 * `pages_processed_annotation`; where annotations were asked for and that is not said, every page.
 * Source: docs.mistral.ai, "OCR" and "Annotations".
 */
const mistralOcr: Dialect = requestDialect({
  name: 'mistral.ocr',
  fields: {
    model: 'value',
    usage: 'usage',
    usage_info: { pages_processed: 'value', pages_processed_annotation: 'value' },
    error: 'value',
  },
  prefilter: ['usage', 'error'],
  requestFields: { document_annotation_format: 'length', bbox_annotation_format: 'length' },
  readRequest: () => ({}),
  readAnswer: (document, raw, { fields, isRead }) => {
    const usage = member(document, 'usage')
    const counted = usage === null ? null : promptOnlyUsage(usage)
    const info = member(document, 'usage_info')
    const pages = unitsIn(info?.pages_processed)
    const asked = [fields.document_annotation_format, fields.bbox_annotation_format].some(isSaid)
    const annotatedPages = unitsIn(info?.pages_processed_annotation) ?? (asked ? pages : null)
    // It is not known whether they were annotated: that counts as something beside them that has no price.
    const otherToolCalls = annotatedPages === null && !isRead ? 1 : null
    return {
      usage:
        counted && ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
      raw: usage === null ? null : raw,
      isFinal: true,
      units: pages === null && annotatedPages === null ? null : { pages, annotatedPages, otherToolCalls },
      model: textIn(document.model),
      failed: carriesError(document),
    }
  },
})

/**
 * Mistral's moderations and classifications, billed by the tokens that they read. An answer without usage is estimated by
 * its request. Source: docs.mistral.ai, "Classifiers"; mistral.ai/pricing.
 */
const mistralClassifiers: Dialect = { ...openAiEmbeddings(MISTRAL_OVERRIDES), name: 'mistral.classifiers' }

const NULL_BYTES = 'null'.length

/** By how long it is written: a format is an object. */
function isSaid(bytes: unknown): boolean {
  return typeof bytes === 'number' && bytes > NULL_BYTES
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
    fetching('GET', /\/batch\/jobs\/[^/]+$/, mistralBatch()),
    endpoint('POST', /\/(?:chat\/)?(?:moderations|classifications)$/, mistralClassifiers),
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
  refusedPaths: [
    {
      patterns: ['* **/v1/observability/**'],
      why: 'reads what all clients of the account asked and were answered',
    },
  ],
  collections: {
    'batch/jobs': 'batch',
    libraries: 'library',
    agents: 'agent',
  },
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

const PROJECTION = compileProjection({
  id: 'value',
  status: 'value',
  model: 'value',
  created_at: 'value',
  outputs: [RESULT, 'passed_on'],
})
const ENDED = /^(?:success|failed|timeout_exceeded|cancelled)$/i

/**
 * A batch of Mistral's, fetched by its id. With `?inline=true` its outputs stand in it, each as a line of the file that
 * batches leave. Each is read and released, whatever their number.
 * Source: Mistral's API reference, "Get Batch Job"; docs.mistral.ai, "Batch inference".
 */
function mistralBatch(): Dialect {
  return {
    name: 'mistral.batch',
    readsRequest: false,
    takesIncludeUsage: false,
    countsTokens: false,
    modelInPath: () => null,
    createReader: (_request, head) => createBatchReader(head.status === 200),
    textOf: () => '',
  }
}

function createBatchReader(isRead: boolean): UsageReader {
  const sums = createJobSums()
  const scanner = new JsonScanner(PROJECTION, false, null, ({ value, raw }) => {
    addResult(sums, objectIn(value), raw, MISTRAL_OVERRIDES)
  })
  return {
    push(chunk) {
      if (isRead) scanner.push(chunk)
    },
    end() {
      const job = objectIn(scanner.extracted.value)
      if (!ENDED.test(textIn(job?.status) ?? '')) return observeJobs()
      const reported = sums.jobs({
        responseId: textIn(job?.id),
        serviceTier: 'batch',
        madeAtMs: madeAtMs(job?.created_at),
      })
      return observeJobs(reported.map((use) => ({ ...use, model: use.model ?? textIn(job?.model) })))
    },
    peek: () => observeJobs(),
    revision: 0,
  }
}
