import type { BilledUnits } from '../../call/usage.ts'
import { listedAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { endpoint } from '../dialect.ts'
import { USAGE_UNASKED } from '../openai/openai-overrides.ts'
import { lastUsage, RANKS } from '../openai/openai-prompt-only.ts'
import { type OpenAiUsage, promptOnlyUsage } from '../openai/openai-usage.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { type Count, countUsage, parseCount, subtractCounts } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member } from '../reading/json-value.ts'

/**
 * Voyage AI's embeddings (also contextualized and multimodal) and reranking: `usage.total_tokens`, all of them
 * input. Those beyond the text's are pictures', a token for 560 pixels, by which these are billed. What a film takes
 * is counted otherwise: something beside it that has no price.
 * https://docs.voyageai.com/reference/multimodal-embeddings-api, https://docs.voyageai.com/docs/pricing
 */
const embeddings: Dialect = jsonDialect({
  name: 'voyage.embeddings',
  generatesNothing: true,
  fields: { usage: 'usage', model: 'value', error: 'value' },
  prefilter: ['usage', 'error'],
  read: lastUsage({ readUsage: withPictures, readUnits: films }),
})

/** Voyage AI itself. */
export const voyageAi: HostedProvider = {
  hosts: ['api.voyageai.com'],
  credential: BEARER,
  catalog: listedAs('voyageai'),
  isBelowV1: true,
  openAi: USAGE_UNASKED,
  endpoints: [
    endpoint('POST', /\/(?:embeddings|multimodalembeddings|contextualizedembeddings)$/, embeddings),
    // The query counts with each document: https://docs.voyageai.com/docs/reranker.
    endpoint('POST', /\/rerank$/, { ...embeddings, name: 'voyage.rerank', ...RANKS }),
  ],
}

function withPictures(usage: JsonObject): OpenAiUsage {
  const whole = promptOnlyUsage(usage)
  if (!isSome(parseCount(usage.image_pixels))) return whole
  const imageInputTokens = subtractCounts(whole.usage.inputTokens, parseCount(usage.text_tokens))
  const counted = countUsage({ ...whole.usage, imageInputTokens })
  return { ...counted, invalid: counted.invalid || whole.invalid, total: whole.total }
}

function films(document: JsonObject): Partial<BilledUnits> {
  return { otherToolCalls: isSome(parseCount(member(document, 'usage')?.video_pixels)) ? 1 : null }
}

function isSome(count: Count): boolean {
  return count !== null && count !== 0
}
