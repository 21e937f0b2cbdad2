import type { BilledUnit, BilledUnits } from '../../call/usage.ts'
import { listedAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { endpoint, fetching, postTo } from '../dialect.ts'
import { madeAtMs } from '../jobs/job-list.ts'
import { ChatAccumulator, COMPLETION, openAiChat } from '../openai/openai-chat.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { unitsByTool, unitsIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { jsonDialect, requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { totalCostInUsd } from '../reading/reported-cost.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'

const OVERRIDES: OpenAiOverrides = {
  takesIncludeUsage: false,
  readCost: totalCostInUsd,
  readUnits: deepResearch,
  readToolUnits: agentTools,
  readTier: searchContext,
}

/** Perplexity's search, by the request, however many queries it has. Source: docs.perplexity.ai, "Pricing". */
const perplexitySearch: Dialect = requestDialect({
  name: 'perplexity.search',
  fields: { error: 'value' },
  prefilter: ['error'],
  requestFields: {},
  readRequest: ({ isRead }) => (isRead ? { model: 'search', units: { webSearches: 1 } } : {}),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/** Perplexity itself. */
export const perplexity: HostedProvider = {
  hosts: ['api.perplexity.ai'],
  credential: BEARER,
  catalog: listedAs('perplexity'),
  openAi: OVERRIDES,
  endpoints: [
    postTo('/search', perplexitySearch),
    endpoint('POST', /\/async\/(?:chat\/completions|sonar)$/, perplexityAsyncChat(OVERRIDES)),
    fetching('GET', /\/async\/(?:chat\/completions|sonar)\/[^/]+$/, perplexityAsyncChat(OVERRIDES)),
    // Chat completions by their newer path.
    postTo('/v1/sonar', openAiChat(OVERRIDES)),
  ],
  reportsCost: true,
  collections: {
    'async/chat/completions': 'async_completion',
    'async/sonar': 'async_completion',
  },
}

/** docs.perplexity.ai, "Pricing": the fee of a request is by how much of the web it may read. */
function searchContext(usage: JsonObject): string | null {
  const size = textIn(usage.search_context_size)
  return size === null ? null : `search_${size}`
}

/** docs.perplexity.ai, "Pricing": deep research is billed by the query, and for the tokens of what it cites. */
function deepResearch(usage: JsonObject): Partial<BilledUnits> | null {
  return {
    webSearches: unitsIn(usage.num_search_queries),
    citationTokens: unitsIn(usage.citation_tokens),
  }
}

const PERPLEXITY_CALLS: ReadonlyMap<string, BilledUnit> = new Map([
  ['web_search', 'webSearches'],
  ['search_web', 'webSearches'],
  ['fetch_url', 'webFetches'],
])

/** `tool_calls_details` of Perplexity's agents: docs.perplexity.ai, "Agent API". */
function agentTools(usage: JsonObject): Partial<BilledUnits> | null {
  const reported = member(usage, 'tool_calls_details')
  if (reported === null) return null
  return unitsByTool(reported, PERPLEXITY_CALLS, (value) => unitsIn(objectIn(value)?.invocation ?? value))
}

/**
 * Perplexity's asynchronous chat: the completion stands in `response` of a request that is fetched by its id until
 * it has ended, and may be fetched again. What is submitted has the model in `request`. Source: docs.perplexity.ai,
 * "Create Async Chat Completion".
 */
function perplexityAsyncChat(overrides: OpenAiOverrides): Dialect {
  const dialect = jsonDialect({
    name: 'perplexity.async-chat',
    countsTokens: false,
    fields: {
      id: 'value',
      model: 'value',
      status: 'value',
      created_at: 'value',
      response: COMPLETION,
    },
    prefilter: ['usage', 'error'],
    createAccumulator: () => createAsyncAccumulator(new ChatAccumulator(overrides)),
    textOf: (json) => chatText(member(objectIn(json), 'response')),
  })
  return { ...dialect, hidesModel: true, innerRequest: { member: 'request', dialect } }
}

function createAsyncAccumulator(completion: UsageAccumulator): UsageAccumulator {
  let request: JsonObject = {}
  return {
    wantsEvery: false,
    add(document, raw, isError) {
      request = document ?? {}
      completion.add(objectIn(request.response), raw, isError)
      return true
    },
    snapshot(ended) {
      const observed = completion.snapshot(ended)
      const status = textIn(request.status)
      return {
        ...observed,
        model: observed.model ?? textIn(request.model),
        failed: observed.failed || status === 'FAILED',
        responseId: textIn(request.id),
        ...(request.created_at === undefined ? {} : { madeAtMs: madeAtMs(request.created_at) }),
        pending: status === 'CREATED' || status === 'IN_PROGRESS',
      }
    },
  }
}
