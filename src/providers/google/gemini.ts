import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS } from '../dialect.ts'
import { carriesError } from '../reading/body-format.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { createUpdateAccumulator, type UsageUpdate, withoutOutput } from '../reading/usage-update.ts'
import {
  addCandidates,
  answerDetailsOf,
  createGrounding,
  GROUNDING,
  geminiUsage,
  unitsWithFilm,
} from './gemini-usage.ts'
import { googleModelInPath } from './google-path.ts'

const USAGE = ['usageMetadata', 'error']
/** The chunk that says what was searched for need not be one with usage. */
const USAGE_OR_GROUNDING = ['usageMetadata', 'error', 'groundingMetadata']

/**
 * Gemini's generateContent and streamGenerateContent, on AI Studio and Vertex. A stream is server-sent events
 * with `alt=sse`, else one JSON array. Nearly every chunk has running counts, and with server tools they start
 * again in each internal turn, so the last ones count, as a whole.
 * https://ai.google.dev/api/generate-content
 */
export const geminiGenerateContent: Dialect = jsonDialect({
  name: 'gemini.generate-content',
  answers: ANSWER_COUNTS.gemini,
  outputBound: 'settings',
  isChat: true,
  tokenizerFamily: 'gemini',
  runningUsageHasThoughts: true,
  fields: {
    usageMetadata: 'usage',
    modelVersion: 'value',
    candidates: [{ finishReason: 'value', groundingMetadata: GROUNDING }],
    error: 'value',
  },
  prefilter: USAGE_OR_GROUNDING,
  laterReplaces: true,
  createAccumulator: createContentAccumulator,
  modelInPath: googleModelInPath,
  textOf: (json) => (Array.isArray(json) ? json.map(textOfContent).join('') : textOfContent(json)),
})

function createContentAccumulator(): UsageAccumulator {
  const grounding = createGrounding()
  let model: string | null = null
  return createUpdateAccumulator((document) => {
    addCandidates(grounding, document)
    const update = readContent(document)
    model = update.model ?? model
    const details = answerDetailsOf(member(document, 'usageMetadata'))
    return { ...update, units: unitsWithFilm(grounding.units(model), details) }
  })
}

function readContent(document: JsonObject): UsageUpdate {
  return {
    ...readUsage(document),
    isFinal: arrayIn(document.candidates).every((candidate) => hasFinished(candidate)),
  }
}

/**
 * embedContent, batchEmbedContents and their asynchronous kin on AI Studio and Vertex. Older models report no
 * usage. https://ai.google.dev/api/embeddings
 */
export const geminiEmbedContent: Dialect = jsonDialect({
  name: 'gemini.embed-content',
  generatesNothing: true,
  tokenizerFamily: 'gemini',
  fields: { usageMetadata: 'usage', modelVersion: 'value', error: 'value' },
  prefilter: USAGE,
  read: readEmbedding,
  modelInPath: googleModelInPath,
})

function readEmbedding(document: JsonObject): UsageUpdate {
  const update = readUsage(document)
  return { ...update, usage: update.usage ? withoutOutput(update.usage) : null, isFinal: true }
}

function readUsage(document: JsonObject): UsageUpdate {
  const metadata = member(document, 'usageMetadata')
  const usage = metadata === null ? null : geminiUsage(metadata)
  return {
    usage,
    model: textIn(document.modelVersion),
    serviceTier: usage?.serviceTier ?? null,
    failed: carriesError(document),
  }
}

function hasFinished(candidate: unknown): boolean {
  const reason = objectIn(candidate)?.finishReason
  return typeof reason === 'string' || typeof reason === 'number'
}

/** Text, thoughts and the arguments of function calls in one answer or chunk. */
function textOfContent(json: unknown): string {
  const candidates = arrayIn(objectIn(json)?.candidates)
  return candidates
    .map((candidate) => arrayIn(member(candidate, 'content')?.parts).map(textOfPart).join(''))
    .join('')
}

/** The text of one part of a Gemini message: what the model wrote, not what it was given. */
export function textOfPart(part: unknown): string {
  const fields = objectIn(part)
  if (fields === null) return ''
  const call = member(fields, 'functionCall')
  const code = member(fields, 'executableCode')
  return [
    textIn(fields.text) ?? '',
    call === null ? '' : `${textIn(call.name) ?? ''}${JSON.stringify(call.args ?? {})}`,
    textIn(code?.code) ?? '',
  ].join('')
}
