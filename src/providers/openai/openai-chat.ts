import { ANSWER_COUNTS, type AnswerCounts } from '../answer-counts.ts'
import type { Dialect } from '../dialect.ts'
import { deploymentIn } from '../endpoint.ts'
import { COMPOUND, EXECUTED } from '../others/groq-compound.ts'
import type { UsageFormat } from '../reading/body-format.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { ChatAccumulator, COMPLETION } from './chat-accumulator.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { chatText } from './openai-text.ts'

const CHAT_FORMAT: UsageFormat = { fields: COMPLETION, prefilter: ['usage', 'error'], laterReplaces: true }
const COMPOUND_FORMAT: UsageFormat = {
  fields: {
    ...COMPLETION,
    ...COMPOUND,
    choices: [{ ...COMPLETION.choices[0], ...EXECUTED }],
    x_groq: { ...COMPLETION.x_groq, ...COMPOUND },
  },
  prefilter: ['usage', 'error', 'executed_tools'],
}

/**
 * Chat completions, of OpenAI and of everyone who speaks its format.
 *
 * One body: `usage` at the root. A stream: the last `usage` that has counts, wherever it stands; nothing there
 * is a delta. It is final once a choice has finished or there is no choice beside it; before, it is the running
 * usage that some servers put on every chunk. Groq writes it a second time in `x_groq`.
 * Source: OpenAI's API reference, "Chat" and "Streaming"; differences of providers: {@link OpenAiOverrides}.
 */
export function openAiChat(overrides: OpenAiOverrides): Dialect {
  return { ...chatDialect('openai.chat-completions', ANSWER_COUNTS.chat, overrides), isChat: true }
}

/** Legacy completions: usage as in chat, without details. Source: OpenAI's API reference, "Completions". */
export function openAiCompletions(overrides: OpenAiOverrides): Dialect {
  return chatDialect('openai.completions', ANSWER_COUNTS.completions, overrides)
}

function chatDialect(name: string, answers: AnswerCounts, overrides: OpenAiOverrides): Dialect {
  return jsonDialect({
    name,
    answers,
    ...(overrides.isCompound === true ? COMPOUND_FORMAT : CHAT_FORMAT),
    createAccumulator: () => new ChatAccumulator(overrides),
    takesIncludeUsage: overrides.takesIncludeUsage,
    knowsStreamOptions: true,
    modelInPath: deploymentIn,
    textOf: chatText,
  })
}
