import type { Dialect } from './dialect.ts'
import { jsonDialect } from './json-dialect.ts'
import { arrayIn, member, objectIn, textIn } from './json-value.ts'
import { LastUsageGatherer } from './last-usage.ts'
import { chatText } from './openai-text.ts'
import { responsesUsage } from './openai-usage.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/**
 * DashScope's own generation API (`/api/v1/services/aigc/...`): `usage` with `input_tokens` and `output_tokens`
 * at the root of the body or of each event, cumulative.
 * Source: Alibaba Cloud Model Studio, "DashScope API reference".
 */
export const alibabaGeneration: Dialect = jsonDialect({
  name: 'alibaba.generation',
  format: {
    plan: planJson({ model: 'value', usage: 'usage', error: 'value' }),
    findTelling: findMembers(['usage', 'error']),
    createGatherer: () => new LastUsageGatherer({ readUsage: responsesUsage }),
  },
  textOf(json) {
    const output = member(objectIn(json), 'output')
    return textIn(output?.text) ?? chatText({ choices: arrayIn(output?.choices) })
  },
})
