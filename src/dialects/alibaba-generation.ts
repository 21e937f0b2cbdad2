import { totalDisagrees } from './counts.ts'
import type { Dialect } from './dialect.ts'
import { jsonDialect } from './json-dialect.ts'
import { arrayIn, member, objectIn, objectsIn, textIn } from './json-value.ts'
import { chatText } from './openai-text.ts'
import { responsesUsage } from './openai-usage.ts'
import { createToldGatherer } from './told.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/**
 * DashScope's own generation API (`/api/v1/services/aigc/...`): `usage` with `input_tokens` and `output_tokens`
 * at the root of the body or of each event, cumulative until a `finish_reason` other than the text `null`.
 * Source: Alibaba Cloud Model Studio, "DashScope API reference".
 */
export const alibabaGeneration: Dialect = jsonDialect({
  name: 'alibaba.generation',
  format: {
    plan: planJson({
      usage: 'usage',
      error: 'value',
      output: { finish_reason: 'value', choices: [{ finish_reason: 'value' }] },
    }),
    findTelling: findMembers(['usage', 'error']),
    createGatherer: () =>
      createToldGatherer((document) => {
        const usage = member(document, 'usage')
        if (usage === null) return null
        const counted = responsesUsage(usage)
        const output = member(document, 'output')
        const reasons = [output, ...objectsIn(output?.choices)].map((choice) => textIn(choice?.finish_reason))
        return {
          usage: { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) },
          isFinal: reasons.some((reason) => reason !== null && reason !== 'null'),
        }
      }),
  },
  textOf(json) {
    const output = member(objectIn(json), 'output')
    return textIn(output?.text) ?? chatText({ choices: arrayIn(output?.choices) })
  },
})
