import type { Dialect } from '../dialect.ts'
import { chatText } from '../openai/openai-text.ts'
import { chatUsage, type OpenAiQuirks } from '../openai/openai-usage.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { createToldGatherer } from '../reading/usage-update.ts'
import { planJson } from '../wires/json.ts'
import { findMembers } from '../wires/prefilter.ts'

const MODEL = /\/ai\/run\/(.+)$/i

/**
 * Workers AI's own endpoint, `/ai/run/{model}`: the answer under `result` with `usage` as in chat; a stream's
 * events have `response` and, the last ones, `usage` at their root.
 * Source: developers.cloudflare.com/workers-ai, "REST API" and the models' output schemas.
 */
export function cloudflareRun(quirks: OpenAiQuirks): Dialect {
  const readUsage = (usage: JsonObject) => {
    const counted = chatUsage(usage, quirks, null)
    return { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }
  }
  return jsonDialect({
    name: 'cloudflare.run',
    // Some models that edit pictures.
    takesForm: true,
    format: {
      plan: planJson({ usage: 'usage', error: 'value', result: { usage: 'usage' } }),
      findTelling: findMembers(['usage', 'error']),
      createGatherer: () =>
        createToldGatherer((document) => {
          const usage = member(document.result, 'usage') ?? member(document, 'usage')
          return { usage: usage === null ? null : readUsage(usage), failed: carriesError(document) }
        }),
    },
    modelInPath: (path) => MODEL.exec(path)?.[1] ?? null,
    textOf(json) {
      const document = objectIn(json)
      const answer = member(document, 'result') ?? document
      return textIn(answer?.response) ?? chatText(answer)
    },
  })
}
