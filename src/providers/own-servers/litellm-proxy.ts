import { BEHIND_GATEWAYS } from '../behind-gateways.ts'
import { VIDEO_ENDPOINTS } from '../openai/openai-endpoints.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ANTHROPIC_ADDRESSES } from '../own-addresses.ts'
import { ANTHROPIC_BATCHES_FREE, COUNTS_TOKENS, GOOGLE_FREE, OPENAI_FREE } from '../paths/free-paths.ts'
import { ADMIN, ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** LiteLLM's proxy, which keeps the paths of the providers behind it. */
export const liteLlmProxy: OwnServer = {
  hosts: [],
  isAnyServer: true,
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'google', 'bedrock', 'ollama', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [...VIDEO_ENDPOINTS, ...BEHIND_GATEWAYS],
  ownAddresses: ANTHROPIC_ADDRESSES,
  freePaths: [
    { patterns: ['POST /utils/token_counter'], why: COUNTS_TOKENS },
    ...GOOGLE_FREE,
    ...OPENAI_FREE,
    ANTHROPIC_BATCHES_FREE,
  ],
  refusedPaths: [
    ORGANIZATION_REFUSED,
    {
      patterns: [
        '* **/key/**',
        '* **/user/**',
        '* **/team/**',
        '* **/organization/**',
        '* **/customer/**',
        '* **/end_user/**',
        '* **/project/**',
        '* **/budget/**',
        '* **/tag/**',
        '* **/access_group/**',
        '* **/invitation/**',
        '* **/config/**',
        '* **/spend/**',
        '* **/global/**',
        '* **/credentials',
        '* **/credentials/**',
        '* **/model/new',
        '* **/model/delete',
        '* **/model/update',
        '* **/model/*/update',
        '* **/model_group/make_public',
        '* **/reload/model_cost_map',
        '* **/cache/flushall',
        '* **/cache/delete',
        '* **/cache/settings',
        'POST **/guardrails',
        'PUT,PATCH,DELETE **/guardrails/*',
        'POST,PUT,DELETE **/v1/mcp/server',
        'POST,PUT,DELETE **/v1/mcp/server/*',
        '* **/scim/**',
        '* **/sso/**',
        '* **/audit',
        '* **/audit/**',
      ],
      why: ADMIN,
    },
  ],
}
