import type { Observation } from '../../call/observation.ts'
import { anthropicText, createAnthropicAccumulator } from '../anthropic/anthropic-messages.ts'
import { ANSWER_COUNTS, type Dialect, type ResponseHead } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { chatUsage } from '../openai/openai-usage.ts'
import { addUnits, unitsOf } from '../reading/billed-units.ts'
import { type BodyFormat, bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { boundRawUsage, observe, totalDisagrees } from '../reading/counts.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { ifCounted } from '../reading/usage-update.ts'
import type { EventMessage } from '../wires/eventstream.ts'
import { converseText, UNREPORTED_UNITS } from './bedrock-converse.ts'
import {
  type BedrockUsage,
  bedrockModelInPath,
  converseUsage,
  headerUsage,
  invocationMetricsUsage,
  isStreamPath,
  rootUsage,
  tierServed,
} from './bedrock-usage.ts'
import { createEventStreamBody, isEventStream } from './event-stream-body.ts'

/**
 * Bedrock's InvokeModel and InvokeModelWithResponseStream: each family of models answers in its own format, and no
 * two of them give one name to different things, so that the names decide. What the model itself says counts (its
 * stream may correct what Bedrock's metrics say); else Bedrock's metrics at the end of a stream; else the headers.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
 */
export const bedrockInvoke: Dialect = {
  name: 'bedrock.invoke',
  answers: ANSWER_COUNTS.bedrockInvoke,
  outputBound: 'settings_or_root',
  readsRequest: true,
  takesIncludeUsage: false,
  isChat: true,
  modelInPath: bedrockModelInPath,
  createReader(request, head) {
    const isStream = isEventStream(head, isStreamPath(request.path))
    // In a stream only the model's own documents can correct the model that the path names.
    const model = isStream ? bedrockModelInPath(request.path) : null
    const format: BodyFormat = {
      ...FORMAT,
      createAccumulator: () => new InvokeAccumulator(head, isStream, model),
    }
    return isStream ? createEventStreamBody(head, format, documentInChunk) : createBodyReader(head, format)
  },
  textOf: invokeText,
}

const METRICS = 'amazon-bedrock-invocationMetrics'
/** A guardrail has looked, which the request's headers ask for. */
const GUARDED = 'amazon-bedrock-guardrailAction'

const FIELDS: Fields = {
  type: 'value',
  model: 'value',
  usage: 'usage',
  stop_reason: 'value',
  error: 'value',
  message: { model: 'value', usage: 'usage' },
  delta: { stop_reason: 'value' },
  metadata: { usage: 'usage' },
  prompt_token_count: 'value',
  generation_token_count: 'value',
  inputTextTokenCount: 'value',
  totalOutputTextTokenCount: 'value',
  results: [{ tokenCount: 'value' }],
  images: ['length'],
  embedding: 'value',
  embeddingsByType: 'value',
  [METRICS]: 'value',
  [GUARDED]: 'value',
}

const PREFILTER = [
  'usage',
  'error',
  'prompt_token_count',
  'generation_token_count',
  'inputTextTokenCount',
  METRICS,
  GUARDED,
]

const FORMAT = bodyFormat({ fields: FIELDS, prefilter: PREFILTER })

/** The model's own JSON, which a chunk carries as base64. */
function documentInChunk({ eventType, payload }: EventMessage): Buffer | null {
  if (eventType !== 'chunk') return null
  try {
    const bytes = textIn(objectIn(JSON.parse(payload.toString()))?.bytes)
    return bytes === null ? null : Buffer.from(bytes, 'base64')
  } catch {
    return null
  }
}

/** A usage object and how it was written. */
interface Written {
  readonly counted: BedrockUsage
  readonly raw: string | null
}

class InvokeAccumulator implements UsageAccumulator {
  readonly #head: ResponseHead
  readonly #isStream: boolean
  readonly #pathModel: string | null
  readonly #anthropic = createAnthropicAccumulator()
  #own: Written | null = null
  /** Counts at the root, each as last said. */
  #root: JsonObject = {}
  #metrics: JsonObject | null = null
  #model: string | null = null
  #failed = false

  constructor(head: ResponseHead, isStream: boolean, pathModel: string | null) {
    this.#head = head
    this.#isStream = isStream
    this.#pathModel = pathModel
  }

  get wantsEvery(): boolean {
    return this.#anthropic.wantsEvery
  }

  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean {
    const learned = this.#anthropic.add(document, raw, isError)
    this.#failed ||= isError
    if (document === null) return learned
    this.#model = textIn(document.model) ?? this.#model
    this.#metrics = member(document, METRICS) ?? this.#metrics
    const counted = usageIn(document)
    if (counted !== null) this.#own = { counted, raw }
    const root = Object.entries(document).filter(([, value]) => value !== null)
    this.#root = { ...this.#root, ...Object.fromEntries(root) }
    return true
  }

  snapshot(ended: boolean): Observation {
    const anthropic = this.#anthropic.snapshot(ended)
    const failed = this.#failed || anthropic.failed
    const model = anthropic.model ?? this.#model ?? this.#pathModel
    const serviceTier = tierServed(
      anthropic.serviceTier ?? textIn(this.#head.headers['x-amzn-bedrock-service-tier']),
      this.#head.headers['x-amzn-bedrock-performanceconfig-latency'],
    )
    const guarded = unitsOf(this.#root[GUARDED] === undefined ? null : UNREPORTED_UNITS)
    if (anthropic.usageSource !== 'none')
      return { ...anthropic, failed, model, serviceTier, units: addUnits(anthropic.units, guarded) }
    // A profile of one's own has a name that does not say that it draws.
    const { images } = this.#root
    const units = addUnits(guarded, unitsOf(Array.isArray(images) ? { images: images.length } : null))
    const observed = { failed, model, serviceTier, units }
    // Counts at the root of an answer come one by one; until all are there the headers know better.
    const isWhole = ended || this.#isStream
    const written = this.#own ?? (isWhole ? this.#atRoot() : null) ?? this.#measured() ?? this.#atRoot()
    if (written === null) return observe(observed)
    const { usage, invalid, totalMismatch } = written.counted
    const saidLast = this.#isStream ? this.#metrics !== null : this.#own !== null
    const isFinal = saidLast || (ended && !failed)
    return observe({
      ...observed,
      usageSource: invalid ? 'invalid' : isFinal ? 'reported' : 'partial',
      usage,
      totalMismatch,
      raw: written.raw === null ? null : boundRawUsage(written.raw),
    })
  }

  #atRoot(): Written | null {
    const counted = rootUsage(this.#root)
    if (counted === null) return null
    const { prompt_token_count, generation_token_count, inputTextTokenCount, totalOutputTextTokenCount } =
      this.#root
    const said = {
      prompt_token_count,
      generation_token_count,
      inputTextTokenCount,
      totalOutputTextTokenCount,
      results: this.#root.results,
    }
    return { counted, raw: JSON.stringify(said) }
  }

  #measured(): Written | null {
    const counted = this.#metrics === null ? null : invocationMetricsUsage(this.#metrics)
    if (counted !== null) return { counted, raw: JSON.stringify(this.#metrics) }
    const said = headerUsage(this.#head.headers)
    return said === null ? null : { counted: said, raw: said.raw }
  }
}

/** The usage object of a family that writes one as OpenAI does, or as Nova does, streamed in `metadata`. */
function usageIn(document: JsonObject): BedrockUsage | null {
  const written = member(document, 'usage') ?? member(member(document, 'metadata'), 'usage')
  if (written === null) return null
  const chat = chatUsage(written, USAGE_IF_ASKED, null)
  const counted = ifCounted({ ...chat, totalMismatch: totalDisagrees(chat.total, chat.usage) })
  return counted ?? converseUsage(written)
}

/** The text that a model wrote in an answer or in one event of its stream, also one still in its chunk. */
function invokeText(json: unknown): string {
  const bytes = textIn(objectIn(json)?.bytes)
  if (bytes !== null) {
    try {
      return invokeText(JSON.parse(Buffer.from(bytes, 'base64').toString()))
    } catch {
      return ''
    }
  }
  return anthropicText(json) + converseText(json) + chatText(json) + textOfOlderFamilies(json)
}

/** Llama's `generation`, Titan's `outputText`, Mistral's `outputs`, Cohere's `text` and `generations`. */
function textOfOlderFamilies(json: unknown): string {
  const document = objectIn(json)
  const lists = ['results', 'outputs', 'generations'].flatMap((key) => arrayIn(document?.[key]))
  const texts = [document, ...lists.map(objectIn)].flatMap((part) => [
    part?.generation,
    part?.outputText,
    part?.text,
  ])
  return texts.map((text) => textIn(text) ?? '').join('')
}
