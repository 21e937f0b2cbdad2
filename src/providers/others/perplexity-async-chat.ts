import type { Dialect } from '../dialect.ts'
import { madeAtMs } from '../jobs/submitted-at.ts'
import { ChatAccumulator, COMPLETION } from '../openai/chat-accumulator.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'

/**
 * Perplexity's asynchronous chat: the completion stands in `response` of a request that is fetched by its id until
 * it has ended, and may be fetched again. Source: docs.perplexity.ai, "Async chat completions".
 */
export function perplexityAsyncChat(overrides: OpenAiOverrides): Dialect {
  return jsonDialect({
    name: 'perplexity.async-chat',
    countsTokens: false,
    fields: {
      id: 'value',
      model: 'value',
      status: 'value',
      created_at: 'value',
      response: COMPLETION,
    },
    prefilter: ['usage', 'error'],
    createAccumulator: () => createAsyncAccumulator(new ChatAccumulator(overrides)),
    textOf: (json) => chatText(member(objectIn(json), 'response')),
  })
}

function createAsyncAccumulator(completion: UsageAccumulator): UsageAccumulator {
  let request: JsonObject = {}
  return {
    wantsEvery: false,
    add(document, raw, isError) {
      request = document ?? {}
      completion.add(objectIn(request.response), raw, isError)
      return true
    },
    snapshot(ended) {
      const observed = completion.snapshot(ended)
      const status = textIn(request.status)
      return {
        ...observed,
        model: observed.model ?? textIn(request.model),
        failed: observed.failed || status === 'FAILED',
        responseId: textIn(request.id),
        ...(request.created_at === undefined ? {} : { madeAtMs: madeAtMs(request.created_at) }),
        pending: status === 'CREATED' || status === 'IN_PROGRESS',
      }
    },
  }
}
