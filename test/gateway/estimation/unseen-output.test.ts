import { expect, test } from 'vitest'
import { mayGenerateUnseen, unseenTokens } from '../../../src/gateway/estimation/unseen-output.ts'

function isUnseen(provider: string, models: (string | null)[], request = '{}', answer = ''): boolean {
  return mayGenerateUnseen({
    provider,
    models,
    requestBody: Buffer.from(request),
    answerHead: Buffer.from(answer),
  })
}

test.each([
  ['openai', 'o1-mini'],
  ['openai', 'o3'],
  ['openai', 'o4-mini-deep-research'],
  ['openai', 'gpt-5'],
  ['openai', 'gpt-5.2-codex'],
  ['openai', 'gpt-7-turbo'],
  ['openai', 'codex-mini-latest'],
  ['openai', 'a-model-to-come'],
  ['openai', 'gpt-4o-audio-preview'],
  ['azure-openai', 'our-deployment'],
  ['xai', 'grok-4-0709'],
  ['xai', 'grok-3-mini'], // answered by grok-4.3 as of 2026
  ['xai', 'grok-code-fast-1'],
  ['openrouter', 'openai/gpt-5-mini'],
  ['openrouter', 'x-ai/grok-4'],
  ['openrouter', 'google/gemini-2.5-pro'],
  ['gemini', 'gemini-2.5-flash'],
  ['gemini', 'gemini-2.0-flash-thinking-exp'],
  ['vertex', 'google/gemini-3-pro'],
  ['bedrock', 'us.amazon.nova-2-lite-v1:0'],
])('%s: %s may reason unseen', (provider, model) => {
  expect(isUnseen(provider, [model])).toBe(true)
})

test.each([
  ['openai', 'gpt-4o-mini'],
  ['openai', 'gpt-4.1-2025-04-14'],
  ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::x'],
  ['openai', 'gpt-5-chat-latest'],
  ['openai', 'gpt-3.5-turbo'],
  ['azure-openai', 'gpt-4o'],
  ['xai', 'grok-2-latest'],
  ['xai', 'grok-4-fast-non-reasoning'],
  ['gemini', 'gemini-2.0-flash'],
  ['vertex', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['openrouter', 'deepseek/deepseek-r1'],
  ['vllm', 'openai/gpt-oss-120b'],
  ['ollama', 'llama3.2'],
  ['vllm', 'anything'],
  ['bedrock', 'anthropic.claude-3-haiku-20240307-v1:0'],
])('%s: %s shows what it generates', (provider, model) => {
  expect(isUnseen(provider, [model])).toBe(false)
})

test('Llama at Groq hides what it says before it calls a tool', () => {
  const model = 'meta-llama/llama-4-maverick-17b-128e-instruct'
  expect(isUnseen('groq', [model], '{}', '{"message":{"tool_calls":[]}}')).toBe(true)
  expect(isUnseen('groq', [model], '{}', '{"message":{"content":"a"}}')).toBe(false)
  expect(isUnseen('groq', ['qwen/qwen3-32b'], '{}', '{"message":{"tool_calls":[]}}')).toBe(false)
  expect(isUnseen('together', [model], '{}', '{"message":{"tool_calls":[]}}')).toBe(false)
})

test('a model that the answer names counts beside the one asked for', () => {
  expect(isUnseen('azure-openai', ['chat', 'gpt-4o-2024-08-06'])).toBe(false)
  expect(isUnseen('azure-openai', ['gpt-4o', 'o3-2025-04-16'])).toBe(true)
  expect(isUnseen('openai', [null, null])).toBe(true)
})

test('Claude sums its thinking up, so that an answer with thinking may hide most of it', () => {
  const thinking = '{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}'
  expect(isUnseen('anthropic', ['claude-opus-4-5'], '{}', thinking)).toBe(true)
  expect(isUnseen('anthropic', ['claude-opus-4-5'], '{"thinking":{"type":"enabled"}}')).toBe(true)
  expect(isUnseen('anthropic', ['claude-3-7-sonnet-latest'], '{}', thinking)).toBe(false)
})

test('a request to leave the reasoning out of the answer is enough', () => {
  expect(isUnseen('openrouter', ['deepseek/deepseek-r1'], '{"reasoning":{"exclude":true}}')).toBe(true)
  expect(isUnseen('groq', ['qwen3-32b'], '{"reasoning_format":"hidden"}')).toBe(true)
})

test('what was not seen is booked by the time it took', () => {
  expect(unseenTokens(10_000)).toBe(2_000)
  expect(unseenTokens(-1)).toBe(0)
})
