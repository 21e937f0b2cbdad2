import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, endpoint, postTo } from '../dialect.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { LLAMACPP_REFUSED, RUNNING_CALLS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { bodyFormat, carriesError } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { type CountedUsage, countUsage, createUsageSum, observe, parseCount } from '../reading/counts.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { ifCounted } from '../reading/usage-update.ts'
import { compileProjection } from '../wires/json.ts'

const FORMAT = bodyFormat({
  fields: {
    model: 'value',
    index: 'value',
    stop: 'value',
    tokens_evaluated: 'value',
    tokens_predicted: 'value',
    timings: { cache_n: 'value' },
    error: 'value',
  },
  prefilter: ['tokens_evaluated', 'error'],
})

/** It takes all else out of an answer, counts and text alike: what is left may be ids of tokens alone. */
const TAKEN_OUT = compileProjection({ response_fields: 'length' })

/**
 * llama.cpp's own `/completion` and `/infill`: `tokens_evaluated` is the whole prompt, of which `timings.cache_n` came
 * from the cache, `tokens_predicted` what was generated. A stream's chunks may carry them as running counts, the
 * one with `stop` has the final ones. Several prompts in one request are answered in an array, or in a stream by
 * chunks with their own `index`: they are added.
 * https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
 */
const llamaCppCompletion: Dialect = {
  name: 'llamacpp.completion',
  answers: ANSWER_COUNTS.llamaCpp,
  readsRequest: true,
  takesIncludeUsage: false,
  answerForm: { parameters: new Map(), headers: [], members: TAKEN_OUT },
  modelInPath: () => null,
  createReader: (request, head) =>
    createBodyReader(head, {
      ...FORMAT,
      createAccumulator: () => createAccumulator(request.stream === true),
    }),
  textOf: (json) =>
    (Array.isArray(json) ? json : [json]).map((part) => textIn(objectIn(part)?.content) ?? '').join(''),
}

/** The use of one prompt's answer so far. */
interface Answer {
  readonly counted: CountedUsage
  readonly raw: string
  readonly isFinal: boolean
}

/** More prompts than any server takes at once; a stream that claims more is not worth the memory. */
const MAX_ANSWERS = 1024

/** @param isStream each document is whole when it is taken; of a single body the rest may be to come */
function createAccumulator(isStream: boolean): UsageAccumulator {
  const answers = new Map<unknown, Answer>()
  let model: string | null = null
  let failed = false

  function keep(document: JsonObject): boolean {
    const { tokens_evaluated, tokens_predicted } = document
    const cache_n = member(document, 'timings')?.cache_n
    const counted = ifCounted(
      countUsage({
        inputTokens: parseCount(tokens_evaluated),
        outputTokens: parseCount(tokens_predicted),
        cacheReadTokens: parseCount(cache_n),
      }),
    )
    // An array's answers all have the index 0, or none, in older servers; each of them is whole.
    const isWhole = document.stop === true && answers.get(document.index)?.isFinal === true
    const key = isWhole ? answers.size + MAX_ANSWERS : document.index
    if (counted === null || answers.size >= MAX_ANSWERS) return false
    const raw = JSON.stringify({ tokens_evaluated, tokens_predicted, cache_n })
    answers.set(key, { counted, raw, isFinal: document.stop === true })
    return true
  }

  return {
    wantsEvery: false,
    add(document, _raw, isError) {
      const hadFailed = failed
      failed ||= isError || (document !== null && carriesError(document))
      if (document === null) return failed !== hadFailed
      model = textIn(document.model) ?? model
      return keep(document) || failed !== hadFailed
    },
    snapshot(ended) {
      const sum = createUsageSum()
      for (const { counted, raw } of answers.values()) sum.add(counted, false, raw)
      const isFinal = isStream && [...answers.values()].every((answer) => answer.isFinal)
      return observe({ ...sum.observed(isFinal || (ended && !failed)), model, failed })
    },
  }
}

export const llamaCpp: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  // `/completions` is its own only outside `/v1`, and `/api/chat` is chat in OpenAI's format.
  endpoints: [
    endpoint('POST', /\/(?:completion|infill)$|(?<!\/v1|\/chat)\/completions$/, llamaCppCompletion),
    postTo('/api/chat', openAiChat(USAGE_IF_ASKED)),
  ],
  freePaths: [{ patterns: ['POST **/apply-template'], why: 'writes a prompt out, generates nothing' }],
  refusedPaths: [LLAMACPP_REFUSED, RUNNING_CALLS_REFUSED],
}
