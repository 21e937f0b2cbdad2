import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { estimateInput, openDeliveredSample } from '../../../src/gateway/estimation/estimate.ts'
import type { PromptFormat } from '../../../src/providers/dialect.ts'
import { chatDialect, chatStream } from '../cuts/chat-stream.ts'

const prose =
  'The committee met on Tuesday, 14 October, to consider whether the harbour ought to be dredged again. ' +
  "Nobody could say what it would cost; Mrs. O'Leary guessed £40,000, which was laughed at. "
const code =
  'export function add(a: number, b: number): number {\n  // sums two numbers\n  return a + b\n}\n\n'
const chinese = '今天天气很好，我们去公园散步。孩子们在湖边玩耍，老人们坐在长椅上聊天。'
const mixed = 'Große Übung: naïve café – «привет, мир» 😀👩‍👩‍👧 1234567890 {"k":[1,2,3]} '

const texts: readonly (readonly [string, string])[] = [
  ['prose', prose],
  ['code', code],
  ['Chinese', chinese],
  ['mixed scripts', mixed],
]

async function estimateDelivered(bytes: Buffer, pieceLength: number, model = 'gpt-4o'): Promise<number> {
  const sample = openDeliveredSample(chatDialect, 'client')
  for (let at = 0; at < bytes.length; at += pieceLength) sample.push(bytes.subarray(at, at + pieceLength))
  return sample.estimateOutput(model)
}

function estimateBody(format: PromptFormat, body: Buffer, model: string | null): Promise<number | null> {
  return estimateInput('client', format, body, body.length, model)
}

function expectWithin(share: number, estimate: number, actual: number): void {
  expect(Math.abs(estimate - actual) / actual, `${estimate} for ${actual}`).toBeLessThanOrEqual(share)
}

