import type { BilledUnits } from '../../call/usage.ts'
import { unitsIn } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn } from '../reading/json-value.ts'

/** What is read of the trace that an answer has where the request asked for it: assessments by the guardrail's id. */
export const GUARDRAIL_TRACE: Fields = { inputAssessment: 'text', outputAssessments: 'text' }

/** AWS bills no words and no patterns of the operator's: https://aws.amazon.com/bedrock/pricing, "Guardrails". */
const FREE_UNITS: ReadonlySet<string> = new Set(['wordPolicyUnits', 'sensitiveInformationPolicyFreeUnits'])

/**
 * A guardrail that is asked by itself. Its policies have several prices, so its units are counted, and only the operator
 * can price them, under the name `guardrail`.
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

/** Units of the guardrails that looked at a conversation, beside its tokens; one for what is too long to be read. */
export function guardrailUnits(trace: JsonObject | null): Partial<BilledUnits> | null {
  if (trace === null) return null
  const { inputAssessment, outputAssessments } = trace
  if (inputAssessment === true || outputAssessments === true) return { otherToolCalls: 1 }
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
