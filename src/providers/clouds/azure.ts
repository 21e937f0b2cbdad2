import { listedAs } from '../catalog-lists.ts'
import { endpoint } from '../dialect.ts'
import { COHERE_V2_ENDPOINTS, cohereRerank } from '../makers/cohere.ts'
import { AZURE_ENDPOINTS } from '../openai/openai-endpoints.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ANTHROPIC_ADDRESSES, AZURE_ADDRESSES } from '../own-addresses.ts'
import { ANTHROPIC_BATCHES_FREE, OPENAI_FREE, OPENAI_OBJECTS_FREE } from '../paths/free-paths.ts'
import { ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { type HostedProvider, keyHeader } from '../provider.ts'

/** OpenAI's models at Azure. */
export const azureOpenAi: HostedProvider = {
  hosts: ['*.openai.azure.com', '*.openai.azure.us', '*.cognitiveservices.azure.com'],
  credential: keyHeader('api-key'),
  catalog: listedAs('azure'),
  isBelowOpenAi: true,
  openAi: USAGE_IF_ASKED,
  place: { isAsked: true },
  endpoints: AZURE_ENDPOINTS,
  hidesReasoning: true,
  ownAddresses: AZURE_ADDRESSES,
  freePaths: [OPENAI_OBJECTS_FREE, ...OPENAI_FREE],
  refusedPaths: [ORGANIZATION_REFUSED],
}

/** Models of several makers at Azure AI Foundry. */
export const azureAi: HostedProvider = {
  hosts: ['*.services.ai.azure.com', '*.inference.ai.azure.com', '*.models.ai.azure.com'],
  credential: keyHeader('api-key'),
  catalog: {
    lists: ['azure'],
    otherLists: ['azure-ai'],
    places: (name) => [{ providerId: 'azure', name, lists: ['azure-ai', 'azure'] }],
  },
  apis: ['openai', 'anthropic', 'cohere'],
  isBelowOpenAi: true,
  openAi: USAGE_IF_ASKED,
  place: { isAsked: true },
  endpoints: [
    ...AZURE_ENDPOINTS,
    endpoint('POST', /\/cohere\/v[12]\/rerank$/, cohereRerank),
    ...COHERE_V2_ENDPOINTS,
  ],
  ownAddresses: { ...AZURE_ADDRESSES, ...ANTHROPIC_ADDRESSES },
  freePaths: [OPENAI_OBJECTS_FREE, ...OPENAI_FREE, ANTHROPIC_BATCHES_FREE],
  refusedPaths: [ORGANIZATION_REFUSED],
}
