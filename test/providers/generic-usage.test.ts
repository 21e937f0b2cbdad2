import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/call/usage.ts'
import { genericUsage } from '../../src/providers/generic-usage.ts'
import { cutsOf, readCutAt, readWhole, sameReading } from './recordings/judge.ts'

const JSON_HEAD = { status: 200, headers: { 'content-type': 'application/json' } }
const SSE_HEAD = { status: 200, headers: { 'content-type': 'text/event-stream' } }
const LINES_HEAD = { status: 200, headers: { 'content-type': 'application/x-ndjson' } }
const REQUEST = { method: 'POST', path: '/v1/anything', model: null, stream: null }

function exchange(body: string | Buffer, head: typeof JSON_HEAD = JSON_HEAD) {
  return { id: 'made', dialect: genericUsage, request: REQUEST, head, body: Buffer.from(body) }
}

function sse(...events: object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}

const CHAT = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

const SHAPES: readonly [string, string, typeof JSON_HEAD, number, number, string | null][] = [
  ['chat', JSON.stringify({ model: 'm', choices: [], usage: CHAT }), JSON_HEAD, 11, 7, 'm'],
  [
    'a chat stream',
    `${sse({ model: 'm', choices: [{ delta: { content: 'a' }, finish_reason: null }] }, { model: 'm', choices: [], usage: CHAT })}data: [DONE]\n\n`,
    SSE_HEAD,
    11,
    7,
    'm',
  ],
  [
    "Groq's chat stream",
    sse({ model: 'm', choices: [{ finish_reason: 'stop' }], x_groq: { usage: CHAT } }),
    SSE_HEAD,
    11,
    7,
    'm',
  ],
  [
    'embeddings',
    JSON.stringify({ object: 'list', model: 'm', usage: { prompt_tokens: 11, total_tokens: 11 } }),
    JSON_HEAD,
    11,
    0,
    'm',
  ],
  [
    'a response',
    JSON.stringify({ object: 'response', model: 'm', usage: { input_tokens: 11, output_tokens: 7 } }),
    JSON_HEAD,
    11,
    7,
    'm',
  ],
  [
    'a stream of a response',
    sse(
      { type: 'response.created', response: { model: 'm', usage: null } },
      {
        type: 'response.completed',
        response: { model: 'm', status: 'completed', usage: { input_tokens: 11, output_tokens: 7 } },
      },
    ),
    SSE_HEAD,
    11,
    7,
    'm',
  ],
  [
    'a message, whose cached tokens are beside the input',
    JSON.stringify({
      type: 'message',
      model: 'm',
      usage: {
        input_tokens: 1,
        cache_read_input_tokens: 6,
        cache_creation_input_tokens: 4,
        output_tokens: 7,
      },
    }),
    JSON_HEAD,
    11,
    7,
    'm',
  ],
  [
    'a stream of a message',
    sse(
      {
        type: 'message_start',
        message: { model: 'm', usage: { input_tokens: 5, cache_read_input_tokens: 6, output_tokens: 1 } },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
    ),
    SSE_HEAD,
    11,
    7,
    'm',
  ],
  [
    'generateContent, whose thoughts are beside the answer',
    JSON.stringify({
      modelVersion: 'm',
      usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 4, thoughtsTokenCount: 3 },
    }),
    JSON_HEAD,
    11,
    7,
    'm',
  ],
  [
    'an array of generateContent',
    JSON.stringify([
      { modelVersion: 'm', usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 2 } },
      { modelVersion: 'm', usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7 } },
    ]),
    JSON_HEAD,
    11,
    7,
    'm',
  ],
  [
    "Ollama's lines",
    [
      { model: 'm', response: 'a', done: false },
      { model: 'm', done: true, prompt_eval_count: 11, eval_count: 7 },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
    LINES_HEAD,
    11,
    7,
    'm',
  ],
  [
    "Cohere's v2",
    JSON.stringify({
      usage: { billed_units: { input_tokens: 11, output_tokens: 7 }, tokens: { input_tokens: 99 } },
    }),
    JSON_HEAD,
    11,
    7,
    null,
  ],
  [
    "Cohere's v1",
    JSON.stringify({ text: 'a', meta: { billed_units: { input_tokens: 11, output_tokens: 7 } } }),
    JSON_HEAD,
    11,
    7,
    null,
  ],
  [
    'Converse',
    JSON.stringify({ output: {}, usage: { inputTokens: 5, cacheReadInputTokens: 6, outputTokens: 7 } }),
    JSON_HEAD,
    11,
    7,
    null,
  ],
]

