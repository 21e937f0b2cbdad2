import { describe, expect, test } from 'vitest'
import { PROVIDERS, type Provider } from '../../src/providers/registry.ts'
import { bedrockChunk } from '../fixtures/event-messages.ts'
import { dialectOf, modelInPathOf } from './recordings/dialect-of.ts'

const GOOGLE = '/v1/projects/p/locations/global/publishers/google/models/gemini-made'
const PARTNER = '/v1/projects/p/locations/global/publishers'
const PROFILE = 'arn%3Aaws%3Abedrock%3Aus-east-1%3A0%3Ainference-profile%2Fus.anthropic.claude-made-v1%3A0'

describe('the dialect of a call to a provider with a format of its own', () => {
  test.each<[Provider, string, string]>([
    ['gemini', '/v1beta/models/gemini-made:generateContent', 'gemini.generate-content'],
    ['gemini', '/v1beta/models/gemini-made%3AstreamGenerateContent', 'gemini.generate-content'],
    ['gemini', '/v1beta/models/made:batchEmbedContents', 'gemini.embed-content'],
    ['gemini', '/v1beta/interactions', 'gemini.interactions'],
    ['gemini', '/v1beta/models/imagen-made:predict', 'vertex.images'],
    ['gemini', '/v1beta/openai/chat/completions', 'openai.chat-completions'],
    ['vertex', `${GOOGLE}:streamGenerateContent`, 'gemini.generate-content'],
    ['vertex', `${GOOGLE}:predict`, 'vertex.predict'],
    [
      'vertex',
      `${PARTNER}/anthropic/models/claude-made@20260101:streamRawPredict`,
      'vertex.anthropic-messages',
    ],
    ['vertex', `${PARTNER}/mistralai/models/mistral-made:rawPredict`, 'vertex.mistral-chat'],
    ['vertex', `${PARTNER}/ai21/models/jamba-made:rawPredict`, 'vertex.partner-chat'],
    ['vertex', '/v1/projects/p/locations/l/endpoints/openapi/chat/completions', 'openai.chat-completions'],
    ['bedrock', '/model/amazon.nova-made-v1:0/converse', 'bedrock.converse'],
    ['bedrock', `/model/${PROFILE}/converse-stream`, 'bedrock.converse'],
    ['bedrock', '/model/meta.llama-made-v1:0/invoke', 'bedrock.invoke'],
    ['bedrock', `/model/${PROFILE}/invoke-with-response-stream`, 'bedrock.invoke'],
    ['bedrock', '/openai/v1/responses', 'openai.responses'],
    ['bedrock', '/anthropic/v1/messages', 'anthropic.messages'],
    ['cohere', '/v2/chat', 'cohere.chat'],
    ['cohere', '/v1/chat', 'cohere.chat'],
    ['cohere', '/v2/embed', 'cohere.embed'],
    ['cohere', '/v2/rerank', 'cohere.rerank'],
    ['cohere', '/v1/classify', 'cohere.rerank'],
    ['cohere', '/compatibility/v1/chat/completions', 'openai.chat-completions'],
    ['azure-ai', '/providers/cohere/v2/rerank', 'cohere.rerank'],
    ['ollama', '/api/chat', 'ollama.chat'],
    ['ollama', '/api/generate', 'ollama.chat'],
    ['ollama', '/api/embed', 'ollama.embed'],
    ['ollama', '/api/embeddings', 'ollama.embed'],
    ['ollama', '/v1/embeddings', 'openai.embeddings'],
    ['ollama', '/v1/messages', 'anthropic.messages'],
    ['tgi', '/', 'tgi.generate'],
    ['tgi', '/generate_stream', 'tgi.generate'],
    ['tgi', '/models/owner/name', 'tgi.generate'],
    ['tgi', '/models/owner/name/v1/chat/completions', 'openai.chat-completions'],
    ['llamacpp', '/completion', 'llamacpp.completion'],
    ['llamacpp', '/completions', 'llamacpp.completion'],
    ['llamacpp', '/infill', 'llamacpp.completion'],
    ['llamacpp', '/v1/completions', 'openai.completions'],
    ['llamacpp', '/chat/completions', 'openai.chat-completions'],
    ['voyageai', '/v1/contextualizedembeddings', 'voyage.embeddings'],
    ['voyageai', '/v1/rerank', 'voyage.rerank'],
    [
      'litellm-proxy',
      '/vertex_ai/v1/projects/p/locations/l/publishers/google/models/m:generateContent',
      'gemini.generate-content',
    ],
    ['cloudflare', '/v1/acc/gw/aws-bedrock/bedrock-runtime/us-east-1/model/m/invoke', 'bedrock.invoke'],
    ['openai-compatible', '/v1beta/models/gemini-made:generateContent', 'gemini.generate-content'],
    ['openai-compatible', '/api/chat', 'ollama.chat'],
    ['openai-compatible', '/v2/chat', 'cohere.chat'],
    ['gemini', '/v1beta/models/veo-made:predictLongRunning', 'google.videos'],
    ['gemini', '/v1beta/cachedContents', 'gemini.cached-contents'],
    ['bedrock', '/model/us.amazon.nova-canvas-v1:0/invoke', 'bedrock.images'],
    ['bedrock', '/model/cohere.rerank-v3-5:0/invoke', 'bedrock.rerank-invoke'],
    ['bedrock', '/rerank', 'bedrock.rerank'],
    ['litellm-proxy', '/rerank', 'openai.rerank'],
    ['openai', '/v1/videos', 'openai.videos'],
    ['xai', '/v1/videos/generations', 'xai.videos'],
    ['openai', '/v1/realtime/client_secrets', 'passes-by'],
  ])('the native dialect at %s of POST %s is %s', (provider, path, name) => {
    expect(dialectOf(provider, 'POST', path)?.name).toBe(name)
  })

  test.each<[Provider, string, string]>([
    ['gemini', 'POST', '/v1beta/models/gemini-made:countTokens'],
    ['gemini', 'GET', '/v1beta/models'],
    ['gemini', 'POST', '/v1beta/cachedContents/made'],
    ['vertex', 'POST', `${PARTNER}/anthropic/models/count-tokens:rawPredict`],
    ['vertex', 'POST', `${GOOGLE}:countTokens`],
    ['bedrock', 'POST', '/model/anthropic.claude-made-v1:0/count-tokens'],
    ['bedrock', 'GET', '/foundation-models'],
    ['cohere', 'POST', '/v1/tokenize'],
    ['ollama', 'GET', '/api/tags'],
    ['ollama', 'POST', '/api/pull'],
    ['llamacpp', 'POST', '/tokenize'],
    ['tgi', 'GET', '/info'],
    ['openai', 'POST', '/v1/realtime/calls/made/hangup'],
  ])('%s meters nothing at %s %s', (provider, method, path) => {
    expect(dialectOf(provider, method, path)).toBe(null)
  })

  test('the native dialect is that of a session where the handshake of one comes', () => {
    for (const provider of PROVIDERS) {
      expect(dialectOf(provider, 'GET', '/v1/realtime')?.createMessageReader).toBeDefined()
    }
    const live = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContentConstrained'
    expect(dialectOf('gemini', 'GET', live)?.name).toBe('gemini.live')
  })

  test('the native dialects never ask for usage that their formats bring unasked', () => {
    const paths: readonly [Provider, string][] = [
      ['gemini', '/v1beta/models/gemini-made:streamGenerateContent'],
      ['vertex', `${PARTNER}/mistralai/models/mistral-made:streamRawPredict`],
      ['vertex', `${PARTNER}/ai21/models/jamba-made:streamRawPredict`],
      ['bedrock', '/model/m/converse-stream'],
      ['cohere', '/v2/chat'],
      ['ollama', '/api/chat'],
      ['tgi', '/generate_stream'],
      ['llamacpp', '/completion'],
    ]
    for (const [provider, path] of paths) {
      expect(dialectOf(provider, 'POST', path)?.takesIncludeUsage).toBe(false)
    }
  })

  test.each<[Provider, string, string | null]>([
    ['gemini', '/v1beta/models/gemini-made:generateContent', 'gemini-made'],
    ['gemini', '/v1beta/tunedModels/mine-1:generateContent', 'tunedModels/mine-1'],
    ['gemini', '/v1beta/models/bad%zz:generateContent', 'bad%zz'],
    ['gemini', '/v1beta/interactions', null],
    ['vertex', `${PARTNER}/anthropic/models/claude-made%4020260101%3ArawPredict`, 'claude-made@20260101'],
    ['vertex', '/v1/projects/p/locations/l/endpoints/123:generateContent', 'endpoints/123'],
    ['vertex', '/v1/projects/p/locations/l/endpoints/openapi/chat/completions', null],
    ['vertex', '/v1/projects/p/locations/l/endpoints/123/chat/completions', 'endpoints/123'],
    ['bedrock', '/model/us.amazon.nova-made-v1%3A0/converse', 'us.amazon.nova-made-v1:0'],
    ['bedrock', `/model/${PROFILE}/invoke`, 'us.anthropic.claude-made-v1:0'],
    ['bedrock', `/model/${decodeURIComponent(PROFILE)}/invoke`, 'us.anthropic.claude-made-v1:0'],
    [
      'bedrock',
      '/model/arn:aws:bedrock:us-east-1:0:application-inference-profile/abc/converse',
      'application-inference-profile/abc',
    ],
    ['bedrock', '/model/arn:aws:bedrock:us-east-1::foundation-model/made.m-v1:0/converse', 'made.m-v1:0'],
  ])('the native dialect of %s reads from the path %s the model %s', (provider, path, model) => {
    expect(modelInPathOf(provider, 'POST', path)).toBe(model)
  })
})

