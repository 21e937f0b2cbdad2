import type { Dialect } from '../dialect.ts'
import { deploymentIn } from '../endpoint.ts'
import { type LastUsageRules, lastUsage } from '../openai/last-usage.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { chatUsage, responsesUsage } from '../openai/openai-usage.ts'
import { millisecondsIn } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'

const FIELDS: Fields = { model: 'value', usage: 'usage', error: 'value', duration: 'value' }
const PREFILTER = ['usage', 'error']

/**
 * Transcriptions and translations. `usage.type` is `tokens`, or `duration` for models billed by the second
 * (Whisper), whose seconds also stand in a verbose answer's `duration`. A stream has usage in its
 * `transcript.text.done` event. Mistral writes usage as in its chat.
 * Source: OpenAI's API reference, "Create transcription"; docs.mistral.ai "Audio transcriptions".
 */
export function openAiTranscriptions(overrides: OpenAiOverrides): Dialect {
  const rules: LastUsageRules = {
    readUsage: (usage) => {
      const isChatStyle = usage.prompt_tokens !== undefined
      return isChatStyle ? chatUsage(usage, overrides, null) : responsesUsage(usage)
    },
    readUnits: (document) => ({ audioMs: audioMsOf(document) }),
    readCost: overrides.readCost,
  }
  return jsonDialect({
    name: 'openai.audio-transcriptions',
    medium: 'recordings',
    takesForm: true,
    countsTokens: false,
    fields: FIELDS,
    prefilter: PREFILTER,
    read: lastUsage(rules),
    modelInPath: deploymentIn,
    textOf: transcript,
  })
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
