import type { Dialect } from '../dialect.ts'
import { deploymentIn } from '../endpoint.ts'
import { unitsIn } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { member } from '../reading/json-value.ts'
import { lastUsage } from './last-usage.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { promptOnlyUsage } from './openai-usage.ts'

const FIELDS: Fields = { model: 'value', usage: 'usage', error: 'value' }
const RERANK_FIELDS: Fields = { ...FIELDS, meta: { billed_units: { search_units: 'value' } } }
const PREFILTER = ['usage', 'error']

/**
 * Embeddings: `usage` stands after the vectors, in bodies of megabytes; the output is 0.
 * Source: OpenAI's API reference, "Create embeddings".
 */
export function openAiEmbeddings(overrides: OpenAiOverrides): Dialect {
  const rules = { readUsage: promptOnlyUsage, readCost: overrides.readCost }
  return jsonDialect({
    name: 'openai.embeddings',
    generatesNothing: true,
    fields: FIELDS,
    prefilter: PREFILTER,
    read: lastUsage(rules),
    modelInPath: deploymentIn,
  })
}

/**
 * Rerankers and vLLM's score and classify endpoints: `usage.total_tokens` alone, or Cohere's search units, which
 * Together, OpenRouter and self-hosted servers pass on. The output is 0.
 * Sources: docs.together.ai "Rerank", docs.vllm.ai "Re-rank API", docs.cohere.com "Rerank".
 */
export function openAiRerank(overrides: OpenAiOverrides): Dialect {
  const rules = {
    readUsage: promptOnlyUsage,
    readCost: overrides.readCost,
    readUnits: (document: { readonly [key: string]: unknown }) => ({
      searchUnits:
        unitsIn(member(document.meta, 'billed_units')?.search_units) ??
        unitsIn(member(document, 'usage')?.search_units),
    }),
  }
  return jsonDialect({
    name: 'openai.rerank',
    countsTokens: false,
    generatesNothing: true,
    fields: RERANK_FIELDS,
    prefilter: PREFILTER,
    read: lastUsage(rules),
  })
}

/** Moderations are free and report no usage; the model is worth knowing. */
export const openAiModerations: Dialect = jsonDialect({
  name: 'openai.moderations',
  countsTokens: false,
  isFree: true,
  fields: FIELDS,
  prefilter: PREFILTER,
  read: lastUsage({ readUsage: promptOnlyUsage }),
})
