import type { Dialect, UsageReader } from '../dialect.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { objectIn, textIn } from '../reading/json-value.ts'
import { compileProjection, JsonScanner } from '../wires/json.ts'
import { addResult, RESULT } from './job-files.ts'
import { createJobSums, madeAtMs, observeJobs } from './job-list.ts'

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
export function mistralBatch(overrides: OpenAiOverrides): Dialect {
  return {
    name: 'mistral.batch',
    readsRequest: false,
    takesIncludeUsage: false,
    countsTokens: false,
    modelInPath: () => null,
    createReader: (_request, head) => createBatchReader(head.status === 200, overrides),
    textOf: () => '',
  }
}

function createBatchReader(isRead: boolean, overrides: OpenAiOverrides): UsageReader {
  const sums = createJobSums()
  const scanner = new JsonScanner(PROJECTION, false, null, ({ value, raw }) => {
    addResult(sums, objectIn(value), raw, overrides)
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