describe('tokens delivered', () => {
  test.each(texts)('%s: a short stream is counted exactly, whatever its pieces', async (_, text) => {
    const { bytes, tokens } = chatStream(text.repeat(2))
    for (const pieceLength of [1, 100, bytes.length]) {
      expect(await estimateDelivered(bytes, pieceLength)).toBe(tokens)
    }
  })

  test.each(texts)('%s: the estimate for a stream of megabytes is within 5 percent', async (_, text) => {
    const { bytes, tokens } = chatStream(text.repeat(Math.ceil(10_000 / text.length) * 5))
    expect(bytes.length).toBeGreaterThan(1024 * 1024)
    for (const pieceLength of [200, 50_000]) {
      expectWithin(0.05, await estimateDelivered(bytes, pieceLength), tokens)
    }
  })

  test('a stream cut anywhere is counted up to the cut', async () => {
    const { bytes, tokens } = chatStream(prose.repeat(200))
    for (const share of [0.01, 0.05, 0.2, 0.5, 0.9]) {
      const cut = Math.floor(bytes.length * share) + 13
      expectWithin(0.06, await estimateDelivered(bytes.subarray(0, cut), 1000), tokens * share)
    }
  })

  test('a JSON body counts, whole or cut, short or longer than what is kept', async () => {
    for (const content of [prose.repeat(30), prose.repeat(2000)]) {
      const body = Buffer.from(
        JSON.stringify({ id: 'c', choices: [{ message: { role: 'assistant', content } }] }),
      )
      const tokens = countTokens(content)
      expectWithin(0.05, await estimateDelivered(body, 1000), tokens)
      expectWithin(0.05, await estimateDelivered(body.subarray(0, body.length / 2), 1000), tokens / 2)
    }
  })

  test('whole objects inside a cut JSON body do not hide its text', async () => {
    const filter = { hate: { filtered: false } }
    for (const content of [prose.repeat(30), prose.repeat(2000)]) {
      const body = Buffer.from(JSON.stringify({ filter, choices: [{ filter, message: { content } }] }))
      expectWithin(
        0.05,
        await estimateDelivered(body.subarray(0, body.length / 2), 1000),
        countTokens(content) / 2,
      )
    }
  })

  test('a long first or last event without text does not count as text', async () => {
    const { bytes, tokens } = chatStream(prose.repeat(100))
    const silent = Buffer.from(`data: {"choices":[],"tools":${JSON.stringify('x'.repeat(50_000))}}\n\n`)
    expectWithin(0.05, await estimateDelivered(Buffer.concat([silent, bytes]), 1000), tokens)
    expectWithin(0.05, await estimateDelivered(Buffer.concat([bytes, silent]), 1000), tokens)
  })

  test("other makers' tokens are derived from OpenAI's by measured factors", async () => {
    const { bytes, tokens } = chatStream(prose.repeat(4))
    expectWithin(0.01, await estimateDelivered(bytes, 1000, 'claude-sonnet-4-5'), tokens * 1.09 + 3)
    expectWithin(0.01, await estimateDelivered(bytes, 1000, 'llama-3.1-8b'), tokens + 3)
  })

  test('what stands around calls of tools counts, less where the request demands one', async () => {
    const call = (id: string) => ({ id, function: { name: 'f', arguments: '{"city":"Rome","days":3}' } })
    const answerOf = (...ids: string[]) =>
      Buffer.from(JSON.stringify({ choices: [{ message: { tool_calls: ids.map(call) } }] }))
    const text = countTokens('f{"city":"Rome","days":3}')
    const estimateOf = (body: Buffer, model: string, isForced = false) => {
      const sample = openDeliveredSample(chatDialect, 'client')
      sample.push(body)
      return sample.estimateOutput(model, isForced)
    }
    expect(await estimateOf(answerOf('a'), 'gpt-4o')).toBe(text + 7)
    expect(await estimateOf(answerOf('a', 'b'), 'gpt-4o')).toBeGreaterThan(2 * (text + 7) + 10)
    const free = await estimateOf(answerOf('a'), 'claude-sonnet-4-5')
    expect(free).toBe(Math.round(text * 1.09 + 3 + 32 + 2 * 11.3))
    expect(await estimateOf(answerOf('a'), 'claude-sonnet-4-5', true)).toBe(free - 21)
  })

  test('nothing delivered, no text and no JSON count no tokens', async () => {
    for (const body of [
      '',
      'data: [DONE]\n\n',
      '<html>',
      '{"data":[{"embedding":[0.1,0.2',
      'x'.repeat(200_000),
    ]) {
      expect(await estimateDelivered(Buffer.from(body), 1000)).toBe(0)
    }
  })

  test('a sample keeps at most 64 KiB of a response, and of a short one little more than its length', () => {
    const samples = Array.from({ length: 200 }, () => openDeliveredSample(chatDialect, 'client'))
    const chunk = Buffer.alloc(50_000, 'x')
    const before = process.memoryUsage().arrayBuffers
    for (const sample of samples) sample.push(chunk.subarray(0, 500))
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(samples.length * 5 * 1024)
    for (const sample of samples) for (let i = 0; i < 10; i++) sample.push(chunk)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(samples.length * 130 * 1024)
  })
})

const CHAT: PromptFormat = { isChat: true }
const TEXT: PromptFormat = {}
const CLAUDE: PromptFormat = { isChat: true, tokenizerFamily: 'claude' }
const GEMINI: PromptFormat = { isChat: true, tokenizerFamily: 'gemini' }

