import { madeAndListedAs } from '../catalog-lists.ts'
import { endpoint } from '../endpoint.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { COHERE_V2_ENDPOINTS, cohereChat, cohereRerank } from '../others/cohere.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Cohere itself. */
export const cohere: HostedProvider = {
  hosts: ['api.cohere.com', 'api.cohere.ai'],
  credential: BEARER,
  catalog: madeAndListedAs('cohere', ['cohere']),
  apis: ['cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [
    ...COHERE_V2_ENDPOINTS,
    endpoint('POST', /\/v1\/(?:chat|generate|summarize)$/, cohereChat),
    endpoint('POST', /\/(?:rerank|classify)$/, cohereRerank),
  ],
}
