import { describe, expect, test } from 'vitest'
import { genericUsage } from '../../../src/providers/generic-usage.ts'
import { readWhole } from './judge.ts'
import { loadRecordings, type Recording } from './recordings.ts'

const recordings = loadRecordings().filter(
  ({ meta }) => meta.expected.usage_present && meta.wire !== 'websocket-jsonl',
)

/**
 * What only an endpoint's own reader knows, by the beginning of a recording's name, and the counts that are read in its
 * place. `null`: none, so that the call is unpriced.
 */
const KNOWS_LESS: readonly (readonly [
  string,
  string,
  ReadonlyMap<string, readonly [number | null, number | null]>,
])[] = [
  [
    'usage in headers, and in members of a stream that only one model family has',
    'bedrock-invoke-',
    new Map([
      ['stream-stream-03-cache-write-invocation-metrics', [null, null]],
      ['stream-stream-04-invocation-metrics', [null, null]],
      ['stream-stream-06-invocation-metrics', [null, null]],
      ['stream-stream-07-invocation-metrics-real-chunk-boundaries', [null, null]],
      ['sync-03-usage-in-headers', [null, null]],
      ['sync-05-float-usage-usage-in-headers', [null, null]],
      ['sync-06-usage-in-headers', [null, null]],
    ]),
  ],
  ['usage in headers', 'tgi-generate-', new Map([['sync-01-usage-in-headers', [null, null]]])],
  [
    'audio that is in the total alone',
    'mistral-',
    new Map([
      ['audio-transcriptions-sync-01-audio-in', [3, 11]],
      ['chat-completions-stream-01-cached-audio-in', [11, 15]],
    ]),
  ],
  [
    'reasoning that is beside the output',
    'vercel-gateway-chat-completions-',
    new Map([
      ['stream-02-reasoning-usage-on-content-chunk', [28, 9]],
      ['sync-01-reasoning-cost', [28, 5]],
    ]),
  ],
  [
    'reasoning that is beside the output',
    'xai-chat-completions-',
    new Map([
      ['stream-02-cached-reasoning', [173, 12]],
      ['sync-02-cached-reasoning', [288, 27]],
    ]),
  ],
  ['that an embedding has no output', 'ollama-api-embed-', new Map([['sync-01', [9, null]]])],
  ['that an embedding has no output', 'vertex-embedContent-', new Map([['sync-01', [11, null]]])],
]

function expectedOf({ id, meta }: Recording): readonly [number | null, number | null] {
  for (const [, beginning, exceptions] of KNOWS_LESS) {
    const exception = id.startsWith(beginning) ? exceptions.get(id.slice(beginning.length)) : undefined
    if (exception !== undefined) return exception
  }
  return [meta.expected.input_tokens, meta.expected.output_tokens]
}

describe('recorded responses, read as if on unknown paths', () => {
  for (const recording of recordings) {
    test(`${recording.id} has the input and output it should`, () => {
      const { id, meta, path, headers, body } = recording
      const request = { method: meta.method, path, model: null, stream: null }
      const head = { status: meta.status, headers }
      const { usage } = readWhole({ id, dialect: genericUsage, request, head, body })
      expect([usage.inputTokens, usage.outputTokens]).toEqual(expectedOf(recording))
    })
  }
})
