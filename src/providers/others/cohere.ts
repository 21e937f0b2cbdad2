import type { Dialect } from '../dialect.ts'
import { type Endpoint, endpoint, postTo } from '../endpoint.ts'
import type { Fields } from '../reading/body-format.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate, withoutOutput } from '../reading/usage-update.ts'
import { cohereUsage } from './cohere-usage.ts'

const PREFILTER = ['usage', 'meta', 'error']

const FIELDS: Fields = {
  usage: 'usage',
  meta: 'usage',
  model: 'value',
  finish_reason: 'value',
  error: 'value',
  delta: { usage: 'usage', finish_reason: 'value', error: 'value' },
  response: { meta: 'usage', finish_reason: 'value' },
}

/**
 * Cohere's chat: v2 (`usage` at the root; streamed as server-sent events, in `message-end`) and v1 (`meta`;
 * streamed as lines, in `stream-end`), and v1's generate. https://docs.cohere.com/reference/chat
 */
export const cohereChat: Dialect = { ...dialect('cohere.chat', read), isChat: true }

/** rerank, billed by search units, and classify. https://docs.cohere.com/reference/rerank */
export const cohereRerank: Dialect = {
  ...dialect('cohere.rerank', withoutGenerated),
  countsTokens: false,
  generatesNothing: true,
}

/** embed, billed by tokens or images. https://docs.cohere.com/reference/embed */
export const cohereEmbed: Dialect = {
  ...dialect('cohere.embed', withoutGenerated),
  generatesNothing: true,
}

/** Version 2 of Cohere's interface, which others have too. */
export const COHERE_V2_ENDPOINTS: readonly Endpoint[] = [
  postTo('/v2/chat', cohereChat),
  endpoint('POST', /\/v[12]\/embed$/, cohereEmbed),
]

function dialect(name: string, reading: (document: JsonObject, raw: string | null) => UsageUpdate): Dialect {
  return jsonDialect({
    name,
    fields: FIELDS,
    prefilter: PREFILTER,
    namesItselfFirst: true,
    read: reading,
    textOf,
  })
}

/** An answer's end that is none: https://docs.cohere.com/reference/chat-stream */
const FAILED = /^ERROR/

function read(document: JsonObject, raw: string | null): UsageUpdate {
  const delta = member(document, 'delta')
  const response = member(document, 'response')
  const written =
    member(document, 'usage') ??
    member(delta, 'usage') ??
    member(response, 'meta') ??
    member(document, 'meta')
  const usage = written === null ? null : cohereUsage(written)
  const reasons = [delta, response, document].map((part) => textIn(part?.finish_reason))
  return {
    usage: usage === null ? null : ifCounted(usage),
    raw,
    isFinal: true,
    units: usage?.units ?? null,
    model: textIn(document.model),
    failed: carriesError(document) || reasons.some((reason) => reason !== null && FAILED.test(reason)),
  }
}

function withoutGenerated(document: JsonObject, raw: string | null): UsageUpdate {
  const update = read(document, raw)
  return { ...update, usage: update.usage ? withoutOutput(update.usage) : null }
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
  const projection = textIn(message?.tool_plan) ?? ''
  return [textIn(document?.text) ?? '', projection, ...contents, ...calls].join('')
}
