import { listedElsewhereAs } from '../catalog-lists.ts'
import { endpoint } from '../dialect.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { USAGE_UNASKED } from '../openai/openai-overrides.ts'
import { ADMIN } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Databricks' model serving. */
export const databricks: HostedProvider = {
  hosts: ['*.databricks.com', '*.azuredatabricks.net'],
  credential: BEARER,
  catalog: listedElsewhereAs('databricks'),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_UNASKED,
  endpoints: [
    // Every model by its own name: chat and completions answer alike, embeddings have no completion.
    endpoint('POST', /\/serving-endpoints\/[^/]+\/invocations$/, openAiChat(USAGE_UNASKED)),
  ],
  refusedPaths: [
    {
      patterns: [
        '* /api/2.**',
        'POST **/api/*/serving-endpoints',
        'PUT **/api/**',
        'DELETE **/api/**',
        'PATCH **/api/**',
      ],
      why: ADMIN,
    },
  ],
}
