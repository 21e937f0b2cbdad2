import type { Dialect, MessageReader } from '../dialect.ts'
import { addUnits, millisecondsIn, unitsOf } from '../reading/billed-units.ts'
import { bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { observe, saysTokens, totalDisagrees } from '../reading/counts.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { createSessionSum } from '../reading/session-sum.ts'
import { compileProjection } from '../wires/json.ts'
import { isTooLong, readMessage } from '../wires/scan-json.ts'
import { responsesUsage } from './openai-usage.ts'
import {
  bytesPerSecond,
  createTranscriptions,
  DEFAULT_BYTES_PER_SECOND,
  soundSeconds,
} from './realtime-transcriptions.ts'

const TRANSCRIPTION = { model: 'value' } as const
const SOUND = { type: 'value', rate: 'value' } as const

const REALTIME_FIELDS: Fields = {
  type: 'value',
  item_id: 'value',
  usage: 'usage',
  response: { id: 'value', model: 'value', usage: 'usage' },
  session: {
    id: 'value',
    type: 'value',
    object: 'value',
    model: 'value',
    input_audio_transcription: TRANSCRIPTION,
    input_audio_format: 'value',
    output_audio_format: 'value',
    audio: {
      input: { transcription: TRANSCRIPTION, format: SOUND },
      output: { format: SOUND },
    },
  },
}
const PROJECTION = compileProjection({ ...REALTIME_FIELDS, delta: 'length' })

/** https://platform.openai.com/docs/guides/realtime-costs: sound that is generated is a token for every 50 ms. */
const SOUND_TOKENS_PER_SECOND = 20
const QUOTES_BYTES = 2

const COMMITTED = 'input_audio_buffer.committed'
const TRANSCRIBING = 'conversation.item.input_audio_transcription.delta'
const TRANSCRIBED = 'conversation.item.input_audio_transcription.completed'
const NOT_TRANSCRIBED = 'conversation.item.input_audio_transcription.failed'
/** vLLM's, whose sessions do nothing but write down: docs.vllm.ai, "Realtime API". */
const WRITING = 'transcription.delta'
const WRITTEN = 'transcription.done'

/** Reads a realtime session: its responses under its own model, transcriptions of its input under theirs. */
function createRealtimeReader(): MessageReader {
  const sum = createSessionSum()
  const transcriptions = createTranscriptions()
  /** Responses that the client has asked for, and that have not begun. */
  let asked = 0
  let open = 0
  let model: string | null = null
  let sessionId: string | undefined
  let audioMs: number | null = null
  let revision = 0
  let soundBytesPerSecond = DEFAULT_BYTES_PER_SECOND
  let soundBytes = 0
  let contextTokens = 0

  function readSession(session: JsonObject): void {
    sessionId ??= textIn(session.id) ?? undefined
    const output = member(member(member(session, 'audio'), 'output'), 'format')
    soundBytesPerSecond = bytesPerSecond(output, session.output_audio_format) ?? soundBytesPerSecond
    transcriptions.configure(session)
    const named = transcriptions.isAll ? transcriptions.model : textIn(session.model)
    if (named === null || named === model) return
    model = named
    revision += 1
  }

  function addResponse(event: JsonObject, raw: string | null): void {
    // One that never said that it began was asked for all the same.
    if (open > 0) open -= 1
    else asked = Math.max(0, asked - 1)
    if (open === 0) soundBytes = 0
    const response = member(event, 'response')
    model = textIn(response?.model) ?? model
    const usage = [member(response, 'usage'), member(event, 'usage')].find(saysCounts)
    if (usage === undefined || usage === null) {
      if (event.type !== WRITTEN && !isTooLong(response?.usage) && !isTooLong(event.usage)) return
      sum.unread(model)
      revision += 1
      return
    }
    const { usage: counted, invalid, total } = responsesUsage(usage)
    const totalMismatch = totalDisagrees(total, counted)
    sum.add({ model, usage: counted, invalid, totalMismatch, raw })
    contextTokens = (counted.inputTokens ?? 0) + (counted.outputTokens ?? 0)
    // xAI's seconds are the session's so far, not this response's.
    audioMs = millisecondsIn(usage.billable_audio_seconds) ?? audioMs
    revision += 1
  }

  function addTranscription(event: JsonObject, raw: string | null): void {
    const part = transcriptions.end(textIn(event.item_id))
    const usage = member(event, 'usage')
    if (usage === null) {
      // A session whose model has no name (xAI's) has nothing billed apart.
      if (!part.isNamed && !isTooLong(event.usage)) return
      sum.unread(part.model, part.isBeside)
      revision += 1
      return
    }
    revision += 1
    const counted = responsesUsage(usage)
    const milliseconds = millisecondsIn(usage.seconds)
    const invalid = counted.invalid || (milliseconds === null && !saysTokens(counted.usage))
    const units = milliseconds === null ? {} : { units: unitsOf({ audioMs: milliseconds }) }
    sum.add({ model: part.model, isBeside: part.isBeside, usage: counted.usage, ...units, invalid, raw })
  }

  return {
    projection: PROJECTION,
    message(message) {
      const { value, raw } = readMessage(message, PROJECTION)
      const event = objectIn(value)
      const type = textIn(event?.type)
      if (event === null || type === null) return
      if (type.endsWith('audio.delta')) soundBytes += deltaIn(event)
      else if (type === 'response.created') {
        asked = Math.max(0, asked - 1)
        open += 1
      } else if (type === WRITING) open = Math.max(1, open)
      else if (type === 'response.done' || type === WRITTEN) addResponse(event, raw)
      else if (type === COMMITTED) transcriptions.begin(textIn(event.item_id))
      else if (type === TRANSCRIBING) transcriptions.goOn(textIn(event.item_id), message, deltaIn(event))
      else if (type === TRANSCRIBED) addTranscription(event, raw)
      else if (type === NOT_TRANSCRIBED) transcriptions.end(textIn(event.item_id))
      else if (/session\.(?:created|updated)$/.test(type)) readSession(member(event, 'session') ?? {})
      else if (type === 'error') {
        // The last request was refused, as a rule: a response is under way already.
        asked = Math.max(0, asked - 1)
        revision += 1
      }
    },
    clientSent: (byteCount) => transcriptions.clientSent(byteCount),
    asked() {
      asked += 1
    },
    peek() {
      const { units, ...observed } = sum.observed(model, open === 0)
      return observe({
        ...observed,
        model,
        units: addUnits(unitsOf({ audioMs }), units),
        answerId: sessionId,
      })
    },
    get revision() {
      return revision
    },
    get underWay() {
      return asked > 0 || open > 0 || transcriptions.underWay
    },
    get isResponding() {
      return asked > 0 || open > 0
    },
    get besideModel() {
      return transcriptions.model
    },
    get unfinished() {
      return transcriptions.estimated()
    },
    get soundTokens() {
      return Math.ceil(soundSeconds(soundBytes, soundBytesPerSecond) * SOUND_TOKENS_PER_SECOND)
    },
    get contextTokens() {
      return contextTokens
    },
  }
}

/** Bytes of an event's text, or sound in base64, as they are written. */
function deltaIn({ delta }: JsonObject): number {
  return typeof delta === 'number' ? delta - QUOTES_BYTES : 0
}

/** Tells whether a usage object has counts: xAI's `response.usage` is empty. */
function saysCounts(usage: JsonObject | null): boolean {
  return usage !== null && Object.keys(usage).length > 0
}

/**
 * The realtime API over WebSocket, of OpenAI, Azure and xAI: each `response.done` has the usage of that response
 * (xAI writes it beside an empty one), so they are added over the session. Input transcription runs on another
 * model and is billed apart: a part under that model, and all of a session that does nothing else.
 * https://platform.openai.com/docs/api-reference/realtime-server-events
 */
export const realtime: Dialect = {
  name: 'openai.realtime',
  readsRequest: false,
  takesIncludeUsage: false,
  modelInPath: () => null,
  createReader: (_request, head) => createBodyReader(head, FORMAT),
  createMessageReader: createRealtimeReader,
  queryNamesModel: true,
  clientMessages: {
    /**
     * `session.update` may name a model; the handshake's query names that of most sessions. vLLM has it beside the
     * type, and looks at no query.
     */
    projection: compileProjection({ type: 'value', model: 'value', session: { model: 'value' } }),
    read(message) {
      const event = objectIn(message)
      const fixed = event?.type === 'session.update' ? textIn(event.model) : null
      return {
        model: fixed ?? textIn(member(event, 'session')?.model),
        fixesModel: fixed !== null,
        asks: event?.type === 'response.create',
      }
    },
  },
  textOf(json) {
    const event = objectIn(json)
    const isDelta =
      textIn(event?.type)?.endsWith('.delta') === true && !textIn(event?.type)?.endsWith('audio.delta')
    return isDelta ? (textIn(event?.delta) ?? '') : ''
  },
}

const FORMAT = bodyFormat({ fields: REALTIME_FIELDS, prefilter: ['usage'] })
