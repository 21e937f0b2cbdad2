import type { Provider } from '../../providers/dialect.ts'
import { type EndpointGroup, groupFinder } from '../../providers/free-endpoints.ts'

const MINTS = 'makes a credential with which calls pass by the gateway'
const MEDIA = 'what the session costs passes by the gateway'
const ADMIN = 'administers the account at the upstream'
const SERVER = 'changes the server for every client'

/** What is refused unless the configuration's `paths.allow` lifts it. */
export const REFUSED_ENDPOINTS: readonly EndpointGroup[] = [
  {
    patterns: [
      '* **/realtime/client_secrets',
      '* **/realtime/sessions',
      '* **/realtime/transcription_sessions',
      '* **/realtime/translations/client_secrets',
      '* **/chatkit/sessions',
      '* **/auth_tokens',
      '* **/auth_tokens/**',
    ],
    why: MINTS,
  },
  {
    patterns: [
      '* **/realtime/calls',
      '* **/realtime/calls/**',
      '* **/chatkit/sessions/**',
      '* **/live/sessions',
      '* **/live/sessions/**',
    ],
    why: MEDIA,
  },
  {
    patterns: [
      '* **/v1/organization',
      '* **/v1/organization/**',
      '* **/v1/organizations',
      '* **/v1/organizations/**',
      '* **/api_keys',
      '* **/api_keys/**',
      '* **/webhook_endpoints',
      '* **/webhook_endpoints/**',
      '* **/vaults',
      '* **/vaults/**',
      '* **/tunnels',
      '* **/tunnels/**',
      '* **/user_profiles',
      '* **/user_profiles/**',
      'DELETE **/v1/models/**',
      '* **/checkpoints/*/permissions',
      '* **/checkpoints/*/permissions/*',
    ],
    why: ADMIN,
    providers: ['openai', 'azure-openai', 'azure-ai', 'anthropic', 'litellm-proxy', 'openai-compatible'],
  },
  // Elsewhere these are Vertex's own model calls.
  { patterns: ['* **/v1/projects/**'], why: ADMIN, providers: ['openai'] },
  {
    patterns: [
      'POST **:transferOwnership',
      '* **/permissions',
      '* **/permissions/*',
      '* **/webhooks',
      '* **/webhooks/*',
      '* **/credentials',
      '* **/credentials/*',
      'DELETE **/tunedModels/*',
      '* **:setIamPolicy',
      '* **:deployModel',
      '* **:undeployModel',
      '* **:mutateDeployedModel',
      '* **:enableModel',
      '* **:setPublisherModelConfig',
    ],
    why: ADMIN,
    providers: ['gemini', 'vertex'],
  },
  {
    patterns: [
      '* **/key/*',
      '* **/user/*',
      '* **/team/*',
      '* **/organization/*',
      '* **/customer/*',
      '* **/budget/*',
      '* **/config/*',
      '* **/spend/*',
      '* **/global/**',
      '* **/credentials',
      '* **/credentials/*',
      '* **/model/new',
      '* **/model/delete',
      '* **/model/update',
    ],
    why: ADMIN,
    providers: ['litellm-proxy'],
  },
  {
    patterns: ['* **/keys', '* **/keys/**', '* **/credits', '* **/credits/**'],
    why: ADMIN,
    providers: ['openrouter', 'gpustack', 'vercel-gateway', 'together', 'fireworks', 'openai-compatible'],
  },
  { patterns: ['* **/apiKeys', '* **/apiKeys/**'], why: ADMIN, providers: ['fireworks'] },
  {
    patterns: [
      '* /api/2.**',
      'POST **/api/*/serving-endpoints',
      'PUT **/api/**',
      'DELETE **/api/**',
      'PATCH **/api/**',
    ],
    why: ADMIN,
    providers: ['databricks'],
  },
  {
    patterns: [
      'POST **/api/pull',
      'POST **/api/push',
      'POST **/api/create',
      'DELETE **/api/delete',
      'POST **/api/copy',
      '* **/api/blobs/*',
    ],
    why: SERVER,
    providers: ['ollama', 'openai-compatible'],
  },
  {
    patterns: [
      'POST **/load_lora_adapter',
      'POST **/unload_lora_adapter',
      'POST **/sleep',
      'POST **/wake_up',
      'POST **/reset_prefix_cache',
      'POST **/reset_mm_cache',
      'POST **/collective_rpc',
      'POST **/start_profile',
      'POST **/stop_profile',
      '* **/flush_cache',
      'POST **/update_weights*',
      'POST **/scale_elastic_ep',
    ],
    why: SERVER,
    providers: ['vllm', 'openai-compatible', 'gpustack'],
  },
  {
    patterns: [
      'POST **/slots/*',
      'POST **/props',
      'POST **/lora-adapters',
      'POST **/models/load',
      'POST **/models/unload',
    ],
    why: SERVER,
    providers: ['llamacpp', 'openai-compatible'],
  },
  {
    patterns: ['POST **/models/load', 'POST **/models/unload', 'POST **/models/download'],
    why: SERVER,
    providers: ['lmstudio'],
  },
]

const finders = new Map<Provider, ReturnType<typeof groupFinder>>()

/** Why a call on `path` (canonical) is refused unless the operator allows it, or `null`: it may pass. */
export function refusedEndpoint(
  provider: Provider,
  method: string,
  path: string,
): { readonly reason: string } | null {
  let find = finders.get(provider)
  if (find === undefined) {
    find = groupFinder(REFUSED_ENDPOINTS, provider)
    finders.set(provider, find)
  }
  const group = find(method, path)
  return group === null ? null : { reason: group.why }
}
