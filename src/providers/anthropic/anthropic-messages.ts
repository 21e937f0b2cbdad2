import type { Observation } from '../../call/observation.ts'
import type { Dialect } from '../dialect.ts'
import { carriesError, type UsageFormat } from '../reading/body-format.ts'
import { boundRawUsage, observe, saysTokens } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { ReadCost } from '../reading/reported-cost.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { anthropicUsage, mergeAnthropicUsage } from './anthropic-usage.ts'

/** A server that names its model in none of the first events never does. */
const MAX_EVENTS_FOR_MODEL = 4

/**
 * Anthropic's Messages API, wherever it is served.
 *
 * One body: `usage` at the root. A stream: `message_start.message.usage`, over which the usage of every
 * `message_delta` is laid field by field; it is cumulative and never added. Servers differ in what the last one
 * repeats: older ones leave `input_tokens` out, Ollama's start is an estimate. Without a `message_delta` the
 * input is known and the output is not: `partial`.
 * Source: platform.claude.com/docs, "Messages" and "Streaming messages".
 */
export const ANTHROPIC_FORMAT: UsageFormat = {
  fields: {
    type: 'value',
    model: 'value',
    usage: 'usage',
    stop_reason: 'value',
    error: 'value',
    message: { model: 'value', usage: 'usage' },
    delta: { stop_reason: 'value' },
  },
  prefilter: ['usage', 'error'],
  createAccumulator: createAnthropicAccumulator,
}

/** Combines what the documents of a message report. */
export function createAnthropicAccumulator(): UsageAccumulator {
  return new AnthropicAccumulator()
}

export const anthropicMessages: Dialect = jsonDialect({
  name: 'anthropic.messages',
  ...ANTHROPIC_FORMAT,
  isChat: true,
  tokenizerFamily: 'claude',
  textOf: anthropicText,
})

/** The same at a router whose usage says what a call cost. */
export function messagesWithCost(readCost: ReadCost | undefined): Dialect {
  if (readCost === undefined) return anthropicMessages
  const format: UsageFormat = {
    ...ANTHROPIC_FORMAT,
    createAccumulator: () => new AnthropicAccumulator(readCost),
  }
  const reading = jsonDialect({ name: anthropicMessages.name, ...format })
  return { ...anthropicMessages, createReader: reading.createReader }
}

class AnthropicAccumulator implements UsageAccumulator {
  #events = 0
  #model: string | null = null
  #usage: JsonObject | null = null
  #startRaw: string | null = null
  #raw: string | null = null
  /** The usage of the message's end has passed, after which nothing corrects it. */
  #isFinal = false
  #hasEndUsage = false
  #failed = false
  readonly #readCost: ReadCost

  constructor(readCost: ReadCost = () => null) {
    this.#readCost = readCost
  }

  get wantsEvery(): boolean {
    return this.#model === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean {
    this.#events += 1
    const hadFailed = this.#failed
    const knewModel = this.#model !== null
    this.#failed ||= isError || (document !== null && carriesError(document))
    if (document === null) return this.#failed !== hadFailed
    const started = member(document, 'message')
    this.#model = textIn(started?.model) ?? textIn(document.model) ?? this.#model
    const usage = member(started, 'usage') ?? member(document, 'usage')
    if (usage !== null) {
      this.#usage = mergeAnthropicUsage(this.#usage, usage)
      if (started !== null) this.#startRaw = raw
      else this.#raw = raw
    }
    if (usage !== null && started === null) {
      this.#hasEndUsage = true
      const isDelta = document.type === 'message_delta'
      this.#isFinal ||= !isDelta || textIn(member(document, 'delta')?.stop_reason) !== null
    }
    const learnedModel = !knewModel && this.#model !== null
    return usage !== null || learnedModel || this.#failed !== hadFailed
  }

  snapshot(ended: boolean): Observation {
    const observed = { model: this.#model, failed: this.#failed }
    if (this.#usage === null) return observe(observed)
    const { usage, invalid, units, parts, serviceTier } = anthropicUsage(this.#usage, this.#model)
    const isFinal = this.#isFinal || (ended && this.#hasEndUsage && !this.#failed)
    return observe({
      ...observed,
      usageSource: invalid ? 'invalid' : !saysTokens(usage) ? 'none' : isFinal ? 'reported' : 'partial',
      usage,
      units,
      parts,
      serviceTier,
      reportedCostPico: this.#readCost(this.#usage),
      raw: boundRawUsage([this.#startRaw, this.#raw].filter((raw) => raw !== null).join('\n')),
    })
  }
}

/**
 * Generated text of a message or of one stream event: text, thinking, names and input of tools called, and the
 * `completion` of the legacy API.
 */
export function anthropicText(json: unknown): string {
  const event = objectIn(json)
  if (event === null) return ''
  const { delta, content_block: block, completion } = event
  const started = blockText(objectIn(block) ?? {})
  return deltaText(objectIn(delta) ?? {}) + started + stringIn(completion) + wholeText(event)
}

function wholeText(message: JsonObject): string {
  return arrayIn(message.content)
    .map((block) => blockText(objectIn(block) ?? {}))
    .join('')
}

function deltaText(delta: JsonObject): string {
  return stringIn(delta.text) + stringIn(delta.thinking) + stringIn(delta.partial_json)
}

function blockText(block: JsonObject): string {
  const input = member(block, 'input')
  const written = input === null || Object.keys(input).length === 0 ? '' : JSON.stringify(input)
  return stringIn(block.text) + stringIn(block.thinking) + stringIn(block.name) + written
}

function stringIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Anthropic's legacy text completions report no usage at all, only the model.
 * Source: platform.claude.com/docs, "Text completions (legacy)".
 */
export const anthropicComplete: Dialect = jsonDialect({
  name: 'anthropic.complete',
  fields: { type: 'value', model: 'value', error: 'value' },
  prefilter: ['error'],
  createAccumulator: () => new CompleteAccumulator(),
  tokenizerFamily: 'claude',
  textOf: anthropicText,
})

class CompleteAccumulator implements UsageAccumulator {
  #events = 0
  #model: string | null = null
  #failed = false

  get wantsEvery(): boolean {
    return this.#model === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add(document: JsonObject | null, _raw: string | null, isError: boolean): boolean {
    this.#events += 1
    this.#failed ||= isError || (document !== null && carriesError(document))
    this.#model = textIn(document?.model) ?? this.#model
    return true
  }

  snapshot(): Observation {
    return observe({ model: this.#model, failed: this.#failed })
  }
}
