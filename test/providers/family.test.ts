import { describe, expect, test } from 'vitest'
import { apiFamilyOf, modelInPathOf, speaks } from '../../src/providers/paths/family.ts'
import { entryOf, PROVIDERS } from '../../src/providers/registry.ts'
import { busyness } from '../support/patience.ts'
import { rounds } from '../support/rounds.ts'

const PATHS = rounds({ short: 400, long: 2_000 })
/** A path that begins in every way that one can may take so long. */
const PATH_US = 5_000

const ANTHROPIC = { 'anthropic-version': '2023-06-01' }
const GOOGLE = { 'x-goog-api-key': 'tg_x' }

describe('whose API a path is', () => {
  test.each([
    ['/v1/chat/completions', 'openai'],
    ['/chat/completions', 'openai'],
    ['/v1/responses', 'openai'],
    ['/v1/responses/resp_1/cancel', 'openai'],
    ['/v1/responses/input_tokens', 'openai'],
    ['/v1/embeddings', 'openai'],
    ['/v1/images/edits', 'openai'],
    ['/v1/audio/speech', 'openai'],
    ['/v1/realtime', 'openai'],
    ['/v1/files', 'openai'],
    ['/v1/files/file-1/content', 'openai'],
    ['/v1/uploads/u/parts', 'openai'],
    ['/v1/batches', 'openai'],
    ['/v1/batches/b/cancel', 'openai'],
    ['/v1/threads/t/messages', 'openai'],
    ['/v1/threads/t/runs', 'openai'],
    ['/v1/models', 'openai'],
    ['/openai/deployments/gpt-4o/chat/completions', 'openai'],
    ['/v1/messages', 'anthropic'],
    ['/v1/messages/count_tokens', 'anthropic'],
    ['/v1/messages/batches', 'anthropic'],
    ['/v1/messages/batches/b', 'anthropic'],
    ['/v1/messages/batches/b/results', 'anthropic'],
    ['/v1/messages/batches/b/cancel', 'anthropic'],
    ['/v1/complete', 'anthropic'],
    ['/anthropic/v1/messages', 'anthropic'],
    ['/v1beta/models/gemini-2.5-flash:generateContent', 'google'],
    ['/v1/models/gemini-2.5-flash:countTokens', 'google'],
    ['/v1beta/models/gemini-2.5-flash:countTokens', 'google'],
    ['/v1beta/models', 'google'],
    ['/v1beta/cachedContents', 'google'],
    ['/v1beta/cachedContents/c', 'google'],
    ['/v1beta/files/f', 'google'],
    ['/v1beta/openai/chat/completions', 'google'],
    ['/upload/v1beta/files', 'google'],
    ['/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent', 'google'],
    ['/v1/projects/p/locations/l/publishers/google/models/m:generateContent', 'google'],
    ['/model/anthropic.claude-3/converse', 'bedrock'],
    ['/model/anthropic.claude-3/count-tokens', 'bedrock'],
    ['/async-invoke/x', 'bedrock'],
    ['/api/chat', 'ollama'],
    ['/api/tags', 'ollama'],
    ['/api/pull', 'ollama'],
    ['/v2/chat', 'cohere'],
    ['/v2/rerank', 'cohere'],
    ['/v1/unheard-of', null],
    ['', null],
    [`/v1/messages/${'x'.repeat(600)}`, null],
  ])('%s is %s', (path, family) => {
    expect(apiFamilyOf(path, {})).toBe(family)
  })

  test.each([
    ['/v1/files', ANTHROPIC, 'anthropic'],
    ['/v1/files/f/content', ANTHROPIC, 'anthropic'],
    ['/v1/models', ANTHROPIC, 'anthropic'],
    ['/v1/models', GOOGLE, 'google'],
    ['/v1/skills', ANTHROPIC, 'anthropic'],
    ['/v1/unheard-of', ANTHROPIC, 'anthropic'],
    ['/v1/unheard-of', GOOGLE, 'google'],
    ['/unheard-of', { authorization: 'AWS4-HMAC-SHA256 Credential=x' }, 'bedrock'],
    ['/v1/chat/completions', ANTHROPIC, 'openai'],
    ['/v1/messages', GOOGLE, 'anthropic'],
    ['/v1beta/files', ANTHROPIC, 'google'],
  ])('where several have %s, the headers decide', (path, headers, family) => {
    expect(apiFamilyOf(path, headers)).toBe(family)
  })
})

