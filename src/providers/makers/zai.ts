import { listedAs } from '../catalog-lists.ts'
import { fetching, postTo } from '../dialect.ts'
import { ChatAccumulator, COMPLETION } from '../openai/openai-chat.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'

/**
 * Chat that is put into a queue: the answer has an id alone, and the completion is fetched by it until it is there, and
 * as often as one likes. Source: docs.z.ai and docs.bigmodel.cn, "Asynchronous chat completion".
 */
const zaiAsyncChat = jsonDialect({
  name: 'zai.async-chat',
  countsTokens: false,
  fields: { ...COMPLETION, id: 'value', task_status: 'value' },
  prefilter: ['usage', 'error'],
  createAccumulator: () => createAsyncAccumulator(new ChatAccumulator(USAGE_IF_ASKED)),
  textOf: chatText,
})

function createAsyncAccumulator(completion: UsageAccumulator): UsageAccumulator {
  let task: JsonObject = {}
  return {
    wantsEvery: false,
    add(document, raw, isError) {
      task = document ?? {}
      return completion.add(document, raw, isError)
    },
    snapshot(ended) {
      const observed = completion.snapshot(ended)
      const status = textIn(task.task_status)
      return {
        ...observed,
        failed: observed.failed || status === 'FAIL',
        responseId: textIn(task.id),
        pending: status === 'PROCESSING',
      }
    },
  }
}

/** Z.ai itself. */
export const zai: HostedProvider = {
  hosts: ['api.z.ai', 'open.bigmodel.cn'],
  credential: BEARER,
  catalog: listedAs('zai'),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [
    postTo('/async/chat/completions', zaiAsyncChat),
    fetching('GET', /\/async-result\/[^/]+$/, zaiAsyncChat),
  ],
  collections: {
    'async-result': 'async_completion',
  },
}
