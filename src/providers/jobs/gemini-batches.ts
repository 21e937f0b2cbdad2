import type { Dialect, UsageReader } from '../dialect.ts'
import { geminiUsage } from '../google/gemini-usage.ts'
import { member, objectIn, textIn } from '../reading/json-value.ts'
import { asBuffer } from '../wires/elements.ts'
import { compileProjection, type Extracted, JsonScanner } from '../wires/json.ts'
import { createArraySplitter } from '../wires/json-array.ts'
import { scanJson } from '../wires/scan-json.ts'
import { createJobSums, madeAtMs, observeJobs } from './job-list.ts'

const PROJECTION = compileProjection({
  done: 'value',
  metadata: { model: 'value', state: 'value', createTime: 'value' },
})
const RESPONSE = compileProjection({ response: { modelVersion: 'value', usageMetadata: 'usage' } })
/** The text with which the responses begin. Text inside a string before it has its quotes escaped. */
const RESPONSES = /"inlinedResponses"\s*:\s*(?=\[)/
/** Length of one chunk's end, kept before the next: longer than what begins the responses. */
const MAX_BEFORE_BYTES = 128

/**
 * A batch of Gemini's, fetched by its id: its responses stand in it, each with its usage, or in a file that is read
 * elsewhere. Each response is read and released, whatever their number.
 * Source: ai.google.dev/gemini-api/docs/batch-api.
 */
export const geminiBatch: Dialect = {
  name: 'gemini.batch',
  readsRequest: false,
  takesIncludeUsage: false,
  countsTokens: false,
  tokenizerFamily: 'gemini',
  modelInPath: () => null,
  createReader: ({ path }, head) =>
    createBatchReader(path.slice(path.lastIndexOf('/') + 1), head.status === 200),
  textOf: () => '',
}

function createBatchReader(id: string, isRead: boolean): UsageReader {
  const whole = new JsonScanner(PROJECTION)
  const sums = createJobSums()
  let scanner: JsonScanner | null = null
  let before = ''
  let inResponses = false
  let count = 0

  const add = ({ value, raw }: Extracted): void => {
    const response = member(value, 'response')
    const metadata = member(response, 'usageMetadata')
    const usage = metadata === null ? null : geminiUsage(metadata)
    if (usage === null) return
    count += 1
    sums.add(textIn(response?.modelVersion), usage, null, raw)
  }
  const responses = createArraySplitter({
    whole: (bytes) => add(scanJson(bytes, RESPONSE)),
    piece(bytes, last) {
      scanner ??= new JsonScanner(RESPONSE)
      scanner.push(bytes)
      if (!last) return
      scanner.end()
      add(scanner.extracted)
      scanner = null
    },
  })
  const observed = (ended: boolean) => {
    const metadata = member(whole.extracted.value, 'metadata')
    const hasEnded =
      objectIn(whole.extracted.value)?.done === true || /_SUCCEEDED$/.test(textIn(metadata?.state) ?? '')
    if (!ended || !hasEnded || count === 0) return observeJobs()
    const model = textIn(metadata?.model)?.replace(/^models\//, '') ?? null
    const jobs = sums
      .jobs({ responseId: id, serviceTier: 'batch', madeAtMs: madeAtMs(metadata?.createTime) })
      .map((job) => ({ ...job, model: job.model ?? model }))
    return observeJobs(jobs)
  }

  return {
    push(chunk) {
      if (!isRead) return
      const bytes = asBuffer(chunk)
      whole.push(bytes)
      if (inResponses) {
        responses.push(bytes)
        return
      }
      const text = before + bytes.toString('latin1')
      const start = RESPONSES.exec(text)
      if (start === null) {
        before = text.slice(-MAX_BEFORE_BYTES)
        return
      }
      inResponses = true
      responses.push(Buffer.from(text.slice(start.index + start[0].length), 'latin1'))
    },
    end: () => observed(true),
    peek: () => observed(false),
    revision: 0,
  }
}