describe('the generated text', () => {
  test.each<[Provider, string, unknown, string]>([
    [
      'gemini',
      '/v1beta/models/m:generateContent',
      {
        candidates: [
          {
            content: {
              parts: [{ text: 'a', thought: true }, { functionCall: { name: 'f', args: { x: 1 } } }],
            },
          },
        ],
      },
      'af{"x":1}',
    ],
    [
      'gemini',
      '/v1beta/models/m:streamGenerateContent',
      [
        { candidates: [{ content: { parts: [{ text: 'a' }] } }] },
        { candidates: [{ content: { parts: [{ text: 'b' }] } }] },
      ],
      'ab',
    ],
    ['gemini', '/v1beta/interactions', { event_type: 'step.delta', delta: { type: 'text', text: 'a' } }, 'a'],
    [
      'gemini',
      '/v1beta/interactions',
      {
        steps: [
          { type: 'user_input', content: [{ type: 'text', text: 'asked' }] },
          { type: 'thought', summary: [{ type: 'text', text: 'hm ' }] },
          { type: 'model_output', content: [{ type: 'text', text: 'said' }] },
        ],
      },
      'hm said',
    ],
    ['bedrock', '/model/m/converse-stream', { contentBlockIndex: 0, delta: { text: 'a' } }, 'a'],
    [
      'bedrock',
      '/model/m/converse',
      {
        output: {
          message: {
            content: [
              { reasoningContent: { reasoningText: { text: 'r' } } },
              { text: 'a' },
              { toolUse: { input: { x: 1 } } },
            ],
          },
        },
      },
      'ra{"x":1}',
    ],
    ['bedrock', '/model/m/invoke', { type: 'message', content: [{ type: 'text', text: 'a' }] }, 'a'],
    ['bedrock', '/model/m/invoke', { generation: 'a' }, 'a'],
    ['bedrock', '/model/m/invoke', { results: [{ outputText: 'a' }, { outputText: 'b' }] }, 'ab'],
    ['bedrock', '/model/m/invoke', { choices: [{ message: { content: 'a' } }] }, 'a'],
    [
      'bedrock',
      '/model/m/invoke-with-response-stream',
      JSON.parse(
        bedrockChunk({ outputs: [{ text: 'ä' }] })
          .toString()
          .match(/\{.*\}/)?.[0] ?? '{}',
      ),
      'ä',
    ],
    ['bedrock', '/model/m/invoke-with-response-stream', { bytes: 'bm8ganNvbg==' }, ''],
    ['cohere', '/v2/chat', { delta: { message: { content: { text: 'a' } } } }, 'a'],
    [
      'cohere',
      '/v2/chat',
      { delta: { message: { tool_calls: { function: { arguments: '{"x"' } } } } },
      '{"x"',
    ],
    ['cohere', '/v1/chat', { text: 'a' }, 'a'],
    ['ollama', '/api/chat', { message: { thinking: 'r', content: 'a' } }, 'ra'],
    ['ollama', '/api/generate', { response: 'a' }, 'a'],
    ['tgi', '/generate_stream', { token: { text: 'a' } }, 'a'],
    ['tgi', '/', [{ generated_text: 'a' }], 'a'],
    ['tgi', '/invocations', [{ generated_text: 'a' }], 'a'],
    ['tgi', '/vertex', { predictions: ['a', 'b'] }, 'ab'],
    ['llamacpp', '/completion', { content: 'a' }, 'a'],
    ['voyageai', '/v1/embeddings', { data: [] }, ''],
  ])('the generated text at %s %s of %j is %s', (provider, path, json, text) => {
    expect(dialectOf(provider, 'POST', path)?.textOf(json)).toBe(text)
  })

  test('the generated text of anything that is not an answer is empty', () => {
    const dialects = PROVIDERS.flatMap((provider) =>
      [
        '/v2/chat',
        '/api/chat',
        '/generate',
        '/completion',
        '/model/m/invoke',
        '/model/m/converse',
        '/v1beta/models/m:generateContent',
        '/v1beta/interactions',
      ].map((path) => dialectOf(provider, 'POST', path)),
    )
    for (const dialect of dialects) {
      for (const json of [
        null,
        1,
        'x',
        [],
        [null],
        {},
        { content: 3, delta: [], message: 'x', candidates: {} },
      ]) {
        expect(dialect?.textOf(json) ?? '').toBe('')
      }
    }
  })
})
