import { listedAs } from '../catalog-lists.ts'
import { AZURE_ENDPOINTS } from '../openai/openai-endpoints.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { AZURE_ADDRESSES } from '../own-addresses.ts'
import { OPENAI_FREE, OPENAI_OBJECTS_FREE } from '../paths/free-paths.ts'
import { ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { type HostedProvider, keyHeader } from '../provider.ts'

/** OpenAI's models at Azure. */
export const azureOpenAi: HostedProvider = {
  hosts: ['*.openai.azure.com', '*.openai.azure.us', '*.cognitiveservices.azure.com'],
  credential: keyHeader('api-key'),
  catalog: listedAs('azure'),
  openAi: USAGE_IF_ASKED,
  place: { isAsked: true },
  endpoints: AZURE_ENDPOINTS,
  hidesReasoning: true,
  ownAddresses: AZURE_ADDRESSES,
  freePaths: [OPENAI_OBJECTS_FREE, ...OPENAI_FREE],
  refusedPaths: [ORGANIZATION_REFUSED],
}
