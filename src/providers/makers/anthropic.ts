import { anthropicComplete, anthropicMessages } from '../anthropic/anthropic-messages.ts'
import { madeAndListedAs } from '../catalog-lists.ts'
import { fetching, postTo } from '../dialect.ts'
import { anthropicBatchResults, anthropicSession } from '../jobs/anthropic-jobs.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ANTHROPIC_ADDRESSES } from '../own-addresses.ts'
import { ANTHROPIC_BATCHES_FREE, SKILLS_FREE, STORES_OBJECTS } from '../paths/free-paths.ts'
import { ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { type HostedProvider, keyHeader } from '../provider.ts'

/** Anthropic itself. */
export const anthropic: HostedProvider = {
  hosts: ['api.anthropic.com'],
  credential: keyHeader('x-api-key'),
  requestHeaders: { 'anthropic-version': '2023-06-01' },
  modelListPath: '/v1/models?limit=1000',
  catalog: madeAndListedAs('anthropic', ['anthropic']),
  apis: ['anthropic'],
  isBelowV1: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [
    postTo('/messages', anthropicMessages),
    postTo('/complete', anthropicComplete),
    fetching('GET', /\/v1\/sessions\/[^/]+$/, anthropicSession),
    fetching('GET', /\/messages\/batches\/[^/]+\/results$/, anthropicBatchResults),
  ],
  ownAddresses: ANTHROPIC_ADDRESSES,
  freePaths: [
    SKILLS_FREE,
    {
      patterns: [
        'POST **/v1/agents',
        'POST **/v1/agents/*',
        'POST **/v1/agents/*/archive',
        'POST **/v1/memory_stores',
        'POST **/v1/memory_stores/**',
      ],
      why: STORES_OBJECTS,
    },
    ANTHROPIC_BATCHES_FREE,
  ],
  billedApartPaths: [
    {
      patterns: [
        'POST **/v1/deployments',
        'POST **/v1/deployments/**',
        'POST **/v1/dreams',
        'POST **/v1/dreams/**',
        'POST **/v1/environments',
        'POST **/v1/environments/**',
        'POST **/v1/sessions',
        'POST **/v1/sessions/**',
      ],
      why: 'agents that run at the provider are billed by its own clock',
    },
  ],
  refusedPaths: [ORGANIZATION_REFUSED],
  collections: {
    'messages/batches': 'message_batch',
    // Deployments elsewhere are the operator's.
    'v1/deployments': 'agent',
    deployment_runs: 'agent',
    dreams: 'agent',
    environments: 'container',
    memory_stores: 'vector_store',
    sessions: 'thread',
  },
}
