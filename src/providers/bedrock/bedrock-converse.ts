import type { BilledUnits } from '../../call/usage.ts'
import type { Dialect, RequestContext } from '../dialect.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { type BodyFormat, bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { createUpdateAccumulator, type UsageUpdate } from '../reading/usage-update.ts'
import { compileProjection } from '../wires/json.ts'
import { bedrockModel, bedrockModelInPath, converseUsage, isStreamPath, tierServed } from './bedrock-usage.ts'
import { createEventStreamBody, isEventStream } from './event-stream-body.ts'

/**
 * Bedrock's Converse and ConverseStream, one format for all models: `usage` at the root of an answer, or of a stream's
 * `metadata` event. No answer names its model; a prompt router reports which one it chose.
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
export const bedrockConverse: Dialect = {
  name: 'bedrock.converse',
  outputBound: 'settings',
  readsRequest: true,
  takesIncludeUsage: false,
  isChat: true,
  requestProjection: compileProjection({ guardrailConfig: { guardrailIdentifier: 'value' } }),
  modelInPath: bedrockModelInPath,
  createReader(request, head) {
    const isGuarded = asksGuardrail(request)
    if (!isEventStream(head, isStreamPath(request.path)))
      return createBodyReader(head, formatOf(null, isGuarded))
    // Nothing in a stream can correct the model that the path names.
    return createEventStreamBody(
      head,
      formatOf(bedrockModelInPath(request.path), isGuarded),
      ({ eventType, payload }) => (eventType === 'metadata' ? payload : null),
    )
  },
  textOf: converseText,
}

/**
 * The part that is read of the trace that an answer has where the request asked for it: assessments by the guardrail's
 * id.
 */
const GUARDRAIL_TRACE: Fields = { inputAssessment: 'text', outputAssessments: 'text' }

/** AWS bills no words and no patterns of the operator's: https://aws.amazon.com/bedrock/pricing, "Guardrails". */
const FREE_UNITS: ReadonlySet<string> = new Set(['wordPolicyUnits', 'sensitiveInformationPolicyFreeUnits'])

/**
 * A guardrail that is asked by itself. Its policies have several prices, so its units are counted, and only the
 * operator can price them, under the name `guardrail`.
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_GuardrailUsage.html
 */
export const bedrockGuardrail = jsonDialect({
  name: 'bedrock.guardrail',
  fields: { usage: 'usage' },
  prefilter: ['usage'],
  countsTokens: false,
  billsUnits: true,
  read: ({ usage }) => ({ model: 'guardrail', units: { otherToolCalls: paidUnits(objectIn(usage)) } }),
})

/** Tells whether the request has a guardrail look at the conversation, or leaves that in doubt; an empty name is none. */
function asksGuardrail({ fields = {} }: RequestContext): boolean {
  if (fields === null) return true
  const name = member(fields, 'guardrailConfig')?.guardrailIdentifier
  return name !== undefined && name !== null && name !== ''
}

/**
 * In place of units that are not reported: AWS bills each text of 1,000 characters for each policy, also of what it blocks.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/guardrails-how.html
 */
export const UNREPORTED_UNITS: Partial<BilledUnits> = { otherToolCalls: 1 }

/** Units of the guardrails that looked at a conversation, beside its tokens; one for what is too long to be read. */
function guardrailUnits(trace: JsonObject | null): Partial<BilledUnits> | null {
  if (trace === null) return null
  const { inputAssessment, outputAssessments } = trace
  if (inputAssessment === true || outputAssessments === true) return UNREPORTED_UNITS
  const assessments = [inputAssessment, outputAssessments].flatMap((byId) =>
    Object.values(objectIn(byId) ?? {}).flatMap((assessed) =>
      Array.isArray(assessed) ? arrayIn(assessed) : [assessed],
    ),
  )
  let units = 0
  for (const assessment of assessments) {
    units += paidUnits(member(member(objectIn(assessment), 'invocationMetrics'), 'usage')) ?? 0
  }
  return units === 0 ? null : { otherToolCalls: units }
}

function paidUnits(usage: JsonObject | null): number | null {
  if (usage === null) return null
  let units = 0
  for (const [name, count] of Object.entries(usage))
    if (name.endsWith('Units') && !FREE_UNITS.has(name)) units += unitsIn(count) ?? 0
  return units
}

const FIELDS: Fields = {
  usage: 'usage',
  trace: { promptRouter: { invokedModelId: 'value' }, guardrail: GUARDRAIL_TRACE },
  serviceTier: { type: 'value' },
  performanceConfig: { latency: 'value' },
}

const FORMAT = bodyFormat({ fields: FIELDS, prefilter: ['usage'] })

function formatOf(model: string | null, isGuarded: boolean): BodyFormat {
  const readAnswer = (document: JsonObject) => read(document, isGuarded)
  return { ...FORMAT, createAccumulator: () => createUpdateAccumulator(readAnswer, { model }) }
}

function read(document: JsonObject, isGuarded: boolean): UsageUpdate {
  const written = member(document, 'usage')
  const trace = member(member(document, 'trace'), 'guardrail')
  const isUnreported = isGuarded && trace === null && written !== null
  const routedTo = textIn(member(member(document, 'trace'), 'promptRouter')?.invokedModelId)
  return {
    usage: written === null ? null : converseUsage(written),
    isFinal: true,
    model: routedTo === null ? null : bedrockModel(routedTo),
    serviceTier: tierServed(
      textIn(member(document, 'serviceTier')?.type),
      member(document, 'performanceConfig')?.latency,
    ),
    units: isUnreported ? UNREPORTED_UNITS : guardrailUnits(trace),
  }
}

/** Text, reasoning and tools' input of an answer or of one delta; Nova's own answers have the same shape. */
export function converseText(json: unknown): string {
  const document = objectIn(json)
  const message = member(member(document, 'output'), 'message')
  const delta = member(document, 'delta') ?? member(member(document, 'contentBlockDelta'), 'delta')
  const start = member(document, 'start') ?? member(member(document, 'contentBlockStart'), 'start')
  return [...arrayIn(message?.content), start, delta].map(textOfBlock).join('')
}

function textOfBlock(block: unknown): string {
  const fields = objectIn(block)
  const reasoning = member(fields, 'reasoningContent')
  const called = member(fields, 'toolUse')
  const input = called?.input
  return [
    textIn(fields?.text) ?? '',
    textIn(reasoning?.text) ?? textIn(member(reasoning, 'reasoningText')?.text) ?? '',
    textIn(called?.name) ?? '',
    typeof input === 'string' ? input : input === undefined ? '' : JSON.stringify(input),
  ].join('')
}
