import { expect, test } from 'vitest'
import { showsItsPrompt } from '../../../src/gateway/estimation/shown-prompt.ts'
import { busyness } from '../../support/patience.ts'

const shows = (body: object | string, model = 'gpt-4.1') =>
  showsItsPrompt(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), [model])

const user = (content: unknown) => ({ role: 'user', content })
const chat = (more: object = {}) => ({ model: 'gpt-4.1', stream: true, messages: [user('hi')], ...more })
const responses = (more: object = {}) => ({ model: 'gpt-4.1', stream: true, input: 'hi', ...more })
const gemini = (...parts: object[]) => ({ contents: [{ role: 'user', parts }] })
const FUNCTION = { type: 'object', properties: { url: { type: 'string' }, file_id: { type: 'string' } } }

test.each<[string, object]>([
  ['a chat', chat()],
  ['a chat in parts', chat({ messages: [user([{ type: 'text', text: 'https://a.test/file_id' }])] })],
  ['a chat with settings', chat({ temperature: 0, max_tokens: 5, n: 2, stop: ['a'], logit_bias: { 1: 2 } })],
  ['own functions', chat({ tools: [{ type: 'function', function: { name: 'a', parameters: FUNCTION } }] })],
  [
    'answers of own functions',
    chat({
      messages: [
        user('hi'),
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'file_id', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: '{"file_url":"https://a.test"}' },
      ],
    }),
  ],
  ['a schema of the answer', chat({ response_format: { type: 'json_schema', json_schema: FUNCTION } })],
  ['Responses', responses({ instructions: 'be brief', store: true, text: { format: { type: 'text' } } })],
  ['Responses in items', responses({ input: [user([{ type: 'input_text', text: 'hi' }])] })],
  [
    'an answer of a function, in Responses',
    responses({ input: [user('a'), { type: 'function_call_output', call_id: 'a', output: 'b' }] }),
  ],
  [
    'Claude',
    {
      model: 'claude-sonnet-4-5',
      max_tokens: 9,
      system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
      messages: [
        user('hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] },
      ],
      tools: [{ name: 'b', description: 'c', input_schema: FUNCTION }],
    },
  ],
  ['Gemini', { ...gemini({ text: 'hi' }), generationConfig: { temperature: 1 }, safetySettings: [] }],
  ['functions of Gemini', { ...gemini({ text: 'hi' }), tools: [{ functionDeclarations: [FUNCTION] }] }],
  [
    'Bedrock',
    { messages: [user([{ text: 'hi' }])], system: [{ text: 'a' }], inferenceConfig: { maxTokens: 5 } },
  ],
  ['Ollama', { model: 'llama3.2', messages: [user('hi')], options: { num_predict: 5 } }],
  ['completions of several prompts', { model: 'gpt-3.5-turbo-instruct', prompt: ['a', [1, 2]] }],
  ['embeddings', { model: 'text-embedding-3-small', input: ['a', 'b'] }],
])('%s: the bytes are the prompt', (_name, body) => {
  expect(shows(body)).toBe(true)
})

const PICTURE = { type: 'image_url', image_url: { url: 'https://a.test/b.png' } }

