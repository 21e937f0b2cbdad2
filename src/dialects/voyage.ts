import type { Dialect } from './dialect.ts'
import { jsonDialect } from './json-dialect.ts'
import { createLastUsageGatherer } from './last-usage.ts'
import { promptOnlyUsage } from './openai-usage.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/**
 * Voyage AI's embeddings (also contextualized and multimodal) and reranking: `usage.total_tokens`, all of them
 * input, with an image's pixels already counted as tokens.
 * https://docs.voyageai.com/reference/embeddings-api
 */
export const voyage: Dialect = jsonDialect({
  name: 'voyage.embeddings',
  format: {
    plan: planJson({ usage: 'usage', model: 'value', error: 'value' }),
    findTelling: findMembers(['usage', 'error']),
    createGatherer: () => createLastUsageGatherer({ readUsage: promptOnlyUsage }),
  },
})
