import { listedElsewhereAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, endpoint } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { responsesUsage } from '../openai/openai-usage.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { millisecondsIn, unitsIn } from '../reading/billed-units.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { arrayIn, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import { ifCounted } from '../reading/usage-update.ts'

/**
 * DashScope's own generation API (`/api/v1/services/aigc/...`): `usage` with `input_tokens` and `output_tokens`
 * at the root of the body or of each event, cumulative until a `finish_reason` other than the text `null`. Pictures, speech
 * and transcriptions are billed by what they are, and have no tokens, or zeros.
 * Source: Alibaba Cloud Model Studio, "DashScope API reference".
 */
const alibabaGeneration: Dialect = jsonDialect({
  name: 'alibaba.generation',
  answers: ANSWER_COUNTS.alibaba,
  outputBound: 'settings',
  fields: {
    usage: 'usage',
    error: 'value',
    output: { finish_reason: 'value', choices: [{ finish_reason: 'value' }] },
  },
  prefilter: ['usage', 'error'],
  read: (document, raw) => {
    const usage = member(document, 'usage')
    if (usage === null) return null
    const counted = responsesUsage(usage)
    const output = member(document, 'output')
    const reasons = [output, ...objectsIn(output?.choices)].map((choice) => textIn(choice?.finish_reason))
    return {
      usage: ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
      units: {
        images: unitsIn(usage.image_count) || null,
        characters: unitsIn(usage.characters) || null,
        audioMs: millisecondsIn(usage.seconds) || null,
      },
      raw,
      isFinal: reasons.some((reason) => reason !== null && reason !== 'null'),
    }
  },
  textOf(json) {
    const output = member(objectIn(json), 'output')
    return textIn(output?.text) ?? chatText({ choices: arrayIn(output?.choices) })
  },
})

/** Alibaba Cloud's Model Studio. */
export const alibaba: HostedProvider = {
  hosts: ['dashscope.aliyuncs.com', 'dashscope-*.aliyuncs.com', '*.maas.aliyuncs.com'],
  credential: BEARER,
  catalog: listedElsewhereAs('alibaba'),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [endpoint('POST', /\/services\/aigc\/.+\/generation$/, alibabaGeneration)],
}
