import type { Dialect } from '../dialect.ts'
import { type Endpoint, endpoint } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { OLLAMA_FREE } from '../paths/free-paths.ts'
import { OLLAMA_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { bodyFormat, carriesError, type Fields, type UsageFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { countUsage, parseCount } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate, withoutOutput } from '../reading/usage-update.ts'

const FIELDS: Fields = {
  model: 'value',
  done: 'value',
  prompt_eval_count: 'value',
  prompt_eval_cached_count: 'value',
  eval_count: 'value',
  error: 'value',
}

/**
 * Ollama's own `/api/chat` and `/api/generate`. A stream, one document a line, unless the request says otherwise;
 * the one with `done` has the counts; those of the prompt have the cached ones in them. Older servers leave
 * `prompt_eval_count` out when the prompt was cached.
 * https://github.com/ollama/ollama/blob/main/docs/api.md
 */
const ollamaChat: Dialect = {
  ...dialect('ollama.chat', readAnswer),
  isChat: true,
  outputBound: 'settings',
}

/** `/api/embed`, and `/api/embeddings` before it, which reports nothing. */
const ollamaEmbed: Dialect = {
  ...dialect('ollama.embed', (document) => {
    const update = readAnswer(document)
    return { ...update, usage: update.usage ? withoutOutput(update.usage) : null, isFinal: true }
  }),
  generatesNothing: true,
}

export const OLLAMA_ENDPOINTS: readonly Endpoint[] = [
  endpoint('POST', /\/api\/(?:chat|generate)$/, ollamaChat),
  endpoint('POST', /\/api\/(?:embed|embeddings)$/, ollamaEmbed),
]

function dialect(name: string, read: (document: JsonObject) => UsageUpdate): Dialect {
  const document: UsageFormat = {
    fields: FIELDS,
    prefilter: ['eval_count', 'prompt_eval_count', 'error'],
    laterReplaces: true,
    read,
  }
  const whole = bodyFormat(document)
  const lines = bodyFormat({ ...document, isLines: true })
  return {
    ...jsonDialect({ name, ...document, textOf }),
    streamsByDefault: true,
    createReader: (request, head) => createBodyReader(head, request.stream === false ? whole : lines),
  }
}

function readAnswer(document: JsonObject): UsageUpdate {
  const { prompt_eval_count, prompt_eval_cached_count, eval_count } = document
  const usage = ifCounted(
    countUsage({
      inputTokens: parseCount(prompt_eval_count),
      cacheReadTokens: parseCount(prompt_eval_cached_count),
      outputTokens: parseCount(eval_count),
    }),
  )
  return {
    usage,
    raw: usage === null ? null : JSON.stringify({ prompt_eval_count, prompt_eval_cached_count, eval_count }),
    // A whole answer is read as it comes, and `eval_count` stands last.
    isFinal: document.done === true && eval_count !== undefined,
    model: textIn(document.model),
    failed: carriesError(document),
  }
}

function textOf(json: unknown): string {
  const document = objectIn(json)
  const message = member(document, 'message')
  const calls = arrayIn(message?.tool_calls).map((call) => {
    const called = member(call, 'function')
    return `${textIn(called?.name) ?? ''}${JSON.stringify(called?.arguments ?? {})}`
  })
  return [document?.thinking, document?.response, message?.thinking, message?.content, ...calls]
    .map((text) => textIn(text) ?? '')
    .join('')
}

export const ollama: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['ollama', 'openai', 'anthropic'],
  ownPaths: ['**/api/tags', '**/api/ps', '**/api/version'],
  openAi: USAGE_IF_ASKED,
  endpoints: OLLAMA_ENDPOINTS,
  freePaths: [OLLAMA_FREE],
  refusedPaths: [OLLAMA_REFUSED],
}
