import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS } from '../dialect.ts'
import { carriesError } from '../reading/body-format.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageUpdate } from '../reading/usage-update.ts'
import { interactionUnits, interactionUsage, unitsWithFilm } from './gemini-usage.ts'

const INTERACTION = {
  id: 'value',
  model: 'value',
  status: 'value',
  service_tier: 'value',
  usage: 'usage',
} as const

/**
 * Gemini's Interactions API: an interaction at the root of an answer, in `interaction` of a stream's events. One
 * in the background answers at once and is fetched later by its id, with the usage.
 * https://ai.google.dev/api/interactions-api
 */
export const geminiInteractions: Dialect = jsonDialect({
  name: 'gemini.interactions',
  answers: ANSWER_COUNTS.gemini,
  outputBound: 'settings',
  isChat: true,
  tokenizerFamily: 'gemini',
  fields: {
    ...INTERACTION,
    interaction: INTERACTION,
    event_type: 'value',
    error: 'value',
  },
  prefilter: ['usage', 'interaction', 'error'],
  read: readInteraction,
  textOf,
})

const RUNNING: ReadonlySet<unknown> = new Set(['in_progress', 'queued'])

function readInteraction(document: JsonObject): UsageUpdate {
  const interaction = member(document, 'interaction') ?? document
  const written = member(interaction, 'usage')
  const usage = written === null ? null : interactionUsage(written)
  const status = textIn(interaction.status)
  return {
    usage,
    units: unitsWithFilm(
      written === null ? null : interactionUnits(written, textIn(interaction.model)),
      written?.output_tokens_by_modality,
    ),
    isFinal: status !== null && !RUNNING.has(status),
    model: textIn(interaction.model),
    serviceTier: textIn(interaction.service_tier),
    responseId: textIn(interaction.id),
    failed: status === 'failed' || carriesError(document),
    ...(status === null ? {} : { pending: RUNNING.has(status) }),
  }
}

/** Text of an answer's outputs (`outputs` of early versions, `steps` of later ones) or of one delta of a stream. */
function textOf(json: unknown): string {
  const document = objectIn(json)
  if (document === null) return ''
  const interaction = member(document, 'interaction') ?? document
  const outputs = [...arrayIn(interaction.outputs), ...arrayIn(interaction.steps)]
  return [textOfContent(document.delta), ...outputs.map(textOfContent)].join('')
}

function textOfContent(content: unknown): string {
  const fields = objectIn(content)
  if (fields === null || fields.type === 'user_input') return ''
  const args = fields.arguments
  return [
    textIn(fields.text) ?? '',
    typeof args === 'string' ? args : args === undefined || args === null ? '' : JSON.stringify(args),
    ...arrayIn(fields.summary).map(textOfContent),
    ...arrayIn(fields.content).map(textOfContent),
    textOfContent(fields.content),
  ].join('')
}
