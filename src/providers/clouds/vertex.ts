import type { Dialect, Endpoint } from '../dialect.ts'
import { endpoint } from '../dialect.ts'
import {
  GEMINI_ENDPOINTS,
  GOOGLE_ANSWER_FORM,
  VERTEX_OVERRIDES,
  VERTEX_PARTNER_ENDPOINTS,
} from '../google/google-endpoints.ts'
import { bareGoogleName } from '../google/google-path.ts'
import { RANKS } from '../openai/openai-prompt-only.ts'
import { GOOGLE_ADDRESSES } from '../own-addresses.ts'
import { GOOGLE_FREE } from '../paths/free-paths.ts'
import { GOOGLE_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { searchUnitsOf } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, textIn } from '../reading/json-value.ts'

/** This model ranks unless the request names another. */
const VERTEX_RANKER = 'semantic-ranker-default@latest'

/**
 * Google's ranking API: a query with up to a hundred records.
 * Source: cloud.google.com/generative-ai-app-builder/docs/ranking.
 */
const vertexRanking: Dialect = requestDialect({
  name: 'vertex.ranking',
  ...RANKS,
  fields: { error: 'value' },
  prefilter: ['error'],
  requestFields: { records: ['length'], model: 'value' },
  readRequest: ({ fields, isRead }) => ({
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

/** Google Cloud's Vertex AI. */
export const vertex: HostedProvider = {
  hosts: ['*-aiplatform.googleapis.com', 'aiplatform.googleapis.com', 'aiplatform.*.rep.googleapis.com'],
  credential: BEARER,
  catalog: {
    lists: ['google'],
    otherLists: ['google-vertex'],
    places: (model) => [{ providerId: 'google', name: nameOf(model), lists: ['google-vertex'] }],
  },
  apis: ['google'],
  ownPaths: ['**/v1beta1/**'],
  openAi: VERTEX_OVERRIDES,
  endpoints: [
    ...GEMINI_ENDPOINTS.map(countedByVertex),
    ...VERTEX_PARTNER_ENDPOINTS,
    endpoint('POST', /\/rankingConfigs\/[^/]+:rank$/, vertexRanking),
  ],
  answerForm: GOOGLE_ANSWER_FORM,
  tierHeaders: ['x-vertex-ai-llm-shared-request-type'],
  hidesReasoning: true,
  place: { ofPath: placeIn },
  ownAddresses: GOOGLE_ADDRESSES,
  freePaths: GOOGLE_FREE,
  refusedPaths: [GOOGLE_REFUSED],
  collections: {
    batchpredictionjobs: 'batch',
    // Those of tuned models, which are called by them.
    'locations/*/endpoints': 'tuned_model',
    // Those of the account. Models of makers stand below `publishers`.
    'locations/*/models': 'model',
    ragcorpora: 'file_search_store',
    tuningjobs: 'tuned_model',
  },
}

/** It counts definitions of tools and sound otherwise than Google's own API does. */
function countedByVertex({ dialect, ...rest }: Endpoint): Endpoint {
  const { tokenizerFamily } = dialect
  return {
    ...rest,
    dialect: tokenizerFamily === 'gemini' ? { ...dialect, tokenizerFamily: 'vertex' } : dialect,
  }
}

/** Full resource names, and `google/...` at its OpenAI-compatible endpoint. */
function nameOf(model: string): string {
  const name = bareGoogleName(model)
  const slash = name.indexOf('/')
  return slash >= 0 && ['google', 'anthropic'].includes(name.slice(0, slash)) ? name.slice(slash + 1) : name
}

const LOCATION = /\/locations\/([^/]+)/i

/** Every location but `global` costs the same: a region, or `us` and `eu`. */
function placeIn(path: string): string | null {
  const location = LOCATION.exec(path)?.[1]
  if (location === undefined) return null
  return location.toLowerCase() === 'global' ? '' : 'regional'
}
