import type { Dialect } from '../dialect.ts'
import { gigabytesIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { textIn } from '../reading/json-value.ts'

const PREFILTER = ['error']

/**
 * A container of the code interpreter, by its memory in GB, as its price is for one: one session. That it lives on, or comes to
 * life again, is not seen.
 * Source: OpenAI's API reference, "Create container"; developers.openai.com/api/docs/pricing, "Containers".
 */
export const openAiContainers: Dialect = requestDialect({
  name: 'openai.containers',
  fields: { memory_limit: 'value', error: 'value' },
  prefilter: PREFILTER,
  requestFields: { memory_limit: 'value' },
  readRequest: ({ fields, isRead }) =>
    isRead ? { model: 'container', units: { codeRuns: sessionsOf(fields.memory_limit) } } : {},
  readAnswer: (document, _raw, { isRead }) => ({
    ...(isRead && textIn(document.memory_limit) !== null
      ? { units: { codeRuns: sessionsOf(document.memory_limit) } }
      : {}),
    failed: carriesError(document),
  }),
})

/** 1 where nothing is said; `null`: what it says is not known. */
function sessionsOf(limit: unknown): number | null {
  return limit === undefined || limit === null ? 1 : gigabytesIn(limit)
}

/** A search of a vector store, by the call. Source: OpenAI's API reference, "Search vector store". */
export const vectorStoreSearch: Dialect = requestDialect({
  name: 'openai.vector-store-search',
  fields: { error: 'value' },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: ({ isRead }) => (isRead ? { model: 'vector-store-search', units: { fileSearches: 1 } } : {}),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})
