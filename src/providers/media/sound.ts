import type { Dialect } from '../dialect.ts'
import { deploymentIn } from '../dialect.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { type LastUsageRules, lastUsage } from '../openai/openai-prompt-only.ts'
import { chatUsage, responsesUsage } from '../openai/openai-usage.ts'
import { charactersIn, millisecondsIn, unitsIn } from '../reading/billed-units.ts'
import type { Fields, ReadDocument, UsageFormat } from '../reading/body-format.ts'
import { carriesError } from '../reading/body-format.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { jsonDialect, requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { ifCounted } from '../reading/usage-update.ts'

const FORMAT: UsageFormat = {
  fields: { model: 'value', usage: 'usage', error: 'value' },
  prefilter: ['usage', 'error'],
}

/**
 * Speech. The answer is sound and reports nothing: billed are the characters of `input`, or, by models with token prices,
 * what `speech.audio.done` has as usage where the answer is streamed as events. Mistral's answers are JSON.
 * Sources: OpenAI's API reference, "Create speech"; docs.mistral.ai, "Text to speech".
 */
export function openAiSpeech(overrides: OpenAiOverrides): Dialect {
  return requestDialect({
    name: 'openai.audio-speech',
    medium: 'speech',
    ...FORMAT,
    modelInPath: deploymentIn,
    requestFields: { input: 'text' },
    readRequest: ({ fields }) => ({ units: { characters: charactersIn(fields.input) } }),
    readAnswer: (document, raw) => {
      const usage = member(document, 'usage')
      const counted =
        usage === null
          ? null
          : usage.prompt_tokens === undefined
            ? responsesUsage(usage)
            : chatUsage(usage, overrides, null)
      return {
        usage:
          counted && ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
        raw: usage === null ? null : raw,
        isFinal: true,
        model: textIn(document.model),
        failed: carriesError(document),
        reportedCostPico: usage === null ? null : (overrides.readCost?.(usage) ?? null),
      }
    },
  })
}

const ELEVENLABS_DEFAULT = 'eleven_multilingual_v2'

/**
 * ElevenLabs' speech: `character-cost` in the head is what it bills, in characters.
 * Source: elevenlabs.io/docs, "Create speech".
 */
export const elevenLabsSpeech: Dialect = requestDialect({
  name: 'elevenlabs.audio-speech',
  hidesModel: true,
  ...FORMAT,
  requestFields: { text: 'text', model_id: 'value' },
  readRequest: ({ fields, head, isRead }) => ({
    model: textIn(fields.model_id) ?? (isRead ? ELEVENLABS_DEFAULT : null),
    units: {
      characters: unitsIn(numberIn(head.headers['character-cost'])) ?? charactersIn(fields.text),
    },
  }),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/** xAI's speech, by the characters of `text`: docs.x.ai, "Text to Speech". */
export const xaiSpeech: Dialect = requestDialect({
  name: 'xai.speech',
  hidesModel: true,
  ...FORMAT,
  requestFields: { text: 'text' },
  readRequest: ({ fields }) => ({ model: 'grok-tts', units: { characters: charactersIn(fields.text) } }),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/** A number that a header says; `null`: none. */
function numberIn(header: unknown): number | null {
  return typeof header === 'string' && /^\d{1,13}$/.test(header) ? Number(header) : null
}

const FIELDS: Fields = { model: 'value', usage: 'usage', error: 'value', duration: 'value', text: 'text' }
/** A longer text is not kept. */
const MAX_TEXT_BYTES = 65_536
const PREFILTER = ['usage', 'error']

/**
 * Transcriptions and translations. `usage.type` is `tokens`, or `duration` for models billed by the second
 * (Whisper), whose seconds also stand in a verbose answer's `duration`. A stream has usage in its
 * `transcript.text.done` event. Mistral writes usage as in its chat.
 * Source: OpenAI's API reference, "Create transcription"; docs.mistral.ai "Audio transcriptions"; docs.x.ai, "Speech to
 * Text".
 *
 * @param only its name and its one model, where neither request nor answer names any.
 */
export function openAiTranscriptions(
  overrides: OpenAiOverrides,
  only?: { readonly name: string; readonly model: string },
): Dialect {
  const rules: LastUsageRules = {
    readUsage: (usage) => {
      const isChatStyle = usage.prompt_tokens !== undefined
      return isChatStyle ? chatUsage(usage, overrides, null) : responsesUsage(usage)
    },
    readUnits: (document) => ({ audioMs: audioMsOf(document) }),
    readCost: overrides.readCost,
  }
  const readLast = lastUsage(rules)
  const read: ReadDocument = (document, raw) => {
    const update = readLast(document, raw)
    const isReported = update?.usage || update?.units
    return isReported ? update : { ...update, writtenBytes: bytesOf(document.text) }
  }
  const described = {
    name: 'openai.audio-transcriptions',
    medium: 'recordings',
    takesForm: true,
    countsTokens: false,
    fields: FIELDS,
    prefilter: PREFILTER,
    modelInPath: deploymentIn,
    textOf: transcript,
  } as const
  if (only === undefined) return jsonDialect({ ...described, read })
  return requestDialect({
    ...described,
    name: only.name,
    hidesModel: true,
    requestFields: {},
    readRequest: () => ({ model: only.model }),
    readAnswer: (document, raw) => read(document, raw) ?? {},
  })
}

function bytesOf(text: unknown): number | null {
  return text === true ? MAX_TEXT_BYTES : typeof text === 'string' ? Buffer.byteLength(text) : null
}

function audioMsOf(document: JsonObject): number | null {
  const usage = member(document, 'usage')
  return (
    millisecondsIn(usage?.seconds) ??
    millisecondsIn(usage?.prompt_audio_seconds) ??
    millisecondsIn(document.duration) ??
    // Older Whisper servers write seconds as text.
    millisecondsIn(Number.parseFloat(textIn(document.duration) ?? ''))
  )
}

/** A whole answer's text, or a stream's deltas; the last event repeats all and is left out. */
function transcript(json: unknown): string {
  const { text, delta, type } = objectIn(json) ?? {}
  if (type === 'transcript.text.done') return ''
  return textIn(delta) ?? textIn(text) ?? ''
}
