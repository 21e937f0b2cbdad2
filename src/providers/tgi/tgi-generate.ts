import type { Dialect, ResponseHead } from '../dialect.ts'
import { ANSWER_COUNTS } from '../dialect.ts'
import { bodyFormat, carriesError } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { countUsage, firstCount, parseCount } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import {
  createUpdateAccumulator,
  ifCounted,
  type UsageAccumulator,
  type UsageUpdate,
} from '../reading/usage-update.ts'

/** The fields of TGI's own answers. */
export const TGI_FORMAT = {
  fields: {
    details: { generated_tokens: 'value', input_length: 'value', finish_reason: 'value' },
    error: 'value',
  },
  prefilter: ['details', 'error'],
} as const

const FORMAT = bodyFormat(TGI_FORMAT)

/**
 * Text Generation Inference's own `/generate`, `/generate_stream` and `/`: whole answers count in headers, one
 * object or an array of one; a stream's last event has `details`.
 * https://huggingface.github.io/text-generation-inference/
 */
export const tgiGenerate: Dialect = {
  name: 'tgi.generate',
  answers: ANSWER_COUNTS.tgi,
  outputBound: 'settings',
  readsRequest: true,
  takesIncludeUsage: false,
  isChat: true,
  modelInPath: () => null,
  createReader: (_request, head) =>
    createBodyReader(head, {
      ...FORMAT,
      createAccumulator: () => createTgiAccumulator(head),
    }),
  textOf: tgiText,
}

/**
 * Vertex's path of Text Generation Inference: prompts or chats in `instances`, and a text for each without any count.
 * Source: its `router/src/vertex.rs`.
 */
export const tgiVertex: Dialect = jsonDialect({
  name: 'tgi.vertex',
  fields: { error: 'value' },
  prefilter: ['error'],
  answers: ANSWER_COUNTS.tgiVertex,
  outputBound: 'unknown',
  isChat: true,
  read: (document) => ({ failed: carriesError(document) }),
  textOf: (json) =>
    arrayIn(objectIn(json)?.predictions)
      .map((text) => textIn(text) ?? '')
      .join(''),
})

export function createTgiAccumulator(head: ResponseHead): UsageAccumulator {
  return createUpdateAccumulator((document) => readDetails(document, head), readHeaders(head))
}

/** The text of an answer of TGI's own, or of an event. */
export function tgiText(json: unknown): string {
  const answers = Array.isArray(json) ? json : [json]
  return answers.map((answer) => textIn(objectIn(answer)?.generated_text) ?? textOfToken(answer)).join('')
}

function readHeaders(head: ResponseHead): UsageUpdate {
  const said = {
    'x-prompt-tokens': head.headers['x-prompt-tokens'],
    'x-generated-tokens': head.headers['x-generated-tokens'],
  }
  const counted = ifCounted(
    countUsage({
      inputTokens: parseCount(said['x-prompt-tokens']),
      outputTokens: parseCount(said['x-generated-tokens']),
    }),
  )
  return counted === null ? {} : { usage: counted, raw: JSON.stringify(said), isFinal: true }
}

/** Counts of the body, for what the headers do not say: with `best_of` only they count every sequence. */
function readDetails(document: JsonObject, head: ResponseHead): UsageUpdate {
  const { headers } = head
  const details = member(document, 'details')
  const { generated_tokens, input_length } = details ?? {}
  const counted = ifCounted(
    countUsage({
      inputTokens: firstCount(parseCount(headers['x-prompt-tokens']), parseCount(input_length)),
      outputTokens: firstCount(parseCount(headers['x-generated-tokens']), parseCount(generated_tokens)),
    }),
  )
  return {
    usage: details === null ? null : counted,
    raw: details === null ? null : JSON.stringify({ generated_tokens, input_length }),
    isFinal: true,
    failed: carriesError(document),
  }
}

function textOfToken(event: unknown): string {
  return textIn(member(event, 'token')?.text) ?? ''
}
