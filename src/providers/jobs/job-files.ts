import type { Dialect, ResponseHead } from '../dialect.ts'
import { createUsageShapes } from '../generic-usage.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { type JsonObject, member, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { createJobSums, type JobSums, observeJobs } from './job-list.ts'

const BODY = { model: 'value', modelVersion: 'value', usage: 'usage', usageMetadata: 'usage' } as const
/** A line of such a file, as far as it is read. */
export const RESULT: Fields = { response: { ...BODY, body: BODY } }
const FILE = /\/files\/([^/:]+)(?:\/content|:download)$/

const FORMAT = bodyFormat({ fields: RESULT, prefilter: ['usage', 'usageMetadata'], isLines: true })

/**
 * The content of a file: of one that a batch left, each line has a response with its usage (OpenAI's, Azure's and
 * Mistral's in `response.body`, Gemini's in `response`). Whether it is such a file is known only where the job that left it
 * is known, so it counts there or not at all. One that is not read to its end reports nothing: the client has to read it
 * again.
 * Source: OpenAI's guide "Batch API", docs.mistral.ai "Batch inference", ai.google.dev/gemini-api/docs/batch-api.
 */
export function jobFile(overrides: OpenAiOverrides): Dialect {
  return {
    name: 'job-file',
    readsRequest: false,
    takesIncludeUsage: false,
    modelInPath: () => null,
    createReader: ({ path }, head) =>
      createBodyReader(asLines(head), {
        ...FORMAT,
        createAccumulator: () =>
          createFileAccumulator(head.status === 200 ? (FILE.exec(path)?.[1] ?? null) : null, overrides),
      }),
    textOf: () => '',
  }
}

/** Files come as bytes of no known kind. */
function asLines(head: ResponseHead): ResponseHead {
  const type = String(head.headers['content-type'] ?? '')
  return /^(?:$|application\/|binary\/|text\/)/i.test(type)
    ? { ...head, headers: { ...head.headers, 'content-type': 'application/jsonl' } }
    : head
}

function createFileAccumulator(fileId: string | null, overrides: OpenAiOverrides): UsageAccumulator {
  const sums = createJobSums()
  return {
    wantsEvery: false,
    add: (document, raw) => addResult(sums, document, raw, overrides),
    snapshot(ended) {
      const jobs = sums.jobs({ responseId: fileId, serviceTier: 'batch', isFile: true })
      return observeJobs(ended && fileId !== null ? jobs : [])
    },
  }
}

/** Adds what one request used; gives whether it says that. */
export function addResult(
  sums: JobSums,
  document: JsonObject | null,
  raw: string | null,
  overrides: OpenAiOverrides,
): boolean {
  const response = member(document, 'response')
  const body = member(response, 'body') ?? response
  const found = body === null ? null : createUsageShapes(overrides).read(body, body)
  if (body === null || !found?.usage) return false
  const units = found.units ?? overrides.readUnits?.(member(body, 'usage') ?? {}) ?? null
  sums.add(textIn(body.model) ?? textIn(body.modelVersion), found.usage, units, raw)
  return true
}
