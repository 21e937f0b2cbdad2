import { madeAndListedAs } from '../catalog-lists.ts'
import { OPENAI_OWN_ENDPOINTS } from '../openai/openai-endpoints.ts'
import { OPENAI_FREE, OPENAI_OBJECTS_FREE } from '../paths/free-paths.ts'
import { ADMIN, ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { type JsonObject, objectsIn, textIn } from '../reading/json-value.ts'

/** OpenAI itself. */
export const openAi: HostedProvider = {
  hosts: ['api.openai.com', '*.api.openai.com'],
  credential: BEARER,
  catalog: madeAndListedAs('openai', ['openai']),
  isBelowV1: true,
  openAi: { takesIncludeUsage: true, readSearchTier: searchTool },
  endpoints: OPENAI_OWN_ENDPOINTS,
  hidesReasoning: true,
  // Data residency: `eu.api.openai.com`.
  place: { ofHost: (host) => /^([a-z]{2})\.api\.openai\.com$/.exec(host)?.[1] ?? null },
  freePaths: [OPENAI_OBJECTS_FREE, ...OPENAI_FREE],
  billedApartPaths: [
    {
      patterns: [
        'POST **/v1/containers/*/files',
        'POST **/v1/vector_stores',
        'POST **/v1/vector_stores/*',
        'POST **/v1/vector_stores/*/files',
        'POST **/v1/vector_stores/*/files/*',
        'POST **/v1/vector_stores/*/file_batches',
        'POST **/v1/threads/*',
        'POST **/v1/videos/**',
        'POST **/v1/fine_tuning/alpha/graders/run',
        'POST **/v1/threads/*/runs',
        'POST **/v1/threads/*/runs/*/submit_tool_outputs',
        'POST **/v1/audio/voices',
        'POST **/v1/audio/voice_consents',
        'POST **/v1/audio/voice_consents/*',
        'POST **/v1/content_provenance_checks',
        'POST **/v1/decisions',
        'POST **/v1/agents',
        'POST **/v1/agents/**',
      ],
      why: 'billed by storage, second, search or later, and the answer has no figures',
    },
  ],
  refusedPaths: [
    ORGANIZATION_REFUSED,
    // Elsewhere these are Vertex's own model calls.
    { patterns: ['* **/v1/projects/**'], why: ADMIN },
  ],
  collections: {
    files: 'file',
    uploads: 'upload',
    batches: 'batch',
    responses: 'response',
    conversations: 'conversation',
    'chat/completions': 'completion',
    vector_stores: 'vector_store',
    'fine_tuning/jobs': 'fine_tuning_job',
    'fine-tunes': 'fine_tuning_job',
    evals: 'eval',
    containers: 'container',
    videos: 'video',
    'video/generations/jobs': 'video',
    assistants: 'assistant',
    threads: 'thread',
    skills: 'skill',
    'agents/automations': 'agent',
    'agents/environments': 'container',
    'agents/environments/templates': 'container',
    'agents/sessions': 'thread',
    'audio/voice_consents': 'file',
    'audio/voices': 'file',
    'videos/characters': 'file',
  },
}

const DOES_NOT_REASON = /^gpt-4(?:o|\.1)(?:-|$)/

/** OpenAI's page "Pricing", "Built-in tools": with models that do not reason the older tool of web search is dearer. */
function searchTool(response: JsonObject): string | null {
  if (!DOES_NOT_REASON.test(textIn(response.model) ?? '')) return null
  const isPreview = objectsIn(response.tools).some(({ type }) =>
    textIn(type)?.startsWith('web_search_preview'),
  )
  return isPreview ? 'search_preview' : null
}
