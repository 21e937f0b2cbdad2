import type { Observation } from '../../call/observation.ts'
import { type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../dialect.ts'
import { addUnits, unitsOf } from '../reading/billed-units.ts'
import { bodyFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { observe } from '../reading/counts.ts'
import { arrayIn, type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import { createSessionSum } from '../reading/session-sum.ts'
import { compileProjection } from '../wires/json.ts'
import { isTooLong, readMessage } from '../wires/scan-json.ts'
import { textOfPart } from './gemini.ts'
import { createGrounding, GROUNDING, geminiUsage } from './gemini-usage.ts'
import { googleModelInPath } from './google-path.ts'

const FORMAT = bodyFormat({
  fields: {
    usageMetadata: 'usage',
    serverContent: { groundingMetadata: GROUNDING },
  },
  prefilter: ['usageMetadata'],
})
/** The same, and what tells how a turn goes. */
const PROJECTION = compileProjection({
  usageMetadata: 'usage',
  serverContent: {
    groundingMetadata: GROUNDING,
    modelTurn: { parts: [{ inlineData: { data: 'length' } }] },
    turnComplete: 'value',
    interrupted: 'value',
  },
  toolCall: {},
})

/** A result of a client's tool. Whether the model is to speak of it stands beside it, or within it. */
const RESULT = { scheduling: 'value', response: 'value' } as const
const RESULTS = { functionResponses: [RESULT], function_responses: [RESULT] } as const
// Google takes both spellings of a name, at each level.
const CONTENT = { turnComplete: 'value', turn_complete: 'value' } as const
const INPUT = { text: 'length', activityEnd: {}, activity_end: {} } as const
/** Fewer are kept of a message. */
const MAX_RESULTS = 1024

/**
 * Gemini Live, a WebSocket on AI Studio or Vertex: each turn's last message has that turn's `usageMetadata`, so
 * they are added. Which model answers only the client's first message says: `setup.model`, as `models/...` or, on
 * Vertex, `projects/.../publishers/google/models/...`. https://ai.google.dev/api/live
 */
export const geminiLive: Dialect = {
  name: 'gemini.live',
  readsRequest: false,
  takesIncludeUsage: false,
  tokenizerFamily: 'gemini',
  modelInPath: () => null,
  createReader: (_request, head) => createBodyReader(head, FORMAT),
  createMessageReader,
  setupNamesModel: true,
  messagesNameObjects: true,
  clientMessages: {
    projection: compileProjection({
      setup: { model: 'value' },
      clientContent: CONTENT,
      client_content: CONTENT,
      realtimeInput: INPUT,
      realtime_input: INPUT,
      toolResponse: RESULTS,
      tool_response: RESULTS,
    }),
    read(message) {
      const name = textIn(member(message, 'setup')?.model)
      return {
        model: name === null ? null : (googleModelInPath(`/${name}`) ?? name),
        asks: asksForTurn(message),
      }
    },
  },
  textOf(json) {
    const message = objectIn(json)
    const turn = member(member(message, 'serverContent'), 'modelTurn')
    const calls = arrayIn(member(message, 'toolCall')?.functionCalls).map((functionCall) => ({
      functionCall,
    }))
    return [...arrayIn(turn?.parts), ...calls].map(textOfPart).join('')
  },
}

/** Sound that goes on asks for nothing yet: where a turn ends in it, the model decides. */
function asksForTurn(message: unknown): boolean {
  const either = (...names: readonly string[]) => names.map((name) => member(message, name))
  return (
    either('clientContent', 'client_content').some(
      (content) => content?.turnComplete === true || content?.turn_complete === true,
    ) ||
    either('realtimeInput', 'realtime_input').some(
      (input) =>
        typeof input?.text === 'number' ||
        (member(input, 'activityEnd') ?? member(input, 'activity_end')) !== null,
    ) ||
    either('toolResponse', 'tool_response').some((results) => results !== null && !areSilent(results))
  )
}

/**
 * The model takes these results in, and says nothing: https://ai.google.dev/gemini-api/docs/live-tools. Further ones
 * than are kept may be others.
 */
function areSilent({ functionResponses, function_responses }: JsonObject): boolean {
  const results = [...arrayIn(functionResponses), ...arrayIn(function_responses)]
  const isSilent = (result: unknown) =>
    (objectIn(result)?.scheduling ?? member(objectIn(result), 'response')?.scheduling) === 'SILENT'
  return results.length > 0 && results.length < MAX_RESULTS && results.every(isSilent)
}

/**
 * https://ai.google.dev/gemini-api/docs/tokens: a second of sound is 32 tokens. Live speaks 16 bits at 24 kHz, in
 * base64.
 */
const SOUND_TOKENS_PER_BYTE = 32 / ((2 * 24_000 * 4) / 3)
const QUOTES_BYTES = 2

/** A turn may also end before anything was generated. */
function endsTurn(message: unknown): boolean {
  const content = member(message, 'serverContent')
  const usage = objectIn(message)?.usageMetadata
  return (
    (content?.turnComplete ?? content?.interrupted ?? member(message, 'usageMetadata')) !== null ||
    isTooLong(usage)
  )
}

/** Bytes of the sound in what was generated, in base64. */
function soundIn(turn: JsonObject | null): number {
  const lengths = objectsIn(turn?.parts).map((part) => member(part, 'inlineData')?.data)
  return lengths.reduce<number>(
    (sum, length) => sum + (typeof length === 'number' ? length - QUOTES_BYTES : 0),
    0,
  )
}

function createMessageReader(): MessageReader {
  const sum = createSessionSum()
  let serviceTier: string | null = null
  let revision = 0
  let isAsked = false
  let underWay = false
  let soundBytes = 0
  let contextTokens = 0
  let units: BilledUnits = NO_UNITS
  let grounding = createGrounding()
  /** The model is not known here, so each query counts, as it is billed since Gemini 3. */
  const withTurn = () => addUnits(units, unitsOf(grounding.units(null)))
  return {
    projection: PROJECTION,
    message(message) {
      const { value, raw } = readMessage(message, PROJECTION)
      const content = member(value, 'serverContent')
      const made = member(content, 'modelTurn')
      // A transcription generates nothing: it may come behind its turn's usage.
      underWay ||= made !== null || member(value, 'toolCall') !== null
      isAsked &&= !underWay && !endsTurn(value)
      soundBytes += soundIn(made)
      const searched = member(content, 'groundingMetadata')
      if (searched !== null) {
        grounding.add(searched)
        revision += 1
      }
      const metadata = member(value, 'usageMetadata')
      const usage = metadata === null ? null : geminiUsage(metadata)
      if (usage === null && !isTooLong(objectIn(value)?.usageMetadata)) return
      units = withTurn()
      grounding = createGrounding()
      underWay = false
      soundBytes = 0
      revision += 1
      if (usage === null) {
        sum.unread(null)
        return
      }
      sum.add({ ...usage, model: null, raw })
      contextTokens = (usage.usage.inputTokens ?? 0) + (usage.usage.outputTokens ?? 0)
      serviceTier = usage.serviceTier ?? serviceTier
    },
    asked() {
      // Amid a turn, what the client says belongs to that, or is the next one's once that has ended.
      isAsked = !underWay
    },
    peek: (): Observation => observe({ ...sum.observed(null, !underWay), serviceTier, units: withTurn() }),
    get revision() {
      return revision
    },
    get underWay() {
      return isAsked || underWay
    },
    get isResponding() {
      return isAsked || underWay
    },
    unfinished: [],
    get soundTokens() {
      return Math.ceil(soundBytes * SOUND_TOKENS_PER_BYTE)
    },
    get contextTokens() {
      return contextTokens
    },
  }
}