test.each<[string, object]>([
  ...[
    ...['web_search', 'web_search_preview', 'code_interpreter', 'file_search', 'image_generation', 'mcp'],
    ...['computer_use_preview', 'local_shell', 'browser_search', 'builtin_function', 'a_tool_to_come'],
  ].map((type): [string, object] => [type, responses({ tools: [{ type }] })]),
  [
    'a tool beside a function',
    responses({ tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }] }),
  ],
  [
    'web_search_20250305',
    chat({ tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }),
  ],
  ['web_search_options', chat({ web_search_options: {} })],
  ['MCP servers', chat({ mcp_servers: [{ type: 'url', url: 'https://a.test', name: 'a' }] })],
  ['a container', chat({ container: 'container_1' })],
  ...['googleSearch', 'google_search', 'urlContext', 'url_context', 'codeExecution', 'googleMaps'].map(
    (name): [string, object] => [name, { ...gemini({ text: 'hi' }), tools: [{ [name]: {} }] }],
  ),
  ['a system tool', chat({ toolConfig: { tools: [{ systemTool: { name: 'nova_grounding' } }] } })],
  ['an earlier response', responses({ previous_response_id: 'resp_1' })],
  ['a conversation', responses({ conversation: 'conv_1' })],
  ['a stored prompt', responses({ prompt: { id: 'pmpt_1' } })],
  ['an item by id', responses({ input: [{ type: 'item_reference', id: 'msg_1' }] })],
  ['an item by its id alone', responses({ input: [{ id: 'msg_1' }] })],
  ['reasoning that is encrypted', responses({ input: [{ type: 'reasoning', encrypted_content: 'a' }] })],
  ['a file by URL', responses({ input: [user([{ type: 'input_file', file_url: 'https://a.test' }])] })],
  ['a file by id', responses({ input: [user([{ type: 'input_file', file_id: 'file-1' }])] })],
  ['a chat with a file', chat({ messages: [user([{ type: 'file', file: { file_id: 'file-1' } }])] })],
  ['a picture by URL', chat({ messages: [user([PICTURE])] })],
  ['a picture in an answer of a function', chat({ messages: [{ role: 'tool', content: [PICTURE] }] })],
  [
    'a file of Claude',
    chat({ messages: [user([{ type: 'document', source: { type: 'file', file_id: 'file_1' } }])] }),
  ],
  ['a film', gemini({ fileData: { fileUri: 'https://a.test/film' } })],
  ['a film in bytes', gemini({ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } })],
  ['a cache', { ...gemini({ text: 'hi' }), cachedContent: 'cachedContents/1' }],
  ['a prediction', chat({ prediction: { type: 'content', content: 'a' } })],
  ['sound of an earlier turn', chat({ messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] })],
  ['a thread', { assistant_id: 'asst_1', thread: { messages: [user('hi')] } }],
  ['thinking', chat({ thinking: { type: 'enabled', budget_tokens: 9 } })],
  ['a member to come', chat({ remembers: true })],
  ['no prompt', { model: 'gpt-4.1' }],
])('%s: the bytes are not all of the prompt', (_name, body) => {
  expect(shows(body)).toBe(false)
})

test.each([
  '{"messages":[],"tool\\u0073":[{"type":"web_search"}]}',
  '{"messages":[],"tools":[{"type":"function"}],"tools":[{"type":"web_search"}]}',
  '{"messages":[],"tools":[{"type":"web_search","type":"function"}]}',
  '{"messages":[],"tools":[{"type":"function","type":"web_search"}]}',
  '{"messages":[],"tools":[{"type":"web\\u005fsearch"}]}',
  '{"messages":[],"Tools":[{"type":"function"}]}',
  '{"messages":[]}{"previous_response_id":"resp_1"}',
  '{"messages":[]',
  '{"messages":[],}',
  '{"messages":[] /* */}',
  '{"messages":["a}',
  `{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  '[{"messages":[]}]',
  '',
])('%s: in doubt, the bytes are not all of the prompt', (body) => {
  expect(shows(body)).toBe(false)
})

test.each([
  'gpt-4o-search-preview',
  'gpt-4o-mini-search-preview-2025-03-11',
  'o4-mini-deep-research',
  'sonar-pro',
  'perplexity/sonar',
  'openai/gpt-4.1:online',
  'groq/compound-mini',
  'arn:aws:bedrock:us-east-1:1:prompt/ABC:1',
])('%s adds to the prompt what it finds', (model) => {
  expect(shows(chat(), model)).toBe(false)
  expect(showsItsPrompt(Buffer.from(JSON.stringify(chat())), ['gpt-4.1', model])).toBe(false)
})

test('a body that was not read, or is too long to be looked at in one turn, is in doubt', () => {
  expect(showsItsPrompt(null, ['gpt-4.1'])).toBe(false)
  expect(shows(chat({ messages: [user('a'.repeat(300_000))] }))).toBe(false)
})

test('the longest body that is looked at takes milliseconds', () => {
  const deepest = JSON.stringify(chat({ metadata: 0 })).replace(
    '"metadata":0',
    `"metadata":${'['.repeat(120_000)}${']'.repeat(120_000)}`,
  )
  const most = JSON.stringify({ prompt: Array.from({ length: 80_000 }, () => '') })
  for (const body of [deepest, most]) {
    const bytes = Buffer.from(body)
    const startedAt = performance.now()
    expect(showsItsPrompt(bytes, ['gpt-4.1'])).toBe(true)
    // Milliseconds, on a machine that does nothing else; the square of it would be half a minute.
    expect(performance.now() - startedAt).toBeLessThan(5_000 * busyness())
  }
})
