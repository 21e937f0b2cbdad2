import { NO_UNITS } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../dialect.ts'
import { millisecondsIn } from '../reading/billed-units.ts'
import { bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { observe, saysTokens, totalDisagrees } from '../reading/counts.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { createUsageSum } from '../reading/usage-sum.ts'
import { compileProjection } from '../wires/json.ts'
import { scanJson } from '../wires/scan-json.ts'
import { responsesUsage } from './openai-usage.ts'

/**
 * The realtime API over WebSocket, of OpenAI, Azure and xAI: each `response.done` has the usage of that response
 * (xAI writes it beside an empty one), so they are added over the session. Input transcription runs on another
 * model and is billed apart: its usage is kept as text and not added, except in a session that does nothing else.
 * https://platform.openai.com/docs/api-reference/realtime-server-events
 */
export const realtime: Dialect = {
  name: 'openai.realtime',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'openai',
  modelInPath: () => null,
  createReader: (_request, head) => createBodyReader(head, FORMAT),
  createMessageReader,
  modelInMessage(message) {
    const event = scanJson(message, SESSION_UPDATE).value
    return textIn(member(event, 'session')?.model)
  },
  textOf(json) {
    const event = objectIn(json)
    const isDelta =
      textIn(event?.type)?.endsWith('.delta') === true && !textIn(event?.type)?.endsWith('audio.delta')
    return isDelta ? (textIn(event?.delta) ?? '') : ''
  },
}

/** `session.update`; the handshake's query names the model of most sessions. */
const SESSION_UPDATE = compileProjection({ session: { model: 'value' } })
const TRANSCRIPTION = { model: 'value' } as const

const FIELDS: Fields = {
  type: 'value',
  usage: 'usage',
  response: { id: 'value', model: 'value', usage: 'usage' },
  session: {
    id: 'value',
    type: 'value',
    object: 'value',
    model: 'value',
    input_audio_transcription: TRANSCRIPTION,
    output_audio_format: 'value',
    audio: {
      input: { transcription: TRANSCRIPTION },
      output: { format: { type: 'value', rate: 'value' } },
    },
  },
}
const FORMAT = bodyFormat({ fields: FIELDS, prefilter: ['usage'] })

/** https://platform.openai.com/docs/guides/realtime-costs: sound that is generated is a token for every 50 ms. */
const SOUND_TOKENS_PER_SECOND = 20
/** `{"type":"response.audio.delta","delta":""}`: all else of such an event is its sound, in base64. */
const SHORTEST_SOUND_EVENT_BYTES = 42
const BASE64_BYTES_PER_BYTE = 4 / 3
const DEFAULT_SAMPLES_PER_SECOND = 24_000
const G711_BYTES_PER_SECOND = 8_000

const TRANSCRIBING = 'conversation.item.input_audio_transcription.delta'
const TRANSCRIBED = 'conversation.item.input_audio_transcription.completed'

function createMessageReader(): MessageReader {
  const sum = createUsageSum()
  let open = 0
  let model: string | null = null
  let sessionId: string | undefined
  let onlyTranscribes = false
  let audioMs: number | null = null
  let revision = 0
  let soundBytesPerSecond = 2 * DEFAULT_SAMPLES_PER_SECOND
  let soundBytes = 0
  let contextTokens = 0
  /** In a session that does nothing else. */
  let transcribing = false

  function readSession(session: JsonObject): void {
    sessionId ??= textIn(session.id) ?? undefined
    soundBytesPerSecond = bytesPerSecond(session) ?? soundBytesPerSecond
    onlyTranscribes = session.type === 'transcription' || session.object === 'realtime.transcription_session'
    const transcription =
      member(member(member(session, 'audio'), 'input'), 'transcription') ??
      member(session, 'input_audio_transcription')
    const named = textIn(onlyTranscribes ? transcription?.model : session.model)
    if (named === null || named === model) return
    model = named
    revision += 1
  }

  function addResponse(event: JsonObject, raw: string | null): void {
    open = Math.max(0, open - 1)
    if (open === 0) soundBytes = 0
    const usage = [member(member(event, 'response'), 'usage'), member(event, 'usage')].find(saysCounts)
    if (usage === undefined || usage === null) return
    const counted = responsesUsage(usage)
    sum.add(counted, totalDisagrees(counted.total, counted.usage), raw)
    contextTokens = (counted.usage.inputTokens ?? 0) + (counted.usage.outputTokens ?? 0)
    // xAI's seconds are the session's so far, not this response's.
    audioMs = millisecondsIn(usage.billable_audio_seconds) ?? audioMs
    revision += 1
  }

  function addTranscription(event: JsonObject, raw: string | null): void {
    transcribing = false
    const usage = member(event, 'usage')
    if (usage === null) return
    revision += 1
    if (!onlyTranscribes) {
      if (raw !== null) sum.addRaw(raw)
      return
    }
    const counted = responsesUsage(usage)
    if (saysTokens(counted.usage) || counted.invalid) sum.add(counted, false, raw)
    else if (raw !== null) sum.addRaw(raw)
    const seconds = millisecondsIn(usage.seconds)
    if (seconds !== null) audioMs = (audioMs ?? 0) + seconds
  }

  return {
    message(bytes) {
      const { value, raw } = scanJson(bytes, FORMAT.projection)
      const event = objectIn(value)
      const type = textIn(event?.type)
      if (event === null || type === null) return
      if (type === 'response.created') open += 1
      else if (type.endsWith('audio.delta')) soundBytes += bytes.length - SHORTEST_SOUND_EVENT_BYTES
      else if (type === TRANSCRIBING) transcribing = onlyTranscribes
      else if (type === 'response.done') addResponse(event, raw)
      else if (type === TRANSCRIBED) addTranscription(event, raw)
      else if (/session\.(?:created|updated)$/.test(type)) readSession(member(event, 'session') ?? {})
      else if (type === 'error') revision += 1
    },
    peek: () =>
      observe({
        ...sum.observed(open === 0),
        model,
        units: { ...NO_UNITS, audioMs },
        answerId: sessionId,
      }),
    get revision() {
      return revision
    },
    get underWay() {
      return open > 0 || transcribing
    },
    get soundTokens() {
      const seconds = Math.max(0, soundBytes) / BASE64_BYTES_PER_BYTE / soundBytesPerSecond
      return Math.ceil(seconds * SOUND_TOKENS_PER_SECOND)
    },
    get contextTokens() {
      return contextTokens
    },
  }
}

/** Of the sound that a session's responses are spoken in; `null`: it does not say. */
function bytesPerSecond(session: JsonObject): number | null {
  const format = member(member(member(session, 'audio'), 'output'), 'format')
  const type = textIn(format?.type) ?? textIn(session.output_audio_format)
  if (type === null) return null
  if (/g711|pcmu|pcma/.test(type)) return G711_BYTES_PER_SECOND
  const rate = format?.rate
  return 2 * (typeof rate === 'number' && rate > 0 ? rate : DEFAULT_SAMPLES_PER_SECOND)
}

/** Whether a usage object has counts: xAI's `response.usage` is empty. */
function saysCounts(usage: JsonObject | null): boolean {
  return usage !== null && Object.keys(usage).length > 0
}
