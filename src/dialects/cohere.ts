import { type BodyFormat, createBodyReader } from './body-reader.ts'
import { cohereUsage } from './cohere-usage.ts'
import type { Dialect } from './dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from './json-value.ts'
import { createToldGatherer, type Told, withoutOutput } from './told.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/**
 * Cohere's chat: v2 (`usage` at the root; streamed as server-sent events, in `message-end`) and v1 (`meta`;
 * streamed as lines, in `stream-end`). https://docs.cohere.com/reference/chat
 */
export const cohereChat: Dialect = dialect('cohere.chat', read)

/** embed, rerank, classify and v1's generate and summarize: `meta` in one document. */
export const cohereMeta: Dialect = dialect('cohere.meta', read)

/** embed, which generates nothing. */
export const cohereEmbed: Dialect = dialect('cohere.embed', (document, raw) => {
  const told = read(document, raw)
  const isTokens = told.usage !== null && told.usage !== undefined && told.usage.usage.inputTokens !== null
  return { ...told, usage: isTokens && told.usage ? withoutOutput(told.usage) : null }
})

function dialect(name: string, reading: (document: JsonObject, raw: string | null) => Told): Dialect {
  const format: BodyFormat = {
    plan: PLAN,
    findTelling: findMembers(['usage', 'meta', 'error']),
    createGatherer: () => createToldGatherer(reading),
  }
  return {
    name,
    readsRequest: true,
    takesIncludeUsage: false,
    errorShape: 'openai',
    modelInPath: () => null,
    createReader: (_request, head) => createBodyReader(head, format),
    textOf,
  }
}

const PLAN = planJson({
  usage: 'usage',
  meta: 'usage',
  model: 'value',
  finish_reason: 'value',
  error: 'value',
  delta: { usage: 'usage', finish_reason: 'value', error: 'value' },
  response: { meta: 'usage', finish_reason: 'value' },
})

/** An answer's end that is none: https://docs.cohere.com/reference/chat-stream */
const FAILED = /^ERROR/

function read(document: JsonObject, raw: string | null): Told {
  const delta = member(document, 'delta')
  const response = member(document, 'response')
  const written =
    member(document, 'usage') ??
    member(delta, 'usage') ??
    member(response, 'meta') ??
    member(document, 'meta')
  const usage = written === null ? null : cohereUsage(written)
  const reason =
    textIn(delta?.finish_reason) ?? textIn(response?.finish_reason) ?? textIn(document.finish_reason)
  const error = document.error ?? delta?.error
  return {
    usage: usage !== null && (usage.invalid || saysAny(usage.usage)) ? usage : null,
    raw,
    isFinal: true,
    units: usage?.units ?? null,
    model: textIn(document.model),
    failed: (error !== undefined && error !== null) || (reason !== null && FAILED.test(reason)),
  }
}

function saysAny(usage: {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
}): boolean {
  return usage.inputTokens !== null || usage.outputTokens !== null
}

function textOf(json: unknown): string {
  const document = objectIn(json)
  const message = member(member(document, 'delta'), 'message') ?? member(document, 'message')
  const contents = [...arrayIn(message?.content), message?.content].map((part) => {
    const content = objectIn(part)
    return (textIn(content?.text) ?? '') + (textIn(content?.thinking) ?? '')
  })
  const calls = [...arrayIn(message?.tool_calls), message?.tool_calls].map(
    (call) => textIn(member(call, 'function')?.arguments) ?? '',
  )
  const plan = textIn(message?.tool_plan) ?? ''
  return [textIn(document?.text) ?? '', plan, ...contents, ...calls].join('')
}
