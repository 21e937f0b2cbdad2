import type { BilledUnits } from '../../call/usage.ts'
import { madeAndListedAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, type Endpoint, endpoint, postTo } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { RANKS } from '../openai/openai-prompt-only.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { unitsIn } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { carriesError } from '../reading/body-format.ts'
import { addCounts, type CountedUsage, countUsage, firstCount, parseCount } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate, withoutOutput } from '../reading/usage-update.ts'

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
const cohereChat: Dialect = { ...dialect('cohere.chat', read), isChat: true }

/** rerank, billed by search units, and classify. https://docs.cohere.com/reference/rerank */
export const cohereRerank: Dialect = {
  ...dialect('cohere.rerank', withoutGenerated),
  ...RANKS,
  countsTokens: false,
  generatesNothing: true,
}

/** embed, billed by tokens or images. https://docs.cohere.com/reference/embed */
const cohereEmbed: Dialect = {
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
  const calls = [...arrayIn(message?.tool_calls), message?.tool_calls].map((call) => {
    const called = member(call, 'function')
    return (textIn(called?.name) ?? '') + (textIn(called?.arguments) ?? '')
  })
  const projection = textIn(message?.tool_plan) ?? ''
  return [textIn(document?.text) ?? '', projection, ...contents, ...calls].join('')
}

/** Reads what Cohere says a call used. */
interface CohereUsage extends CountedUsage {
  readonly units: Pick<BilledUnits, 'searchUnits' | 'images'>
}

/**
 * `usage` of v2 and `meta` of v1. What is billed is in `billed_units`; `tokens` beside it has the prompt's template
 * and the hidden tokens too, and `cached_tokens` is a part of those, so neither is a part of what is billed.
 * https://docs.cohere.com/reference/chat
 * @returns `null` when nothing is billed
 */
export function cohereUsage(usage: JsonObject): CohereUsage | null {
  const billed = member(usage, 'billed_units')
  const tokens = member(usage, 'tokens')
  const input = firstCount(parseCount(billed?.input_tokens), parseCount(tokens?.input_tokens))
  const imageTokens = parseCount(billed?.image_tokens)
  const output = firstCount(parseCount(billed?.output_tokens), parseCount(tokens?.output_tokens))
  const searchUnits = unitsIn(billed?.search_units)
  const images = unitsIn(billed?.images)
  if (firstCount(input, output, imageTokens, searchUnits, images) === null) return null
  const counted = countUsage({
    inputTokens: addCounts(input, imageTokens),
    outputTokens: output,
    imageInputTokens: imageTokens,
  })
  return { ...counted, units: { searchUnits, images } }
}

/** Cohere itself. */
export const cohere: HostedProvider = {
  hosts: ['api.cohere.com', 'api.cohere.ai'],
  credential: BEARER,
  catalog: madeAndListedAs('cohere', ['cohere']),
  apis: ['cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [
    ...COHERE_V2_ENDPOINTS,
    endpoint('POST', /\/v1\/(?:chat|summarize)$/, cohereChat),
    endpoint('POST', /\/v1\/generate$/, {
      ...cohereChat,
      name: 'cohere.generate',
      answers: ANSWER_COUNTS.cohereGenerate,
    }),
    endpoint('POST', /\/(?:rerank|classify)$/, cohereRerank),
  ],
  collections: {
    datasets: 'dataset',
    'embed-jobs': 'batch',
    'finetuning/finetuned-models': 'tuned_model',
  },
}
