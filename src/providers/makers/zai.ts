import { listedAs } from '../catalog-lists.ts'
import { type Dialect, endpoint, fetching, type RequestContext } from '../dialect.ts'
import { ChatAccumulator, COMPLETION } from '../openai/openai-chat.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { bodyFormat, type UsageFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'

const FORMAT = {
  fields: {
    ...COMPLETION,
    id: 'value',
    task_status: 'value',
    video_result: ['length'],
    image_result: ['length'],
  },
  prefilter: ['usage', 'error'],
} as const satisfies UsageFormat

/**
 * Chat, pictures and films that are put into a queue: the answer has an id alone, and the result is fetched by it until
 * it is there, and as often as one likes. A film costs the same whatever its length, which its result does not tell.
 * Source: docs.z.ai and docs.bigmodel.cn, "Asynchronous chat completion", "Generate Image(Async)",
 * "Generate Video(Async)", "Retrieve Result".
 */
const zaiQueue: Dialect = {
  ...jsonDialect({ name: 'zai.queue', countsTokens: false, ...FORMAT, textOf: chatText }),
  createReader: (request, head) =>
    createBodyReader(head, {
      ...bodyFormat(FORMAT),
      createAccumulator: () => createTaskAccumulator(request),
    }),
}

function createTaskAccumulator({ method, path }: RequestContext): UsageAccumulator {
  const completion = new ChatAccumulator(USAGE_IF_ASKED)
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
      const images = arrayIn(task.image_result).length || null
      const otherToolCalls = arrayIn(task.video_result).length || null
      return {
        ...observed,
        units: (images ?? otherToolCalls) ? { ...observed.units, images, otherToolCalls } : observed.units,
        failed: observed.failed || status === 'FAIL',
        // A result need not say its id.
        responseId: method === 'GET' ? path.slice(path.lastIndexOf('/') + 1) : textIn(task.id),
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
    endpoint('POST', /\/(?:async\/chat\/completions|(?:async\/images|videos)\/generations)$/, zaiQueue),
    fetching('GET', /\/async-result\/[^/]+$/, zaiQueue),
  ],
  fetchedAt: [[/(\/paas\/v\d+)\/(?:async|videos)\/.*$/i, '$1/async-result']],
  collections: {
    'async-result': 'async_completion',
    'async/images': 'async_completion',
  },
}
