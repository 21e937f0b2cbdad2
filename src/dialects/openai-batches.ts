import { totalDisagrees } from './counts.ts'
import type { Dialect } from './dialect.ts'
import { jsonDialect } from './json-dialect.ts'
import { member, textIn } from './json-value.ts'
import { responsesUsage } from './openai-usage.ts'
import { createToldGatherer } from './told.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

const ENDED = new Set(['completed', 'expired', 'cancelled', 'failed'])

/**
 * A batch, fetched by its id: once it has ended, `usage` is the sum over all its requests; before, it is not
 * final and does not count. It is told again at every fetch, which is what `responseId` is for.
 * Source: OpenAI's API reference, "The batch object".
 */
export const openAiBatch: Dialect = jsonDialect({
  name: 'openai.batch',
  format: {
    plan: planJson({ id: 'value', model: 'value', status: 'value', usage: 'usage' }),
    findTelling: findMembers(['usage']),
    createGatherer: () =>
      createToldGatherer((batch) => {
        const hasEnded = ENDED.has(textIn(batch.status) ?? '')
        const usage = hasEnded ? member(batch, 'usage') : null
        const counted = usage === null ? null : responsesUsage(usage)
        return {
          usage: counted && { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) },
          isFinal: true,
          model: textIn(batch.model),
          responseId: textIn(batch.id),
          pending: !hasEnded && textIn(batch.status) !== null,
          serviceTier: 'batch',
        }
      }),
  },
})
