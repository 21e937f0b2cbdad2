import type { Observation, UsagePart } from '../../call/observation.ts'
import type { BilledUnits, TokenUsage } from '../../call/usage.ts'
import { madeAtMs } from '../jobs/job-list.ts'
import { gigabytesIn, unitsIn, unitsOf } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { carriesError } from '../reading/body-format.ts'
import {
  boundRawUsage,
  type CountedUsage,
  observe,
  saysTokens,
  sumUsage,
  totalDisagrees,
} from '../reading/counts.ts'
import { arrayIn, type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import type { ProjectionSpec } from '../wires/json.ts'
import { MAX_ELEMENTS } from '../wires/plans/json-projection.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { responsesUsage, weightOf } from './openai-usage.ts'

/** The part of a response that is kept to see which of the provider's tools it used. */
const RESPONSE_TOOLS = {
  output: [
    {
      type: 'value',
      status: 'value',
      action: { type: 'value' },
      container_id: 'value',
      environment: { container_id: 'value' },
      svg_usage: { total_tokens: 'value' },
    },
  ],
  tools: [
    {
      type: 'value',
      model: 'value',
      container: { type: 'value', memory_limit: 'value' },
      environment: { type: 'value', memory_limit: 'value' },
    },
  ],
  tool_usage: { web_search: { num_requests: 'value' }, image_gen: 'value' },
} as const satisfies ProjectionSpec

/** Tool calls that cost nothing but their tokens, or that the client itself carries out. */
const FREE_CALLS: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
  'mcp_call',
  'tool_search_call',
])

/**
 * The tools a response used that are billed by their call. A search of the web is one whose action is a search: opening
 * a page that it found is free. A container is counted by its memory in GB, as its price is for one; code that runs in
 * one and the same is one session. Unknown kinds are counted as such. `drawn`: its {@link imagePart}.
 * Source: OpenAI's API reference, "The response object"; its page "Pricing", "Built-in tools".
 */
function responseTools(response: JsonObject, drawn: UsagePart | null): Partial<BilledUnits> {
  const calls = objectsIn(response.output)
  // More than is kept of an answer: what stands behind was used, and is not counted.
  const isCut = arrayIn(response.output).length >= MAX_ELEMENTS || calls.some(({ type }) => type === true)
  const counts = { web: 0, files: 0, images: 0, others: isCut ? 1 : 0 }
  for (const call of calls) {
    const type = textIn(call.type) ?? ''
    if (call.status === 'failed' || FREE_CALLS.has(type)) continue
    if (type === 'web_search_call') counts.web += isSearch(call) ? 1 : 0
    else if (type === 'file_search_call') counts.files += 1
    else if (type === 'image_generation_call') {
      // A drawing in lines is another model's work, at tokens that no list has a price for.
      if (member(call, 'svg_usage') === null) counts.images += 1
      else counts.others += 1
    }
    // Its session is billed, and nothing says which session it is.
    else if (type === 'code_interpreter_call' && containerOf(call) === null) counts.others += 1
    else if (type.endsWith('_call') && !RUNS_CODE.has(type)) counts.others += 1
  }
  // Tokens of an image model without a name have no price.
  const isNamed = drawn !== null && imageModels(response).every((model) => model !== null)
  const unnamed = isNamed ? 0 : Math.max(counts.images, drawnTokens(response) === null ? 0 : 1)
  return {
    webSearches:
      unitsIn(member(member(response, 'tool_usage'), 'web_search')?.num_requests) ?? someOf(counts.web),
    fileSearches: someOf(counts.files),
    codeRuns: containersOf(response, calls),
    otherToolCalls: someOf(counts.others + unnamed),
  }
}

/**
 * The use of the image generation tool: another model's tokens, which are not in the response's own usage. No answer says
 * which of several tools drew. `null`: nothing, or the response does not name both models.
 */
function imagePart(response: JsonObject): (UsagePart & CountedUsage) | null {
  const drawn = textIn(response.model) === null ? null : drawnTokens(response)
  const [model, ...others] = new Set(imageModels(response).filter((named) => named !== null))
  if (drawn === null || model === undefined) return null
  return { model, ...(others.length === 0 ? {} : { mayBe: others.slice(0, MAX_IMAGE_MODELS) }), ...drawn }
}

/** More than any provider has, and each is priced. */
const MAX_IMAGE_MODELS = 64

/** The models of all its image generation tools; `null`: one that is not named. */
function imageModels(response: JsonObject): readonly (string | null)[] {
  return objectsIn(response.tools)
    .filter(({ type }) => type === 'image_generation')
    .map(({ model }) => textIn(model))
}

function drawnTokens(response: JsonObject): CountedUsage | null {
  const reported = member(member(response, 'tool_usage'), 'image_gen')
  if (reported === null) return null
  const counted = responsesUsage(reported)
  const { inputTokens, outputTokens } = counted.usage
  const isSome = (inputTokens ?? 0) > 0 || (outputTokens ?? 0) > 0
  return counted.invalid || (saysTokens(counted.usage) && isSome) ? counted : null
}

function isSearch(call: JsonObject): boolean {
  const action = textIn(member(call, 'action')?.type)
  return action === null || action === 'search'
}

/** Calls that run code in a container, and the tools that start one for them. */
const RUNS_CODE: ReadonlyMap<string, string> = new Map([
  ['code_interpreter_call', 'code_interpreter'],
  ['shell_call', 'shell'],
])

/**
 * GB of the containers that were started for this response. One that the request names was started before, and billed
 * there. One that an earlier response started, and this one goes on with, looks like a new one.
 */
