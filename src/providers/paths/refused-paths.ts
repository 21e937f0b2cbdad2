import type { PathGroup } from '../provider.ts'

const MINTS = 'makes a credential with which calls pass by the gateway'
const MEDIA = 'what the session costs passes by the gateway'
/** Why an interface for administrators is refused. */
export const ADMIN = 'administers the account at the upstream'
/** Why an interface that reconfigures a server is refused. */
export const SERVER = 'changes the server for every client'

/** Refused at every provider. */
export const REFUSED_EVERYWHERE: readonly PathGroup[] = [
  {
    patterns: [
      '* **/realtime/client_secrets',
      '* **/realtime/sessions',
      '* **/realtime/transcription_sessions',
      '* **/realtime/translations/client_secrets',
      // Azure's, before its sessions were OpenAI's.
      '* **/realtimeapi/sessions',
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
      '* **/realtime/translations/calls',
      '* **/realtime/translations/calls/**',
      '* **/chatkit/sessions/**',
      '* **/live/sessions',
      '* **/live/sessions/**',
    ],
    why: MEDIA,
  },
]

/** The administration of OpenAI and Anthropic, also where another server has their interfaces. */
export const ORGANIZATION_REFUSED: PathGroup = {
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
}

/** The administration of Google's interfaces. */
export const GOOGLE_REFUSED: PathGroup = {
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
    '* **:rebaseTunedModel',
    '* **/models:copy',
    '* **/models:upload',
    '* **:enableModel',
    '* **:setPublisherModelConfig',
  ],
  why: ADMIN,
}

/** Keys and credits of hosts and routers. */
export const KEYS_REFUSED: PathGroup = {
  patterns: ['* **/keys', '* **/keys/**', '* **/credits', '* **/credits/**'],
  why: ADMIN,
}

/** What changes an Ollama server. */
export const OLLAMA_REFUSED: PathGroup = {
  patterns: [
    'POST **/api/pull',
    'POST **/api/push',
    'POST **/api/create',
    'DELETE **/api/delete',
    'POST **/api/copy',
    '* **/api/blobs/*',
    'POST **/api/signout',
    'DELETE **/api/user/keys/*',
  ],
  why: SERVER,
}

/** Paths that change a vLLM server, or one put together like it. */
export const VLLM_REFUSED: PathGroup = {
  patterns: [
    'POST **/load_lora_adapter',
    'POST **/unload_lora_adapter',
    'POST **/adapters',
    'DELETE **/adapters/*',
    'POST **/sleep',
    'POST **/wake_up',
    'POST **/reset_prefix_cache',
    'POST **/reset_mm_cache',
    'POST **/collective_rpc',
    'POST **/start_profile',
    'POST **/stop_profile',
    'POST /pause',
    'POST /resume',
    'POST **/reset_encoder_cache',
    'POST **/init_weight_transfer_engine',
    'POST **/abort_request',
    'POST **/abort_requests',
    '* **/flush_cache',
    'POST **/update_weights*',
    '* **/release_memory_occupation',
    '* **/resume_memory_occupation',
    'POST **/pause_generation',
    'POST **/continue_generation',
    'POST **/set_internal_state',
    'POST **/configure_logging',
    'POST **/scale_elastic_ep',
  ],
  why: SERVER,
}

/** Paths that change a llama.cpp server. */
export const LLAMACPP_REFUSED: PathGroup = {
  patterns: [
    'POST **/slots/*',
    'POST **/props',
    'POST **/lora-adapters',
    'POST **/models/load',
    'POST **/models/unload',
  ],
  why: SERVER,
}

/** Credentials of speech services that may stand behind any address: ElevenLabs, Deepgram, AssemblyAI. */
export const SPEECH_REFUSED: PathGroup = {
  patterns: [
    '* **/convai/conversation/get-signed-url',
    '* **/convai/conversation/get_signed_url',
    '* **/convai/conversation/token',
    '* **/single-use-token/*',
    '* **/v1/auth/grant',
    '* **/v3/token',
  ],
  why: MINTS,
}

/** Shows what other clients' calls hold while they run: llama.cpp, KoboldCpp. */
export const RUNNING_CALLS_REFUSED: PathGroup = {
  patterns: ['GET **/slots', '* **/api/extra/generate/check', '* **/api/extra/last_logprobs'],
  why: "shows other clients' calls",
}

/**
 * Paths that change servers that have no entry of their own: TabbyAPI, LocalAI, text-generation-webui, KoboldCpp,
 * Triton.
 */
export const MODEL_SERVERS_REFUSED: PathGroup = {
  patterns: [
    'POST **/model/load',
    'POST **/model/unload',
    'POST **/lora/load',
    'POST **/lora/unload',
    'POST **/loras',
    'POST **/v1/download',
    'POST **/models/apply',
    'POST **/models/delete/*',
    'POST **/backends/apply',
    'POST **/backends/delete/*',
    '* **/api/admin/**',
    'POST **/repository/**',
  ],
  why: SERVER,
}
