import { describe, expect, test } from 'vitest'
import { PROVIDERS, type Provider } from '../../src/providers/registry.ts'
import { dialectOf, modelInPathOf } from './recordings/dialect-of.ts'

const CHAT = 'openai.chat-completions'

describe('the dialect of a call', () => {
  test.each<[Provider, string, string]>([
    ['openai', '/v1/chat/completions', CHAT],
    ['openai', '/v1/chat/completions/', CHAT],
    ['openai', '/v1/completions', 'openai.completions'],
    ['openai', '/v1/responses', 'openai.responses'],
    ['openai', '/v1/responses/compact', 'openai.responses'],
    ['openai', '/v1/responses/resp_1/cancel', 'openai.responses'],
    ['openai', '/v1/embeddings', 'openai.embeddings'],
    ['openai', '/v1/images/edits', 'openai.images'],
    ['openai', '/v1/audio/translations', 'openai.audio-transcriptions'],
    ['openai', '/v1/audio/speech', 'openai.audio-speech'],
    ['openai', '/v1/moderations', 'openai.moderations'],
    ['azure-openai', '/openai/deployments/my%20gpt/chat/completions', CHAT],
    ['azure-openai', '/openai/v1/responses', 'openai.responses'],
    ['azure-ai', '/anthropic/v1/messages', 'anthropic.messages'],
    ['anthropic', '/v1/messages', 'anthropic.messages'],
    ['anthropic', '/v1/complete', 'anthropic.complete'],
    ['openrouter', '/api/v1/chat/completions', CHAT],
    ['groq', '/openai/v1/chat/completions', CHAT],
    ['gemini', '/v1beta/openai/chat/completions', CHAT],
    ['alibaba', '/compatible-mode/v1/chat/completions', CHAT],
    ['zai', '/api/paas/v4/chat/completions', CHAT],
    ['fireworks', '/inference/v1/chat/completions', CHAT],
    ['databricks', '/serving-endpoints/chat/completions', CHAT],
    ['databricks', '/serving-endpoints/my-model/invocations', CHAT],
    ['perplexity', '/chat/completions', CHAT],
    ['deepseek', '/beta/completions', 'openai.completions'],
    ['mistral', '/v1/fim/completions', 'openai.completions'],
    ['cloudflare', '/client/v4/accounts/0/ai/run/@cf/meta/llama', 'cloudflare.run'],
    ['cloudflare', '/v1/a/gateway/workers-ai/@cf/meta/llama', 'cloudflare.run'],
    ['cloudflare', '/v1/a/gateway/workers-ai/v1/chat/completions', CHAT],
    ['openai-compatible', '/v1/chat', CHAT],
    ['vllm', '/invocations', 'sagemaker.invocations'],
    ['vllm', '/server/%69nvocations/', 'sagemaker.invocations'],
    ['openai-compatible', '/invocations', 'sagemaker.invocations'],
    ['tgi', '/invocations', 'sagemaker.invocations'],
    ['tgi', '/vertex', 'tgi.vertex'],
    ['vllm', '/inference/v1/generate', 'vllm.generate'],
    ['gpustack', '/inference/v1/generate', 'vllm.generate'],
  ])('the dialect at %s of POST %s is %s', (provider, path, name) => {
    expect(dialectOf(provider, 'POST', path)?.name).toBe(name)
  })

  test.each<[string, string]>([
    ['POST', '/v1/responses/input_tokens'],
    ['POST', '/v1/messages/count_tokens'],
    ['POST', '/v1/messages/batches'],
    ['POST', '/v1/threads/thread_1/messages'],
    ['POST', '/v1/files'],
    ['GET', '/v1/files'],
    ['GET', '/v1/models'],
    ['GET', '/v1/chat/completions'],
    ['GET', '/v1/responses/resp_1/input_items'],
    ['DELETE', '/v1/responses/resp_1'],
    ['OPTIONS', '/v1/chat/completions'],
    ['POST', '/'],
    ['POST', ''],
  ])('at OpenAI, nothing is metered at %s %s', (method, path) => {
    expect(dialectOf('openai', method, path)).toBe(null)
  })

  test('the dialect of a call is that of the Responses API for fetching a response and for its WebSocket mode', () => {
    expect(dialectOf('openai', 'GET', '/v1/responses/resp_1')?.name).toBe('openai.responses')
    expect(dialectOf('openai', 'GET', '/v1/responses')?.createMessageReader).toBeDefined()
  })

  test('the dialect of a call is the same object for every call: choosing it makes nothing new', () => {
    const once = dialectOf('openai', 'POST', '/v1/chat/completions')
    expect(dialectOf('openai', 'POST', '/other/v1/chat/completions')).toBe(once)
  })

  test('the dialect of a call knows chat completions at every provider', () => {
    const without = PROVIDERS.filter(
      (provider) => dialectOf(provider, 'POST', '/v1/chat/completions') === null,
    )
    expect(without).toEqual([])
  })

  test('the dialect of a call asks a chat stream for usage only where the provider knows the option and needs it', () => {
    const unasked: readonly Provider[] = [
      'openrouter',
      'mistral',
      'groq',
      'deepseek',
      'perplexity',
      'together',
      'databricks',
    ]
    for (const provider of unasked) {
      expect(dialectOf(provider, 'POST', '/v1/chat/completions')?.takesIncludeUsage).toBe(false)
    }
    const asked: readonly Provider[] = [
      'openai',
      'azure-openai',
      'xai',
      'ollama',
      'vllm',
      'llamacpp',
      'tgi',
      'lmstudio',
    ]
    for (const provider of asked) {
      expect(dialectOf(provider, 'POST', '/v1/chat/completions')?.takesIncludeUsage).toBe(true)
    }
    for (const path of ['/v1/responses', '/v1/messages', '/v1/embeddings']) {
      expect(dialectOf('openai', 'POST', path)?.takesIncludeUsage).toBe(false)
    }
  })

  test.each<[Provider, string, string | null]>([
    ['azure-openai', '/openai/deployments/my%20gpt/chat/completions', 'my gpt'],
    ['azure-openai', '/openai/deployments/bad%zz/chat/completions', 'bad%zz'],
    ['azure-openai', '/openai/v1/chat/completions', null],
    ['databricks', '/serving-endpoints/my-model/invocations', 'my-model'],
    ['cloudflare', '/client/v4/accounts/0/ai/run/@cf/meta/llama', '@cf/meta/llama'],
    ['cloudflare', '/v1/a/gateway/workers-ai/@cf/meta/llama', '@cf/meta/llama'],
    ['openai', '/v1/chat/completions', null],
  ])('the dialect of %s reads from the path %s the model %s', (provider, path, model) => {
    expect(modelInPathOf(provider, 'POST', path)).toBe(model)
  })
})
