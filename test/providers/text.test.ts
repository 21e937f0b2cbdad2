import { describe, expect, test } from 'vitest'
import { calledTools } from '../../src/providers/reading/called-tools.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { dialectOf } from './recordings/dialect-of.ts'

function textOf(provider: Provider, path: string, json: unknown): string {
  const dialect = dialectOf(provider, 'POST', path)
  if (dialect === null) throw new Error(`nothing is metered at ${path}`)
  return dialect.textOf(json)
}

const chat = (json: unknown): string => textOf('openai', '/v1/chat/completions', json)
const messages = (json: unknown): string => textOf('anthropic', '/v1/messages', json)
const responses = (json: unknown): string => textOf('openai', '/v1/responses', json)

describe('the generated text', () => {
  test('the generated text of a chat chunk is content, reasoning, refusal and calls', () => {
    expect(chat({ choices: [{ delta: { content: 'a', reasoning_content: 'b' } }] })).toBe('ab')
    expect(chat({ choices: [{ delta: { reasoning: 'r' } }, { delta: { refusal: 'no' } }] })).toBe('rno')
    expect(
      chat({ choices: [{ delta: { tool_calls: [{ function: { name: 'f', arguments: '{"x"' } }] } }] }),
    ).toBe('f{"x"')
  })

  test('the generated text of a chat body is each message, in parts too', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm ' }] },
      { type: 'text', text: 'yes' },
    ]
    expect(chat({ choices: [{ message: { content } }] })).toBe('hm yes')
  })

  test('the generated text of a completion is its text', () => {
    expect(textOf('openai', '/v1/completions', { choices: [{ text: 'a' }, { text: 'b' }] })).toBe('ab')
  })

  test('the generated text of a message event is text, thinking and tool input', () => {
    expect(messages({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } })).toBe('a')
    expect(messages({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'b' } })).toBe(
      'b',
    )
    expect(messages({ type: 'content_block_delta', delta: { partial_json: '{"c' } })).toBe('{"c')
    expect(
      messages({ type: 'content_block_start', content_block: { type: 'tool_use', name: 'f', input: {} } }),
    ).toBe('f')
    expect(messages({ type: 'message_start', message: { content: [], usage: {} } })).toBe('')
  })

  test('the generated text of a message is all of its blocks', () => {
    const content = [
      { type: 'thinking', thinking: 'a' },
      { type: 'text', text: 'b' },
      { type: 'tool_use', name: 'f', input: { x: 1 } },
    ]
    expect(messages({ type: 'message', content })).toBe('abf{"x":1}')
  })

  test('the generated text of a response event is its delta, and nothing twice', () => {
    expect(responses({ type: 'response.output_text.delta', delta: 'a' })).toBe('a')
    expect(responses({ type: 'response.function_call_arguments.delta', delta: '{' })).toBe('{')
    expect(responses({ type: 'response.output_text.done', text: 'a' })).toBe('')
    expect(
      responses({ type: 'response.completed', response: { output: [{ content: [{ text: 'a' }] }] } }),
    ).toBe('')
    expect(responses({ type: 'response.audio.delta', delta: 'QUJD' })).toBe('')
  })

  test('the generated text of a response is its messages, reasoning and calls', () => {
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'b' },
          { type: 'refusal', refusal: 'c' },
        ],
      },
      { type: 'function_call', name: 'f', arguments: '{}' },
    ]
    expect(responses({ object: 'response', output })).toBe('abcf{}')
  })

  test('the generated text of anything else is empty', () => {
    for (const read of [chat, messages, responses]) {
      for (const json of [null, 1, 'text', [], {}, { choices: 'x' }, { content: 1 }])
        expect(read(json)).toBe('')
    }
  })
})

const call = { type: 'function', function: { name: 'f', arguments: '{}' } }

test.each<readonly [string, unknown, number]>([
  [
    'Anthropic',
    {
      content: [
        { type: 'text', text: 'x' },
        { type: 'tool_use', name: 'f', input: {} },
      ],
    },
    1,
  ],
  ['Anthropic, begun', { type: 'content_block_start', content_block: { type: 'tool_use', name: 'f' } }, 1],
  ['Anthropic, going on', { type: 'content_block_delta', delta: { partial_json: '{' } }, 0],
  ['OpenAI', { choices: [{ message: { tool_calls: [call, call] } }] }, 2],
  ['OpenAI, begun', { choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] }, 1],
  ['OpenAI, going on', { choices: [{ delta: { tool_calls: [{ function: { arguments: '{' } }] } }] }, 0],
  ['OpenAI, functions', { choices: [{ message: { function_call: { name: 'f' } } }] }, 1],
  ['responses', { tools: [call], output: [{ type: 'function_call', name: 'f' }] }, 1],
  ['responses, begun', { type: 'response.output_item.added', item: { type: 'function_call', name: 'f' } }, 1],
  ['responses, ended', { type: 'response.output_item.done', item: { type: 'function_call', name: 'f' } }, 0],
  ['responses, repeated', { type: 'response.completed', response: { output: [call] } }, 0],
  ['Gemini', { candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: {} } }] } }] }, 1],
  ['Bedrock', { output: { message: { content: [{ toolUse: { name: 'f', input: {} } }] } } }, 1],
  ['Bedrock, begun', { contentBlockIndex: 1, start: { toolUse: { name: 'f' } } }, 1],
  ['Ollama', { message: { tool_calls: [{ function: { name: 'f', arguments: {} } }] } }, 1],
  ['Cohere, begun', { type: 'tool-call-start', delta: { message: { tool_calls: call } } }, 1],
  ['no answer', [null, 7], 0],
])('%s: the calls of tools that begin are counted', (_, json, calls) => {
  expect(calledTools(json)).toBe(calls)
})
