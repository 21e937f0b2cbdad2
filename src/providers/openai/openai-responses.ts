import { type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../dialect.ts'
import { addUnits } from '../reading/billed-units.ts'
import { observe } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { member, objectIn, textIn } from '../reading/json-value.ts'
import { createSessionSum } from '../reading/session-sum.ts'
import { asBuffer } from '../wires/elements.ts'
import { compileProjection } from '../wires/json.ts'
import { findMembers, mayContainUsage } from '../wires/prefilter.ts'
import { isTooLong, readMessage } from '../wires/scan-json.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { responsesText } from './openai-text.ts'
import { RESPONSE_FIELDS, ResponsesAccumulator } from './responses-accumulator.ts'

const PROJECTION = compileProjection(RESPONSE_FIELDS)
const PREFILTER = findMembers(['usage', 'error'])

/**
 * The WebSocket mode: the same events as in a stream, for one response after the other; their usage is added.
 * Source: OpenAI's guide "WebSocket mode".
 */
function createSessionReader(overrides: OpenAiOverrides): MessageReader {
  const sum = createSessionSum()
  let current = new ResponsesAccumulator(overrides)
  /** Responses that the client has asked for, and that have not begun. */
  let asked = 0
  let hasBegun = false
  let units: BilledUnits = NO_UNITS
  let model: string | null = null
  let serviceTier: string | null = null
  let failed = false
  let revision = 0
  let contextTokens = 0
  let madeId: string | undefined
  return {
    projection: PROJECTION,
    message(message) {
      const isKept = message instanceof Uint8Array
      if (isKept && !current.wantsEvery && !mayContainUsage(PREFILTER, asBuffer(message))) return
      const { value, raw } = readMessage(message, PROJECTION)
      const event = objectIn(value)
      madeId = textIn(member(event, 'response')?.id) ?? madeId
      if (!current.add(event, raw, false)) return
      revision += 1
      const observed = current.snapshot()
      if (!hasBegun) asked = Math.max(0, asked - 1)
      hasBegun = observed.usageSource === 'none' && current.isRunning
      model = observed.model ?? model
      serviceTier = observed.serviceTier ?? serviceTier
      failed ||= observed.failed
      if (observed.usageSource === 'none' && isTooLong(member(event, 'response')?.usage)) {
        sum.unread(model)
        units = addUnits(units, observed.units)
        current = new ResponsesAccumulator(overrides)
        return
      }
      if (observed.usageSource === 'none') {
        // It is about no response; the next error is another one.
        if (event?.type === 'error' && !current.isRunning) current = new ResponsesAccumulator(overrides)
        return
      }
      const { usage, parts, totalMismatch } = observed
      const invalid = observed.usageSource === 'invalid'
      // The next response may be served at another tier.
      const tier = { serviceTier: observed.serviceTier }
      sum.add({ model, usage, ...tier, parts, totalMismatch, invalid, raw: observed.raw })
      contextTokens = (observed.usage.inputTokens ?? 0) + (observed.usage.outputTokens ?? 0)
      units = addUnits(units, observed.units)
      current = new ResponsesAccumulator(overrides)
    },
    asked() {
      asked += 1
    },
    peek: () =>
      observe({
        ...sum.observed(model, !current.isRunning, serviceTier),
        model,
        serviceTier,
        failed,
        units,
      }),
    get revision() {
      return revision
    },
    get underWay() {
      return asked > 0 || current.isRunning
    },
    get isResponding() {
      return asked > 0 || current.isRunning
    },
    unfinished: [],
    get madeId() {
      return madeId
    },
    soundTokens: 0,
    get contextTokens() {
      return contextTokens
    },
  }
}

/**
 * The Responses API: creating a response, streamed or not, fetching or cancelling one, compacting.
 *
 * Usage comes with the terminal state: `completed`, `incomplete` and `failed` alike. A response in the background
 * (`queued`, `in_progress`) has none yet and is `pending`: a later fetch reports it, and may report it again, which is
 * what `responseId` is for. Source: OpenAI's API reference, "Responses", "Streaming events", "Background mode".
 */
export function openAiResponses(overrides: OpenAiOverrides): Dialect {
  return {
    ...jsonDialect({
      name: 'openai.responses',
      outputBound: 'max_output_tokens',
      isChat: true,
      hidesReasoningInSessions: true,
      fields: RESPONSE_FIELDS,
      prefilter: ['usage', 'error'],
      createAccumulator: () => new ResponsesAccumulator(overrides),
      textOf: responsesText,
    }),
    createMessageReader: () => createSessionReader(overrides),
    messagesNameObjects: true,
    clientMessages: {
      /** `response.create`. */
      projection: compileProjection({ type: 'value', model: 'value', response: { model: 'value' } }),
      read(message) {
        const event = objectIn(message)
        return {
          model: textIn(event?.model) ?? textIn(member(event, 'response')?.model),
          asks: event?.type === 'response.create',
        }
      },
    },
  }
}
