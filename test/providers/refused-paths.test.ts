import { expect, test } from 'vitest'
import { REFUSED_PATHS } from '../../src/providers/paths/known-paths.ts'
import { entryOf, PROVIDERS, type Provider } from '../../src/providers/registry.ts'

/** Servers that anyone may run: they have no hosts of their own. */
const OWN_SERVERS = PROVIDERS.filter((provider) => entryOf(provider).hosts.length === 0)
/** What stands at such an address may be any of them, or have any of them behind it. */
const ANY_OF_THEM: readonly Provider[] = ['openai-compatible', 'litellm-proxy']

function isRefused(provider: Provider, method: string, path: string): boolean {
  return REFUSED_PATHS.find(provider, method, path) !== null
}

/** A path and method that `pattern` matches. */
function exampleOf(pattern: string): readonly [method: string, path: string] {
  const [methods = '', glob = ''] = pattern.split(' ')
  const method = methods === '*' ? 'POST' : (methods.split(',')[0] ?? '')
  return [
    method,
    glob
      .replace(/^\*\*(?=\/)/, '')
      .replaceAll('**', 'a/b')
      .replaceAll('*', 'a'),
  ]
}

test.each(ANY_OF_THEM)('what a server of any kind refuses is refused at %s', (provider) => {
  const examples = OWN_SERVERS.flatMap((server) =>
    (entryOf(server).refusedPaths ?? []).flatMap(({ patterns }) => patterns.map(exampleOf)),
  )
  expect(examples.length).toBeGreaterThan(60)
  expect(examples.filter(([method, path]) => !isRefused(provider, method, path))).toEqual([])
})

test.each([
  // LiteLLM
  ['POST', '/key/generate'],
  ['POST', '/key/service-account/generate'],
  ['POST', '/key/sk-1/regenerate'],
  ['GET', '/key/list'],
  ['POST', '/user/new'],
  ['GET', '/user/daily/activity'],
  ['POST', '/team/new'],
  ['POST', '/team/t-1/callback'],
  ['POST', '/end_user/new'],
  ['POST', '/model/new'],
  ['PATCH', '/model/m-1/update'],
  ['POST', '/config/update'],
  ['GET', '/get/config/callbacks'],
  ['POST', '/credentials'],
  ['GET', '/spend/logs'],
  ['GET', '/global/spend/report'],
  ['POST', '/invitation/new'],
  ['POST', '/cache/flushall'],
  ['POST', '/scim/v2/Users'],
  ['POST', '/fallback'],
  ['POST', '/policies/attachments'],
  ['POST', '/prompts'],
  ['PATCH', '/update/sso_settings'],
  ['GET', '/get/internal_user_settings'],
  ['POST', '/add/allowed_ip'],
  ['POST', '/schedule/model_cost_map_reload'],
  ['GET', '/management/v1/spend_logs/users'],
  ['POST', '/v1/mcp/server/import'],
  ['POST', '/vector_store/new'],
  ['POST', '/health/test_connection'],
  ['GET', '/health'],
  ['POST', '/litellm/health'],
  ['GET', '/health/drain'],
  ['GET', '/health/latest'],
  // vLLM, SGLang
  ['POST', '/v1/load_lora_adapter'],
  ['POST', '/adapters'],
  ['DELETE', '/adapters/a'],
  ['POST', '/sleep'],
  ['POST', '/pause'],
  ['POST', '/update_weights_from_disk'],
  ['POST', '/release_memory_occupation'],
  ['GET', '/flush_cache'],
  // Ollama, llama.cpp, LM Studio, TabbyAPI, LocalAI
  ['POST', '/api/pull'],
  ['DELETE', '/api/delete'],
  ['POST', '/api/signout'],
  ['DELETE', '/api/user/keys/abc'],
  ['GET', '/slots'],
  ['POST', '/api/extra/generate/check'],
  ['POST', '/slots/0'],
  ['POST', '/props'],
  ['POST', '/api/v1/models/download'],
  ['POST', '/v1/model/load'],
  ['POST', '/v1/internal/model/load'],
  ['POST', '/models/apply'],
  // ElevenLabs, Deepgram, AssemblyAI
  ['GET', '/v1/convai/conversation/get-signed-url'],
  ['POST', '/v1/single-use-token/realtime_scribe'],
  ['POST', '/v1/auth/grant'],
  ['GET', '/v3/token'],
])('%s %s is refused at a server of unknown kind', (method, path) => {
  for (const provider of ANY_OF_THEM) expect(isRefused(provider, method, path)).toBe(true)
})

test.each([
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/messages'],
  ['POST', '/v1beta/models/gemini-2.5-pro:generateContent'],
  ['POST', '/api/chat'],
  ['POST', '/api/show'],
  ['GET', '/api/tags'],
  ['POST', '/completion'],
  ['POST', '/tokenize'],
  ['GET', '/models'],
  ['GET', '/model/info'],
  ['GET', '/health/liveliness'],
  ['GET', '/health/readiness'],
  ['GET', '/props'],
  ['POST', '/v1/files'],
  ['POST', '/v1/rerank'],
  ['POST', '/v1/fine_tuning/jobs/ftjob-1/resume'],
  ['POST', '/v1/prompts/p-1/completions'],
  ['POST', '/v1/vector_stores'],
  ['POST', '/guardrails/apply_guardrail'],
])('%s %s passes at a server of unknown kind', (method, path) => {
  for (const provider of ANY_OF_THEM) expect(isRefused(provider, method, path)).toBe(false)
})

test.each([
  ['azure-openai', 'POST', '/openai/realtimeapi/sessions'],
  ['openai', 'POST', '/v1/realtime/translations/calls'],
  ['mistral', 'POST', '/v1/observability/chat-completion-events/search'],
  ['mistral', 'GET', '/v1/observability/chat-completion-events/event-1'],
  ['ollama', 'POST', '/api/signout'],
  ['llamacpp', 'GET', '/slots'],
] as const)('at %s %s %s is refused', (provider, method, path) => {
  expect(isRefused(provider, method, path)).toBe(true)
})