test('chat in OpenAI’s format goes to every provider; other calls of a family to those that serve it', () => {
  for (const provider of PROVIDERS) {
    expect(speaks(provider, 'openai', '/v1/chat/completions')).toBe(true)
    expect(speaks(provider, null, '/v1/files')).toBe(true)
    expect(speaks(provider, entryOf(provider).apis?.[0] ?? 'openai', '/x')).toBe(true)
  }
  expect(speaks('openai', 'anthropic', '/v1/messages')).toBe(false)
  expect(speaks('anthropic', 'openai', '/v1/files')).toBe(false)
  expect(speaks('gemini', 'openai', '/v1/images/generations')).toBe(false)
  expect(speaks('openai-compatible', 'google', '/v1beta/models')).toBe(true)
})

test('models are found where each family names them', () => {
  expect(modelInPathOf('google', '/v1beta/models/gemini-2.5-pro:countTokens')).toBe('gemini-2.5-pro')
  expect(modelInPathOf('bedrock', '/model/amazon.nova-lite-v1:0/count-tokens')).toBe('amazon.nova-lite-v1:0')
  expect(modelInPathOf('openai', '/openai/deployments/gpt-4o/chat/completions')).toBe('gpt-4o')
  expect(modelInPathOf('anthropic', '/v1/messages')).toBeNull()
})

test.each([
  ['google', '/v1beta/models/openai/gpt-5:generateContent', 'openai/gpt-5'],
  ['google', '/v1beta/models/ollama/llama3:8b:streamGenerateContent', 'ollama/llama3:8b'],
  ['google', '/v1beta/models/veo-3/operations/a', 'veo-3'],
  ['google', '/v1beta/models/veo-3/operations/a:cancel', 'veo-3'],
  ['google', '/v1/projects/p/locations/l/endpoints/123:predict', 'endpoints/123'],
  ['google', '/v1beta/models', null],
  ['google', '/v1/projects/models/locations/l/publishers/google/models/gemini-3:generateContent', 'gemini-3'],
  [
    'google',
    '/v1beta/models/a/projects/p/locations/l/models/b:generateContent',
    'a/projects/p/locations/l/models/b',
  ],
  ['openai', '/engines/llama.cpp/v1/chat/completions', 'llama.cpp'],
  ['openai', '/serving-endpoints/ep/served-models/m1/invocations', 'ep'],
  ['openai', '/openai/deployments/openai/gpt-5/chat/completions', 'openai/gpt-5'],
  ['openai', '/engines/azure/eu/gpt-5/completions', 'azure/eu/gpt-5'],
  ['openai', '/openai/deployments/gpt-4o/extensions/chat/completions', 'gpt-4o'],
  ['openai', '/openai/deployments/dall-e/images/generations', 'dall-e'],
  ['openai', '/openai/deployments/gpt-4o/of/which/nothing/is/known', 'gpt-4o'],
  ['openai', '/v1/projects/p/locations/l/endpoints/123/chat/completions', 'endpoints/123'],
] as const)('a name with slashes, as LiteLLM takes it, is read whole: %s %s', (family, path, model) => {
  expect(modelInPathOf(family, path)).toBe(model)
})

test('a path takes bounded time, whatever it holds', () => {
  const begin = process.cpuUsage()
  for (let n = 0; n < PATHS; n += 1) apiFamilyOf(`/v1/${'/model/'.repeat(30)}${'*'.repeat(200)}/${n}`, {})
  expect(process.cpuUsage(begin).user).toBeLessThan(PATHS * PATH_US * busyness())
})