function containersOf(response: JsonObject, calls: readonly JsonObject[]): number | null {
  const gigabytes = new Map<string, number>()
  for (const call of calls) {
    const tool = RUNS_CODE.get(textIn(call.type) ?? '')
    const id = containerOf(call)
    if (tool !== undefined && id !== null) gigabytes.set(id, gigabytesOf(response, tool))
  }
  return gigabytes.size === 0 ? null : [...gigabytes.values()].reduce((sum, one) => sum + one, 0)
}

function containerOf(call: JsonObject): string | null {
  return textIn(call.container_id) ?? textIn(member(call, 'environment')?.container_id)
}

/** The number of containers that `tool` starts: 1 where it does not say; 0 where it starts none. */
function gigabytesOf(response: JsonObject, tool: string): number {
  const configured = objectsIn(response.tools).find(({ type }) => type === tool)
  if (configured === undefined) return 1
  const container = objectIn(configured.container) ?? objectIn(configured.environment)
  const type = textIn(container?.type)
  if (type !== 'auto' && type !== 'container_auto') return 0
  return gigabytesIn(container?.memory_limit) ?? 1
}

function someOf(count: number): number | null {
  return count === 0 ? null : count
}

const RESPONSE = {
  object: 'value',
  id: 'value',
  model: 'value',
  status: 'value',
  background: 'value',
  service_tier: 'value',
  created_at: 'value',
  error: 'value',
  usage: 'usage',
  ...RESPONSE_TOOLS,
} as const

/** A whole body is the response itself, a stream's events have it under `response`. */
export const RESPONSE_FIELDS: Fields = { ...RESPONSE, type: 'value', response: RESPONSE }

/** The first event of a stream is `response.created` and names the model. */
const MAX_EVENTS_FOR_MODEL = 4

/** Combines what a response reports, whole or in events. */
export class ResponsesAccumulator implements UsageAccumulator {
  readonly #overrides: OpenAiOverrides
  #events = 0
  #response: JsonObject = {}
  #raw: string | null = null
  #failed = false
  #isWhole = false

  constructor(overrides: OpenAiOverrides) {
    this.#overrides = overrides
  }

  get wantsEvery(): boolean {
    return textIn(this.#response.model) === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean {
    this.#events += 1
    const hadFailed = this.#failed
    this.#failed ||=
      isError || (document !== null && (carriesError(document) || document.status === 'failed'))
    if (document === null) return this.#failed !== hadFailed
    const within = objectIn(document.response)
    this.#isWhole = within === null && textIn(document.type) === null
    const response = within ?? document
    if (!describesResponse(response)) return this.#failed !== hadFailed
    this.#failed ||= response.status === 'failed'
    // A later event describes the same response more fully; what it lacks is known from before.
    const before = objectIn(this.#response.usage)
    const usage = objectIn(response.usage)
    this.#response = { ...this.#response, ...withoutNulls(response) }
    if (before !== null && usage !== null && weightOf(usage) < weightOf(before)) {
      this.#response = { ...this.#response, usage: before }
    } else {
      this.#raw = raw ?? this.#raw
    }
    return true
  }

  /** The response has begun and not come to its end. */
  get isRunning(): boolean {
    return this.#response.status === 'queued' || this.#response.status === 'in_progress'
  }

  snapshot(): Observation {
    const response = this.#response
    const { isRunning } = this
    const observed = {
      model: textIn(response.model),
      failed: this.#failed,
      responseId: textIn(response.id),
      // A whole answer that is not at its end was put off, whatever it says of that; a stream was cut.
      pending: isRunning && (response.background === true || this.#isWhole),
      serviceTier: textIn(response.service_tier),
      ...(response.created_at === undefined ? {} : { madeAtMs: madeAtMs(response.created_at) }),
    }
    const reported = objectIn(response.usage)
    if (reported === null) return observe(observed)
    const own = responsesUsage(reported)
    const drawn = imagePart(response)
    const invalid = own.invalid || drawn?.invalid === true
    const units = unitsOf(this.#overrides.readToolUnits?.(reported) ?? responseTools(response, drawn))
    return observe({
      ...observed,
      usageSource: invalid ? 'invalid' : !saysTokens(own.usage) ? 'none' : isRunning ? 'partial' : 'reported',
      usage: drawn === null ? own.usage : sumUsage([own.usage, drawn.usage]),
      units,
      serviceTier:
        (units.webSearches ?? 0) > 0 ? this.#tierOfSearch(observed.serviceTier) : observed.serviceTier,
      parts: drawn === null || observed.model === null ? null : partsOf(observed.model, own.usage, drawn),
      raw: this.#raw === null ? null : boundRawUsage(this.#raw),
      totalMismatch: totalDisagrees(own.total, own.usage),
      reportedCostPico: this.#overrides.readCost?.(reported) ?? null,
    })
  }

  /** With what the fee of its searches hangs on. */
  #tierOfSearch(serviceTier: string | null): string | null {
    const search = this.#overrides.readSearchTier?.(this.#response) ?? null
    return search === null || serviceTier === null ? (search ?? serviceTier) : `${serviceTier}+${search}`
  }
}

function partsOf(model: string, usage: TokenUsage, drawn: UsagePart): readonly UsagePart[] {
  return [
    { model, usage },
    { model: drawn.model, usage: drawn.usage, ...(drawn.mayBe === undefined ? {} : { mayBe: drawn.mayBe }) },
  ]
}

/** Unlike an event about an item or a piece of text, or an error. */
function describesResponse({ id, model, usage }: JsonObject): boolean {
  return textIn(id) !== null || textIn(model) !== null || objectIn(usage) !== null
}

function withoutNulls(response: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(response).filter(([, value]) => value !== null))
}