describe("the prompt's tokens", () => {
  const input = (request: unknown, model: string | null = 'gpt-4o', format: PromptFormat = CHAT) =>
    estimateBody(format, Buffer.from(JSON.stringify(request)), model)

  test('OpenAI chat: texts, 4 a message and 3 for the answer', async () => {
    const messages = [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: [{ type: 'text', text: prose }] },
    ]
    const text = countTokens('You are a helpful assistant.') + countTokens(prose)
    expectWithin(0.02, (await input({ model: 'gpt-4o', temperature: 0.5, messages })) ?? 0, text + 11)
  })

  test.each<readonly [string, unknown, PromptFormat]>([
    ['chat', { messages: [{ role: 'user', content: prose }] }, CHAT],
    ['completions', { prompt: prose }, TEXT],
    ['several prompts', { prompt: [prose.slice(0, 60), prose.slice(60)] }, TEXT],
    ['responses', { instructions: prose.slice(0, 60), input: prose.slice(60) }, CHAT],
    [
      'responses, items',
      {
        input: [
          { role: 'user', content: [{ type: 'input_text', text: prose.slice(0, 60) }] },
          { type: 'function_call_output', call_id: 'call_abcdefghijklmnop', output: prose.slice(60) },
        ],
      },
      CHAT,
    ],
    ['embeddings', { input: [prose] }, TEXT],
    [
      'Anthropic',
      {
        system: [{ type: 'text', text: prose.slice(0, 60) }],
        messages: [{ role: 'user', content: prose.slice(60) }],
      },
      CLAUDE,
    ],
    [
      'Gemini',
      {
        systemInstruction: { parts: [{ text: prose.slice(0, 60) }] },
        contents: [{ role: 'user', parts: [{ text: prose.slice(60) }] }],
      },
      GEMINI,
    ],
    ['Gemini embeddings', { requests: [{ content: { parts: [{ text: prose }] } }] }, TEXT],
    ['Ollama', { prompt: prose, stream: false }, CHAT],
    [
      'Cohere 1',
      { message: prose.slice(0, 60), chat_history: [{ role: 'USER', message: prose.slice(60) }] },
      CHAT,
    ],
    ['Cohere rerank', { query: prose.slice(0, 60), documents: [prose.slice(60)] }, TEXT],
    ['Bedrock Titan', { inputText: prose }, CHAT],
    ['text generation inference', { inputs: prose }, CHAT],
  ])('%s: the prompt is found where the format has it', async (_, request, format) => {
    const text = countTokens(prose)
    const estimate = (await input(request, 'gpt-4o', format)) ?? 0
    expect(estimate).toBeGreaterThanOrEqual(text - 1)
    expect(estimate).toBeLessThanOrEqual(text + 14)
  })

  test('tokens given as numbers are counted, one list or several', async () => {
    expect(await input({ input: [1, 2, 3] }, 'gpt-4o', TEXT)).toBe(3)
    expect(await input({ input: [[1, 2, 3], [4]] }, 'gpt-4o', TEXT)).toBe(4)
  })

  test('pictures, sounds and files count by constants, not by their base64', async () => {
    const base64 = 'QUJD'.repeat(50_000)
    const tokensOf = async (content: unknown, model: string, format: PromptFormat) =>
      ((await input({ messages: [{ role: 'user', content: [content] }] }, model, format)) ?? 0) -
      ((await input({ messages: [{ role: 'user', content: [] }] }, model, format)) ?? 0)
    const url = `data:image/png;base64,${base64}`
    const image = { type: 'image_url', image_url: { url } }
    const lowImage = { type: 'image_url', image_url: { url, detail: 'low' } }
    const source = { type: 'base64', media_type: 'image/png', data: base64 }
    const sound = { type: 'input_audio', input_audio: { data: base64, format: 'wav' } }
    expect(await tokensOf(image, 'gpt-4o', CHAT)).toBe(765)
    expect(await tokensOf(lowImage, 'gpt-4o', CHAT)).toBe(85)
    expect(await tokensOf({ type: 'input_image', image_url: url }, 'gpt-4o', CHAT)).toBe(765)
    expect(await tokensOf({ type: 'image', source }, 'claude-sonnet-4', CLAUDE)).toBe(1369)
    expect(await tokensOf({ inlineData: { mimeType: 'image/png', data: base64 } }, 'gemini-2', GEMINI)).toBe(
      258,
    )
    expect(await tokensOf({ image: { format: 'png', source: { bytes: base64 } } }, 'nova', CHAT)).toBe(765)
    expect(await tokensOf(sound, 'gpt-4o-audio', CHAT)).toBe(Math.round(150_000 / 3200))
    expect(await input({ prompt: '', images: [base64, base64] }, 'llava', TEXT)).toBe(2 * 765)
  })

  test('a text document counts as its text', async () => {
    const source = { type: 'text', media_type: 'text/plain', data: prose }
    const request = { messages: [{ role: 'user', content: [{ type: 'document', source }] }] }
    expectWithin(0.1, (await input(request, 'claude-sonnet-4', CLAUDE)) ?? 0, countTokens(prose) * 1.18 + 6)
  })

  test("tools' definitions count", async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string', description: prose } } }
    const tools = [{ type: 'function', function: { name: 'f', parameters } }]
    const messages = [{ role: 'user', content: 'Hi' }]
    const added = ((await input({ messages, tools })) ?? 0) - ((await input({ messages, tools: [] })) ?? 0)
    expectWithin(0.05, added, countTokens(JSON.stringify(tools)) * 0.67)
  })

  test('calls of tools in earlier turns and their results count, in each format alike', async () => {
    const args = { city: 'Rome', days: 3 }
    const json = JSON.stringify(args)
    const tokensOf = async (model: string, format: PromptFormat, before: object, turns: object) =>
      ((await input({ ...before, ...turns }, model, format)) ?? 0) -
      ((await input(before, model, format)) ?? 0)
    const claude = await tokensOf(
      'claude-sonnet-4-5',
      CLAUDE,
      { model: 'c', system: 'Be brief.' },
      {
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: args }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'sun' }] },
        ],
      },
    )
    expect(claude).toBeGreaterThan(24 + 2 * 11.3 + 23)
    expect(claude).toBeLessThan(24 + 2 * 11.3 + 23 + 20)
    const chat = await tokensOf(
      'gpt-4o',
      CHAT,
      { model: 'g', system: 'Be brief.' },
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: json } }],
          },
          { role: 'tool', tool_call_id: 't', content: 'sun' },
        ],
      },
    )
    const items = await tokensOf(
      'gpt-4o',
      CHAT,
      { model: 'g', instructions: 'Be brief.' },
      {
        input: [
          { type: 'function_call', call_id: 't', name: 'f', arguments: json },
          { type: 'function_call_output', call_id: 't', output: 'sun' },
        ],
      },
    )
    for (const tokens of [chat, items]) {
      expect(tokens).toBeGreaterThanOrEqual(countTokens(json) + 10)
      expect(tokens).toBeLessThan(countTokens(json) + 25)
    }
  })

  test('the definitions of tools count as the model and the format of the request have them', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { description: prose } } }]
    const added = async (model: string, request: object, format: PromptFormat) =>
      ((await input({ ...request, tools }, model, format)) ?? 0) -
      ((await input(request, model, format)) ?? 0)
    const messages = { messages: [{ role: 'user', content: 'Hi' }] }
    const definition = countTokens(JSON.stringify(tools))
    expectWithin(0.1, await added('gpt-5-mini', messages, CHAT), definition * 0.67 + 85)
    expectWithin(0.1, await added('gpt-5-mini', { input: 'Hi' }, CHAT), definition * 0.67)
    const contents = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
    expectWithin(0.1, await added('gemini-3.5-flash', contents, GEMINI), definition * 1.09)
    expectWithin(0.1, await added('google/gemini-3.5-flash', messages, CHAT), definition * 0.33)
    const demanded = { ...messages, tool_choice: { type: 'tool', name: 'f' } }
    expect((await added('claude-sonnet-4-5', demanded, CLAUDE)) - 99).toBe(
      await added('claude-sonnet-4-5', messages, CLAUDE),
    )
  })

  test("the answer's form counts where it is a schema", async () => {
    const schema = { type: 'object', properties: { answer: { type: 'string', description: prose } } }
    const added = async (form: object) =>
      ((await input({ input: 'Hi', ...form })) ?? 0) - ((await input({ input: 'Hi' })) ?? 0)
    const format = { type: 'json_schema', name: 'answer', schema }
    expect(await added({ text: { format } })).toBeGreaterThan(countTokens(prose) * 0.75)
    expect(
      await added({ response_format: { type: 'json_schema', json_schema: { schema } } }),
    ).toBeGreaterThan(30)
    expect(await added({ format: schema })).toBeGreaterThan(30)
    expect(
      await added({
        text: { format: { type: 'text' } },
        response_format: { type: 'json_object' },
        format: 'json',
      }),
    ).toBe(0)
  })

  test('long prompts are counted within 3 %, and one long word does not take long', async () => {
    const words = prose.repeat(5000)
    expectWithin(0.03, (await input({ prompt: words }, 'gpt-4o', TEXT)) ?? 0, countTokens(prose) * 5000)
    expect(await input({ prompt: '漢'.repeat(500_000) }, 'gpt-4o', TEXT)).toBeGreaterThan(100_000)
  })

  test('what cannot be read is a token for four bytes, never null or 0', async () => {
    const junk = `{"model":"gpt-4o","z":[${'0,'.repeat(500_100)}0],"messages":[{"content":"${prose}"}]}`
    const otherKeys = JSON.stringify({ Messages: [{ content: prose }] })
    for (const body of ['{"messages":', junk, otherKeys, 'no JSON', '{}']) {
      const tokens = await estimateBody(CHAT, Buffer.from(body), 'gpt-4o')
      expect(tokens).toBe(Math.ceil(Buffer.byteLength(body) / 4))
    }
  })

  test('a body that was too long to be kept is a token for four bytes, one that was not read is not known', async () => {
    expect(await estimateInput('client', CHAT, null, 98_000_001, 'gpt-4o')).toBe(24_500_001)
    expect(await estimateInput('client', CHAT, null, 0, 'gpt-4o')).toBe(null)
  })

  test('a body that would fill the memory when parsed is not parsed', async () => {
    for (const body of [`[${'{},'.repeat(10_000_000)}{}]`, `{"prompt":"${'x'.repeat(33 * 1024 * 1024)}"}`]) {
      const tokens = await estimateBody(CHAT, Buffer.from(body), 'gpt-4o')
      expect(tokens).toBe(Math.ceil(body.length / 4))
    }
  })

  test('nesting, odd values and special tokens are harmless in a prompt', async () => {
    const deep = `{"messages":${'[{"content":'.repeat(50_000)}"x"${'}]'.repeat(50_000)}}`
    expect(await estimateBody(CHAT, Buffer.from(deep), 'gpt-4o')).toBeGreaterThan(0)
    for (const messages of [
      null,
      7,
      'x',
      [null, 3, true],
      { role: 'user' },
      [{ content: { __proto__: null } }],
    ]) {
      expect(await input({ messages, tools: null, input: [null], system: {} })).toBeGreaterThanOrEqual(0)
    }
    expect(await input({ prompt: '<|endoftext|>' }, 'gpt-4o', TEXT)).toBeGreaterThan(3)
  })
})

describe('a hostile prompt', () => {
  test('the event loop turns while a hostile prompt is counted, and that ends soon', async () => {
    // A run of different signs without a space: the worst case of byte pair encoding.
    const word = Array.from({ length: 120_000 }, (_, i) =>
      String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000)),
    ).join('')
    const body = Buffer.from(JSON.stringify({ prompt: word }))
    let turns = 0
    let counting = true
    const turn = () => {
      turns++
      if (counting) setImmediate(turn)
    }
    turn()
    const tokens = await estimateBody(TEXT, body, 'gpt-4o')
    counting = false
    expect(tokens).toBeGreaterThan(120_000)
    expect(turns).toBeGreaterThan(100)
  })

  test('a process that has estimated ends by itself', async () => {
    const file = JSON.stringify(new URL('../../../src/gateway/estimation/estimate.ts', import.meta.url).href)
    const script = `const { estimateInput } = await import(${file})
      console.log(await estimateInput('c', {}, Buffer.from('{"prompt":"Hello"}'), 18, 'gpt-4o'))`
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
    expect(stdout.trim()).toBe('1')
  })
})
