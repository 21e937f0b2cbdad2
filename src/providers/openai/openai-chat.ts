import type { Observation } from '../../call/observation.ts'
import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, type AnswerCounts, deploymentIn } from '../dialect.ts'
import { unitsOf } from '../reading/billed-units.ts'
import type { UsageFormat } from '../reading/body-format.ts'
import { bodyFormat, carriesError } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { boundRawUsage, observe, saysTokens, totalDisagrees } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import type { ProjectionSpec } from '../wires/json.ts'
import { COMPOUND, CompoundUse, EXECUTED } from './groq-compound.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { chatText } from './openai-text.ts'
import { chatUsage, weightOf } from './openai-usage.ts'

/** Fields of a completion. */
export const COMPLETION = {
  type: 'value',
  object: 'value',
  model: 'value',
  request_id: 'value',
  service_tier: 'value',
  usage: 'usage',
  choices: [{ finish_reason: 'value', usage: 'usage', error: 'value' }],
  x_groq: { usage: 'usage', error: 'value' },
  error: 'value',
} as const satisfies ProjectionSpec

/** Azure's first chunk names no model; a stream that names none in its first events never does. */
const MAX_EVENTS_FOR_MODEL = 4

/** Combines what the chunks of a completion report, or the whole completion. */
export class ChatAccumulator implements UsageAccumulator {
  readonly #overrides: OpenAiOverrides
  #events = 0
  #model: string | null = null
  #serviceTier: string | null = null
  #usage: JsonObject | null = null
  #raw: string | null = null
  #finished = false
  #usageIsFinal = false
  #failed = false
  #deferredId: string | null = null
  readonly #fetchedId: string | null
  readonly #compound: CompoundUse | null

  /** @param fetchedId the id by which the completion is fetched. */
  constructor(overrides: OpenAiOverrides, fetchedId: string | null = null) {
    this.#overrides = overrides
    this.#fetchedId = fetchedId
    this.#compound = overrides.isCompound === true ? new CompoundUse(overrides) : null
  }

  get wantsEvery(): boolean {
    return this.#model === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean {
    this.#events += 1
    const model = textIn(document?.model)
    const knewModel = this.#model !== null
    const hadFailed = this.#failed
    this.#model = model ?? this.#model
    this.#serviceTier = textIn(document?.service_tier) ?? this.#serviceTier
    this.#failed ||= isError || (document !== null && carriesError(document))
    if (document === null) return this.#failed !== hadFailed
    const choices = arrayIn(document.choices).map(objectIn)
    const ranTools = this.#compound?.add(document) === true
    this.#finished ||= choices.some((choice) => textIn(choice?.finish_reason) !== null)
    const usage = this.#usageIn(document, choices)
    const isDeferred = this.#overrides.defers === true && this.#deferredId === null && namesRequest(document)
    if (isDeferred) this.#deferredId = textIn(document.request_id)
    if (usage !== null) {
      this.#usageIsFinal = this.#finished || choices.length === 0
      // One that says nothing, or zeros, takes nothing back of what an earlier one said.
      if (this.#usage === null || weightOf(usage) >= weightOf(this.#usage)) {
        this.#usage = usage
        this.#raw = raw
      }
    }
    const learnedModel = !knewModel && model !== null
    return usage !== null || isDeferred || ranTools || learnedModel || this.#failed !== hadFailed
  }

  #usageIn(document: JsonObject, choices: readonly (JsonObject | null)[]): JsonObject | null {
    const usage = objectIn(document.usage) ?? member(document.x_groq, 'usage')
    if (usage !== null || this.#overrides.usageInChoices !== true) return usage
    return choices.map((choice) => member(choice, 'usage')).find((inside) => inside !== null) ?? null
  }

  snapshot(ended: boolean): Observation {
    const observed = {
      model: this.#model,
      serviceTier: this.#serviceTier,
      failed: this.#failed,
      responseId: this.#fetchedId ?? this.#deferredId,
      pending: this.#usage === null && this.#deferredId !== null,
    }
    if (this.#usage === null) return observe(observed)
    const { usage, invalid, total } = chatUsage(this.#usage, this.#overrides, this.#model)
    // One that leaves the output out is not the whole: of what was delivered the rest is estimated.
    const isWhole = usage.outputTokens !== null || invalid
    const isFinal = isWhole && (this.#usageIsFinal || (ended && !this.#failed))
    return observe({
      ...observed,
      usageSource: invalid ? 'invalid' : !saysTokens(usage) ? 'none' : isFinal ? 'reported' : 'partial',
      usage,
      units: unitsOf(this.#compound?.units() ?? this.#overrides.readUnits?.(this.#usage)),
      parts: this.#compound?.parts(usage) ?? null,
      raw: this.#raw === null ? null : boundRawUsage(this.#raw),
      totalMismatch: totalDisagrees(total, usage),
      reportedCostPico: this.#overrides.readCost?.(this.#usage) ?? null,
      serviceTier:
        this.#serviceTier ??
        textIn(this.#usage.service_tier) ??
        this.#overrides.readTier?.(this.#usage) ??
        null,
    })
  }
}

/** Tells whether an answer names the request alone by which it is fetched later. */
function namesRequest({ request_id, object, choices }: JsonObject): boolean {
  return textIn(request_id) !== null && object === undefined && choices === undefined
}

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

/** A completion that was put off, by the id that the path ends in; its own is another. */
export function deferredChat(overrides: OpenAiOverrides): Dialect {
  const format = bodyFormat(CHAT_FORMAT)
  return {
    ...openAiChat(overrides),
    createReader({ path }, head) {
      const id = path.slice(path.lastIndexOf('/') + 1)
      return createBodyReader(head, {
        ...format,
        createAccumulator: () => new ChatAccumulator(overrides, id),
      })
    },
  }
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
