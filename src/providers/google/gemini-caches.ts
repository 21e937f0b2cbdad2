import type { Dialect } from '../dialect.ts'
import { countUsage, parseCount } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { member, textIn } from '../reading/json-value.ts'
import { ifCounted, withoutOutput } from '../reading/usage-update.ts'

/**
 * A cache that Gemini keeps: its tokens are read once, at the price of input, and stored by the hour. How long is not known here:
 * the storage counts as one call of the provider's that has no price, so that the cost says it is not all.
 * Source: ai.google.dev/gemini-api/docs/caching, ai.google.dev/gemini-api/docs/pricing.
 */
export const geminiCaches: Dialect = {
  ...jsonDialect({
    name: 'gemini.cached-contents',
    tokenizerFamily: 'gemini',
    fields: { model: 'value', usageMetadata: 'usage', error: 'value' },
    prefilter: ['usageMetadata', 'error'],
    read: (document, raw) => {
      const total = parseCount(member(document, 'usageMetadata')?.totalTokenCount)
      const counted = ifCounted(countUsage({ inputTokens: total, cacheWriteTokens: total }))
      const model = textIn(document.model)
      return {
        usage: counted === null ? null : withoutOutput(counted),
        raw,
        isFinal: true,
        units: counted === null ? null : { otherToolCalls: 1 },
        model: model === null ? null : model.slice(model.lastIndexOf('/') + 1),
        failed: carriesError(document),
      }
    },
  }),
  countsTokens: false,
  billsUnits: true,
}
