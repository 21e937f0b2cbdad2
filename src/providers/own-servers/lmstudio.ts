import type { Dialect } from '../dialect.ts'
import { postTo } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { SERVER } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { carriesError } from '../reading/body-format.ts'
import { countUsage, parseCount } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'

const RESULT = { model_instance_id: 'value', stats: 'usage' } as const

/**
 * LM Studio's own chat, `/api/v1/chat`: `stats` with `input_tokens` and `total_output_tokens`, in a stream in the
 * `chat.end` event's `result`. Source: lmstudio.ai/docs/developer/rest, "Chat" and "Streaming events".
 */
const lmStudioChat: Dialect = jsonDialect({
  name: 'lmstudio.chat',
  isChat: true,
  fields: { ...RESULT, error: 'value', result: RESULT },
  prefilter: ['stats', 'error', 'model_instance_id'],
  read: (document) => {
    const result = member(document, 'result') ?? document
    const stats = member(result, 'stats')
    return {
      model: textIn(result.model_instance_id),
      failed: carriesError(document),
      isFinal: true,
      usage:
        stats === null
          ? null
          : countUsage({
              inputTokens: parseCount(stats.input_tokens),
              outputTokens: parseCount(stats.total_output_tokens),
              reasoningTokens: parseCount(stats.reasoning_output_tokens),
            }),
    }
  },
  textOf(json) {
    const document = objectIn(json)
    if (typeof document?.type === 'string') {
      return document.type.endsWith('.delta') ? (textIn(document.content) ?? '') : ''
    }
    return objectsIn(document?.output)
      .map((item) => textIn(item.content) ?? '')
      .join('')
  },
})

export const lmStudio: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [postTo('/api/v1/chat', lmStudioChat)],
  refusedPaths: [
    {
      patterns: ['POST **/models/load', 'POST **/models/unload', 'POST **/models/download'],
      why: SERVER,
    },
  ],
}
