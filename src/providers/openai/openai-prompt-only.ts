import type { BilledUnits } from '../../call/usage.ts'
import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, deploymentIn } from '../dialect.ts'
import { unitsIn } from '../reading/billed-units.ts'
import type { Fields, ReadDocument } from '../reading/body-format.ts'
import { carriesError } from '../reading/body-format.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { ReadCost } from '../reading/reported-cost.ts'
import { ifCounted } from '../reading/usage-update.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { type OpenAiUsage, promptOnlyUsage } from './openai-usage.ts'

const FIELDS: Fields = { model: 'value', usage: 'usage', error: 'value' }
const RERANK_FIELDS: Fields = { ...FIELDS, meta: { billed_units: { search_units: 'value' } } }
const PREFILTER = ['usage', 'error']

/** What all rankers have alike. */
export const RANKS = { ranks: true, answers: ANSWER_COUNTS.rankings } as const

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
    ...RANKS,
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

/** How the documents of an endpoint are read whose last `usage` at the root is the whole truth. */
export interface LastUsageRules {
  readonly readUsage: (usage: JsonObject) => OpenAiUsage
  /** Units from a document; what it leaves `null` stays as an earlier document had it. */
  readonly readUnits?: (document: JsonObject) => Partial<BilledUnits>
  readonly readCost?: ReadCost | undefined
}

/** Reads the usage at the root, the model and the units, for endpoints that report usage once. */
export function lastUsage({ readUsage, readUnits, readCost }: LastUsageRules): ReadDocument {
  return (document, raw) => {
    const usage = objectIn(document.usage)
    const counted = usage === null ? null : readUsage(usage)
    const units = Object.entries(readUnits?.(document) ?? {}).filter(([, count]) => count !== null)
    return {
      usage:
        counted && ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
      // Usage without tokens (seconds, a cost) is kept as text too.
      raw: usage === null ? null : raw,
      isFinal: true,
      units: units.length === 0 ? null : Object.fromEntries(units),
      model: textIn(document.model),
      failed: carriesError(document),
      serviceTier: textIn(usage?.service_tier),
      reportedCostPico: usage === null ? null : (readCost?.(usage) ?? null),
    }
  }
}
