import type { Dialect } from './dialect.ts'
import { gigabytesIn, searchUnitsOf } from './reading/billed-units.ts'
import { countUsage, parseCount } from './reading/counts.ts'
import { carriesError } from './reading/error-in-body.ts'
import { jsonDialect, requestDialect } from './reading/json-dialect.ts'
import { arrayIn, member, textIn } from './reading/json-value.ts'
import { createUpdateAccumulator, ifCounted, withoutOutput } from './reading/usage-update.ts'
import { compileProjection } from './wires/json.ts'
import { findMembers } from './wires/prefilter.ts'

/*
 * What providers bill by the call, run no model for and name none: the names here are ours, so that it has a price, and that the
 * operator can write one.
 */

const PREFILTER = findMembers(['error'])

/**
 * A container of the code interpreter, by its memory in GB, as its price is for one: one session. That it lives on, or comes to
 * life again, is not seen.
 * Source: OpenAI's API reference, "Create container"; developers.openai.com/api/docs/pricing, "Containers".
 */
export const openAiContainers: Dialect = requestDialect({
  name: 'openai.containers',
  format: { projection: compileProjection({ memory_limit: 'value', error: 'value' }), prefilter: PREFILTER },
  wants: { memory_limit: 'value' },
  readCall: ({ fields, isRead }) =>
    isRead ? { model: 'container', units: { codeRuns: sessionsOf(fields.memory_limit) } } : {},
  readAnswer: (document, _raw, { isRead }) => ({
    ...(isRead && textIn(document.memory_limit) !== null
      ? { units: { codeRuns: sessionsOf(document.memory_limit) } }
      : {}),
    failed: carriesError(document),
  }),
})

/** 1 where nothing is said; `null`: it says what nobody knows. */
function sessionsOf(limit: unknown): number | null {
  return limit === undefined || limit === null ? 1 : gigabytesIn(limit)
}

/** A search of a vector store, by the call. Source: OpenAI's API reference, "Search vector store". */
export const vectorStoreSearch: Dialect = requestDialect({
  name: 'openai.vector-store-search',
  format: { projection: compileProjection({ error: 'value' }), prefilter: PREFILTER },
  wants: {},
  readCall: ({ isRead }) => (isRead ? { model: 'vector-store-search', units: { fileSearches: 1 } } : {}),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/** Perplexity's search, by the request, however many queries it has. Source: docs.perplexity.ai, "Pricing". */
export const perplexitySearch: Dialect = requestDialect({
  name: 'perplexity.search',
  format: { projection: compileProjection({ error: 'value' }), prefilter: PREFILTER },
  wants: {},
  readCall: ({ isRead }) => (isRead ? { model: 'search', units: { webSearches: 1 } } : {}),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/** What ranks unless the request names another. */
const VERTEX_RANKER = 'semantic-ranker-default@latest'

/**
 * Google's ranking API: a query with up to a hundred records.
 * Source: cloud.google.com/generative-ai-app-builder/docs/ranking.
 */
export const vertexRanking: Dialect = requestDialect({
  name: 'vertex.ranking',
  format: { projection: compileProjection({ error: 'value' }), prefilter: PREFILTER },
  wants: { records: ['length'], model: 'value' },
  readCall: ({ fields, isRead }) => ({
    model: isRead ? (textIn(fields.model) ?? VERTEX_RANKER) : null,
    units: {
      // Records are cut to what it reads, so that none counts twice.
      searchUnits: Array.isArray(fields.records)
        ? searchUnitsOf(
            arrayIn(fields.records).map(() => 1),
            0,
            1,
          )
        : null,
    },
  }),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/**
 * A cache that Gemini keeps: its tokens are read once, at the price of input, and stored by the hour. How long nobody knows here:
 * the storage counts as one call of the provider's that has no price, so that the cost says it is not all.
 * Source: ai.google.dev/gemini-api/docs/caching, ai.google.dev/gemini-api/docs/pricing.
 */
export const geminiCaches: Dialect = {
  ...jsonDialect({
    name: 'gemini.cached-contents',
    tokenizerFamily: 'gemini',
    format: {
      projection: compileProjection({ model: 'value', usageMetadata: 'usage', error: 'value' }),
      prefilter: findMembers(['usageMetadata', 'error']),
      createAccumulator: () =>
        createUpdateAccumulator((document, raw) => {
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
        }),
    },
  }),
  countsTokens: false,
  billsUnits: true,
}
