import { type BodyFormat, createBodyReader } from './body-reader.ts'
import { countUsage, parseCount, saysTokens } from './counts.ts'
import type { Dialect } from './dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from './json-value.ts'
import { createToldGatherer, type Told, withoutOutput } from './told.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/**
 * Ollama's own `/api/chat` and `/api/generate`. A stream, one document a line, unless the request says otherwise;
 * the one with `done` has the counts. Older servers leave `prompt_eval_count` out when the prompt was cached.
 * https://github.com/ollama/ollama/blob/main/docs/api.md
 */
export const ollamaChat: Dialect = dialect('ollama.chat', readAnswer)

/** `/api/embed`, and `/api/embeddings` before it, which reports nothing. */
export const ollamaEmbed: Dialect = dialect('ollama.embed', (document) => {
  const told = readAnswer(document)
  return { ...told, usage: told.usage ? withoutOutput(told.usage) : null, isFinal: true }
})

function dialect(name: string, read: (document: JsonObject) => Told): Dialect {
  const document: BodyFormat = {
    plan: PLAN,
    findTelling: findMembers(['eval_count', 'prompt_eval_count', 'error']),
    createGatherer: () => createToldGatherer(read),
  }
  const lines: BodyFormat = { ...document, isLines: true }
  return {
    name,
    readsRequest: true,
    takesIncludeUsage: false,
    errorShape: 'openai',
    modelInPath: () => null,
    createReader: (request, head) => createBodyReader(head, request.stream === false ? document : lines),
    textOf,
  }
}

const PLAN = planJson({
  model: 'value',
  done: 'value',
  prompt_eval_count: 'value',
  eval_count: 'value',
  error: 'value',
})

function readAnswer(document: JsonObject): Told {
  const { prompt_eval_count, eval_count } = document
  const counted = countUsage({
    inputTokens: parseCount(prompt_eval_count),
    outputTokens: parseCount(eval_count),
  })
  return {
    usage: saysTokens(counted.usage) || counted.invalid ? counted : null,
    raw: JSON.stringify({ prompt_eval_count, eval_count }),
    isFinal: document.done === true,
    model: textIn(document.model),
    failed: document.error !== undefined && document.error !== null,
  }
}

function textOf(json: unknown): string {
  const document = objectIn(json)
  const message = member(document, 'message')
  const calls = arrayIn(message?.tool_calls).map((call) =>
    JSON.stringify(member(call, 'function')?.arguments ?? {}),
  )
  return [document?.thinking, document?.response, message?.thinking, message?.content, ...calls]
    .map((text) => textIn(text) ?? '')
    .join('')
}
