import type { UsagePart } from '../../call/observation.ts'
import { NO_USAGE } from '../../call/usage.ts'
import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { unitsOf } from '../reading/billed-units.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { compileProjection } from '../wires/json.ts'
import { readMessage, type SessionMessage } from '../wires/scan-json.ts'

/** Whose work a transcription is. */
interface Transcriber {
  readonly model: string | null
  readonly isBeside: true | undefined
  /** The session has named the model. */
  readonly isNamed: boolean
}

/** The transcriptions of a realtime session's input. */
export interface Transcriptions {
  /** The settings that `session.created` or `session.updated` says of them. */
  configure(session: JsonObject): void
  /** The model of the input, as the session says now; `null`: not named. */
  readonly model: string | null
  /** The session does nothing else. */
  readonly isAll: boolean
  clientSent(byteCount: number): void
  /** An item of sound is complete, and is transcribed from now on where the session has that. */
  begin(item: string | null): void
  /** A piece of its text, which takes `writtenBytes` as the event writes it. */
  goOn(item: string | null, event: SessionMessage, writtenBytes: number): void
  /** It is done, or has failed. By the model that the session had when it began. */
  end(item: string | null): Transcriber
  readonly underWay: boolean
  /** The use of those under way, estimated by what passed of them. */
  estimated(): readonly UsagePart[]
}

interface Item extends Transcriber {
  soundBytes: number
  textBytes: number
}

/** Items that are kept apart; further ones are one. */
const MAX_ITEMS = 1_000
const DELTA = compileProjection({ delta: 'value' })
/** https://platform.openai.com/docs/guides/realtime-costs: sound that is heard is a token for every 100 ms. */
const SOUND_TOKENS_PER_SECOND = 10
/** A shorter item is not accepted. */
const SHORTEST_SECONDS = 0.1
/** People speak three words a second, at most four. */
const TEXT_TOKENS_PER_SECOND = 5
const BYTES_PER_TEXT_TOKEN = 3
/** Models that are billed by time. */
const BY_SECONDS = /whisper/i

const BASE64_BYTES_PER_BYTE = 4 / 3
const DEFAULT_SAMPLES_PER_SECOND = 24_000
const G711_BYTES_PER_SECOND = 8_000

/** Bytes of sound in the format that a session has unless it says another. */
export const DEFAULT_BYTES_PER_SECOND = 2 * DEFAULT_SAMPLES_PER_SECOND

/**
 * Bytes of a second of a session's sound; `null`: it does not say.
 *
 * @param format `audio.input.format` or `audio.output.format`
 * @param betaFormat the name that stands in its place in sessions of the beta
 */
export function bytesPerSecond(format: JsonObject | null, betaFormat: unknown): number | null {
  const type = textIn(format?.type) ?? textIn(betaFormat)
  if (type === null) return null
  if (/g711|pcmu|pcma/.test(type)) return G711_BYTES_PER_SECOND
  const rate = format?.rate
  return 2 * (typeof rate === 'number' && rate > 0 ? rate : DEFAULT_SAMPLES_PER_SECOND)
}

/** Seconds of sound in so many bytes of base64. */
export function soundSeconds(base64Bytes: number, bytesPerSecond: number): number {
  return Math.max(0, base64Bytes) / BASE64_BYTES_PER_BYTE / bytesPerSecond
}

export function createTranscriptions(): Transcriptions {
  const items = new Map<string, Item>()
  let model: string | null = null
  let isAll = false
  let inputBytesPerSecond = DEFAULT_BYTES_PER_SECOND
  /** Of the client's, since the last item was complete. */
  let clientBytes = 0

  function transcriber(): Transcriber {
    const isNamed = model !== null
    if (isAll) return { model, isBeside: undefined, isNamed }
    return { model: model ?? UNKNOWN_MODEL, isBeside: true, isNamed }
  }

  function find(item: string | null): Item | null {
    const key = item ?? ''
    const known = items.get(key)
    if (known !== undefined) return known
    if (!isAll && model === null) return null
    const slot = items.size < MAX_ITEMS ? key : ''
    const begun = items.get(slot) ?? { ...transcriber(), soundBytes: 0, textBytes: 0 }
    items.set(slot, begun)
    return begun
  }

  function estimate({ model: by, isBeside, soundBytes, textBytes }: Item): UsagePart {
    const seconds = Math.max(SHORTEST_SECONDS, soundSeconds(soundBytes, inputBytesPerSecond))
    if (by !== null && BY_SECONDS.test(by)) {
      const units = unitsOf({ audioMs: Math.ceil(seconds * 1000) })
      return { model: by, isBeside, usage: { ...NO_USAGE, inputTokens: 0, outputTokens: 0 }, units }
    }
    const heard = Math.ceil(seconds * SOUND_TOKENS_PER_SECOND)
    const text = Math.max(seconds * TEXT_TOKENS_PER_SECOND, textBytes / BYTES_PER_TEXT_TOKEN)
    const usage = {
      ...NO_USAGE,
      inputTokens: heard,
      audioInputTokens: heard,
      outputTokens: Math.ceil(text),
    }
    return { model: by, isBeside, usage }
  }

  return {
    configure(session) {
      isAll = session.type === 'transcription' || session.object === 'realtime.transcription_session'
      const input = member(member(session, 'audio'), 'input')
      const format = bytesPerSecond(member(input, 'format'), session.input_audio_format)
      inputBytesPerSecond = format ?? inputBytesPerSecond
      if (input !== null) model = textIn(member(input, 'transcription')?.model)
      else if ('input_audio_transcription' in session)
        model = textIn(member(session, 'input_audio_transcription')?.model)
    },
    get model() {
      return model
    },
    get isAll() {
      return isAll
    },
    clientSent(byteCount) {
      clientBytes += byteCount
    },
    begin(item) {
      const begun = find(item)
      if (begun !== null) begun.soundBytes += clientBytes
      clientBytes = 0
    },
    goOn(item, event, writtenBytes) {
      const known = find(item)
      if (known === null) return
      const delta = objectIn(readMessage(event, DELTA).value)?.delta
      // Of one that was too long to be kept, only the length is known.
      known.textBytes += typeof delta === 'string' ? Buffer.byteLength(delta) : writtenBytes
    },
    end(item) {
      const ended = items.get(item ?? '') ?? transcriber()
      items.delete(item ?? '')
      return ended
    },
    get underWay() {
      return items.size > 0
    },
    estimated: () => [...items.values()].map(estimate),
  }
}
