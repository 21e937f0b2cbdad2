import type { Dialect, ResponseHead } from '../dialect.ts'
import { ANSWER_COUNTS, type Endpoint } from '../dialect.ts'
import { ChatAccumulator, COMPLETION, openAiChat } from '../openai/openai-chat.ts'
import { type OpenAiOverrides, USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { bodyFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { parseCount } from '../reading/counts.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { createTgiAccumulator, TGI_FORMAT, tgiText } from './tgi-generate.ts'

/** Rankings of older versions write a total alone. */
const OF_ANY_TASK: OpenAiOverrides = {
  ...USAGE_IF_ASKED,
  correct: (counts, { total_tokens }) =>
    (counts.inputTokens ?? null) === null && (counts.outputTokens ?? null) === null
      ? { ...counts, inputTokens: parseCount(total_tokens), outputTokens: 0 }
      : counts,
}

const CHAT = openAiChat(OF_ANY_TASK)
const FORMAT = bodyFormat({
  fields: { ...COMPLETION, ...TGI_FORMAT.fields },
  prefilter: ['usage', 'error', 'details'],
  laterReplaces: true,
})

/** The body of a chat counts more than TGI's headers, which stand beside it too. */
function createAccumulator(head: ResponseHead): UsageAccumulator {
  const chat = new ChatAccumulator(OF_ANY_TASK)
  const tgi = createTgiAccumulator(head)
  return {
    get wantsEvery() {
      return chat.wantsEvery
    },
    add(document, raw, isError) {
      const inChat = chat.add(document, raw, isError)
      return tgi.add(document, raw, isError) || inChat
    },
    snapshot(ended) {
      const found = chat.snapshot(ended)
      return found.usageSource === 'none' ? { ...tgi.snapshot(ended), model: found.model } : found
    },
  }
}

/**
 * SageMaker's one path for all that a server does: the body decides whether it is a chat, a completion, an embedding, a
 * score, a ranking or a classification. Each answers as at its own path, and TGI as at `/generate` and in chat.
 * Source: vLLM's `entrypoints/sagemaker/api_router.py`, TGI's `router/src/sagemaker.rs`.
 */
const invocations: Dialect = {
  ...CHAT,
  name: 'sagemaker.invocations',
  answers: ANSWER_COUNTS.invocations,
  outputBound: 'root_raised_by_settings',
  ranks: true,
  createReader: (_request, head) =>
    createBodyReader(head, { ...FORMAT, createAccumulator: () => createAccumulator(head) }),
  textOf: (json) => CHAT.textOf(json) || tgiText(json),
}

const AMAZONS = /\/endpoints\/[^/]+\/invocations$/

/** An endpoint of Amazon's own may have any server behind it. */
export const INVOCATIONS: Endpoint = {
  method: 'POST',
  matches: (_path, lowerPath) => lowerPath.endsWith('/invocations') && !AMAZONS.test(lowerPath),
  dialect: invocations,
}