describe('on an unknown path', () => {
  test.each(
    SHAPES,
  )('the usage %s on an unknown path is read, at every split', (_, body, head, input, output, model) => {
    const one = exchange(body, head)
    const whole = readWhole(one)
    expect(whole).toMatchObject({ usageSource: 'reported', model })
    expect(whole.usage).toMatchObject({ inputTokens: input, outputTokens: output })
    expect(cutsOf(one.body, 100_000).filter((at) => !sameReading(readCutAt(one, at), whole))).toEqual([])
  })

  test.each([
    ['text that speaks of usage', { choices: [{ message: { content: JSON.stringify({ usage: CHAT }) } }] }],
    ['usage inside what a model wrote', { output: [{ content: [{ usage: CHAT }] }] }],
    ['usage of one item of a list', { data: [{ usage: CHAT }] }],
    ['usage in the arguments of a tool', { message: { tool_calls: [{ arguments: { usage: CHAT } }] } }],
    ['usage that is text', { usage: 'none' }],
    ['usage without counts', { usage: { credits: 4 } }],
    ['a count of tokens', { input_tokens: 14 }],
    ['nothing', {}],
  ])('%s on an unknown path is not usage', (_, body) => {
    expect(readWhole(exchange(JSON.stringify(body)))).toMatchObject({ usageSource: 'none', usage: NO_USAGE })
  })

  test.each([
    ['in dollars', { ...CHAT, cost: 0.0415 }],
    ['in dollars, as one of several figures', { ...CHAT, cost: { total_cost: 0.0415 } }],
    ['in ticks, without tokens', { cost_in_usd_ticks: 415_000_000 }],
  ])('the cost %s that a router reports on an unknown path is read', (_, usage) => {
    const read = readWhole(exchange(JSON.stringify({ data: [], usage })))
    expect(read).toMatchObject({ reportedCostPico: 41_500_000_000n, raw: JSON.stringify(usage) })
  })

  test('impossible counts on an unknown path are invalid, an error is a failure', () => {
    const usage = { prompt_tokens: -1, completion_tokens: 7 }
    expect(readWhole(exchange(JSON.stringify({ usage }))).usageSource).toBe('invalid')
    expect(readWhole(exchange(JSON.stringify({ error: { message: 'no' } }))).failed).toBe(true)
  })

  test.each([
    ['a batch', { object: 'batch', id: 'batch_1', status: 'validating' }, true],
    ['a batch of messages', { type: 'message_batch', id: 'batch_1', processing_status: 'in_progress' }, true],
    [
      'a response in the background',
      { object: 'response', id: 'batch_1', status: 'queued', background: true },
      true,
    ],
    ['a batch that has ended', { object: 'batch', id: 'batch_1', status: 'completed' }, false],
  ])('%s on an unknown path says whether its usage comes later, and under which id', (_, body, pending) => {
    expect(readWhole(exchange(JSON.stringify(body)))).toMatchObject({ pending, responseId: 'batch_1' })
  })

  test('no body on an unknown path makes the reader keep more than a little', () => {
    const reader = genericUsage.createReader(REQUEST, JSON_HEAD)
    reader.push(Buffer.from('{"model":"m","data":["'))
    const chunk = Buffer.alloc(1024 * 1024, 0x61)
    const before = process.memoryUsage().arrayBuffers
    for (let megabyte = 0; megabyte < 64; megabyte += 1) reader.push(chunk)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
    reader.push(Buffer.from(`"],"usage":${JSON.stringify(CHAT)}}`))
    expect(reader.end().usage).toMatchObject({ inputTokens: 11, outputTokens: 7 })
  })
})
