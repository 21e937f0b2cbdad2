import { endpoint } from '../endpoint.ts'
import { GOOGLE_ANSWER_FORM } from '../google/google-answer-form.ts'
import { GEMINI_ENDPOINTS, VERTEX_PARTNER_ENDPOINTS } from '../google/google-endpoints.ts'
import { VERTEX_OVERRIDES } from '../google/google-overrides.ts'
import { bareGoogleName } from '../google/google-path.ts'
import { vertexRanking } from '../google/vertex-ranking.ts'
import { GOOGLE_ADDRESSES } from '../own-addresses.ts'
import { GOOGLE_FREE } from '../paths/free-paths.ts'
import { GOOGLE_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

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
    ...GEMINI_ENDPOINTS,
    ...VERTEX_PARTNER_ENDPOINTS,
    endpoint('POST', /\/rankingConfigs\/[^/]+:rank$/, vertexRanking),
  ],
  answerForm: GOOGLE_ANSWER_FORM,
  hidesReasoning: true,
  place: { ofPath: placeIn },
  ownAddresses: GOOGLE_ADDRESSES,
  freePaths: GOOGLE_FREE,
  refusedPaths: [GOOGLE_REFUSED],
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
