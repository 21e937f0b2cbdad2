/** A request and the answer that the origin gives to it, byte for byte. */
export interface Shape {
  /** Also the value of the request header by which the origin knows it. */
  readonly name: string
  readonly path: string
  readonly body: string
  readonly contentType: string
  /** The answer's body as the origin writes it: whole, or an event each. */
  readonly events: readonly Buffer[]
  /** Which of the events comes only to those who ask for usage; `null`: none. */
  readonly usageEvent: number | null
  /** What the client is to get: the events without usage that it did not ask for. */
  readonly expected: Buffer
  readonly inputTokens: number
  readonly outputTokens: number
}

/** The request header that names the shape, and for a stream its events, and milliseconds between them. */
export const SHAPE_HEADER = 'x-bench'
const INPUT = 25
const TEXT = 'some words of an answer that is being streamed'
const CHAT = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Tell me something about the sea, in a few words.' }]
const chatRequest = { model: 'gpt-4o-mini', messages, temperature: 0.7 }

/** A JSON answer of about `kilobytes`. */
export function jsonShape(kilobytes: number): Shape {
  const outputTokens = kilobytes * 150
  const content = 'word '.repeat(Math.round((kilobytes * 1024 - 420) / 5))
  const answer = Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-CD6FTpcSzPQsGXGMqsFyvnVQpTrR2',
      object: 'chat.completion',
      created: 1_757_800_000,
      model: 'gpt-4o-mini-2024-07-18',
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage: usage(outputTokens),
      service_tier: 'default',
      system_fingerprint: 'fp_560af6e559',
    }),
  )
  return {
    name: `json:${kilobytes}`,
    path: CHAT,
    body: JSON.stringify(chatRequest),
    contentType: 'application/json',
    events: [answer],
    usageEvent: null,
    expected: answer,
    inputTokens: INPUT,
    outputTokens,
  }
}

function usage(outputTokens: number): object {
  return {
    prompt_tokens: INPUT,
    completion_tokens: outputTokens,
    total_tokens: INPUT + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  }
}

function chatChunk(fields: object, text: string | null = TEXT): object {
  return {
    id: 'chatcmpl-CD6FTpcSzPQsGXGMqsFyvnVQpTrR2',
    object: 'chat.completion.chunk',
    created: 1_757_800_000,
    model: 'gpt-4o-mini-2024-07-18',
    service_tier: 'default',
    system_fingerprint: 'fp_560af6e559',
    choices:
      text === null ? [] : [{ index: 0, delta: { content: text }, logprobs: null, finish_reason: null }],
    ...fields,
  }
}

function sse(document: object, end = '\n'): string {
  return `data: ${JSON.stringify(document)}${end}${end}`
}

function named(type: string, fields: object): string {
  return `event: ${type}\n${sse({ type, ...fields })}`
}

const DONE = 'data: [DONE]\n\n'
const chatEnd = (events: number) => sse(chatChunk({ usage: usage(events) }, null))
const streamed = { ...chatRequest, stream: true }
const responseFields = { id: 'resp_1', object: 'response', model: 'gpt-5-mini', error: null }

interface Wire {
  readonly path: string
  readonly request: object
  readonly contentType?: string
  /** `event` counts from 1. */
  readonly event: (event: number) => string
  readonly before?: readonly string[]
  readonly after: (events: number) => readonly string[]
  /** Of `after`, what the gateway asked for and takes out again. */
  readonly removed?: (events: number) => string
}

/** Each wire format that the gateway reads as a stream. `events` are those with text; usage says as many tokens. */
const WIRES: Readonly<Record<string, Wire>> = {
  chat: {
    path: CHAT,
    request: { ...streamed, stream_options: { include_usage: true } },
    event: () => sse(chatChunk({ usage: null })),
    after: (events) => [chatEnd(events), DONE],
  },
  'chat-asked': {
    path: CHAT,
    request: streamed,
    event: () => sse(chatChunk({ usage: null })),
    after: (events) => [chatEnd(events), DONE],
    removed: chatEnd,
  },
  vllm: {
    path: `/at-vllm${CHAT}`,
    request: { ...streamed, stream_options: { include_usage: true, continuous_usage_stats: true } },
    event: (event) => sse(chatChunk({ usage: usage(event) })),
    after: (events) => [chatEnd(events), DONE],
  },
  responses: {
    path: '/v1/responses',
    request: { model: 'gpt-5-mini', input: 'Tell me something about the sea.', stream: true },
    before: [named('response.created', { response: { ...responseFields, status: 'in_progress' } })],
    event: (event) =>
      named('response.output_text.delta', {
        sequence_number: event,
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: TEXT,
      }),
    after: (events) => [
      named('response.completed', {
        response: {
          ...responseFields,
          status: 'completed',
          usage: { input_tokens: INPUT, output_tokens: events, total_tokens: INPUT + events },
        },
      }),
    ],
  },
  messages: {
    path: '/at-anthropic/v1/messages',
    request: { model: 'claude-sonnet-4-5', stream: true, max_tokens: 4096, messages },
    before: [
      named('message_start', {
        message: {
          id: 'msg_1',
          model: 'claude-sonnet-4-5',
          usage: { input_tokens: INPUT, output_tokens: 1 },
        },
      }),
    ],
    event: () => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
    after: (events) => [
      named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: events } }),
      named('message_stop', {}),
    ],
  },
  gemini: {
    path: '/at-gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    request: { contents: [{ role: 'user', parts: [{ text: 'Tell me something about the sea.' }] }] },
    event: (event) =>
      sse(
        {
          candidates: [{ content: { parts: [{ text: TEXT }], role: 'model' }, index: 0 }],
          usageMetadata: {
            promptTokenCount: INPUT,
            candidatesTokenCount: event,
            totalTokenCount: INPUT + event,
            promptTokensDetails: [{ modality: 'TEXT', tokenCount: INPUT }],
          },
          modelVersion: 'gemini-2.5-flash',
          responseId: 'kxVLaZiOKe-W1PIPx7_o2Q4',
        },
        '\r\n',
      ),
    after: () => [],
  },
  ollama: {
    path: '/at-ollama/api/chat',
    request: { model: 'llama3.2', messages },
    contentType: 'application/x-ndjson',
    event: () =>
      `${JSON.stringify({
        model: 'llama3.2',
        created_at: '2026-01-01T00:00:00.000000Z',
        message: { role: 'assistant', content: TEXT },
        done: false,
      })}\n`,
    after: (events) => [
      `${JSON.stringify({ model: 'llama3.2', done: true, prompt_eval_count: INPUT, eval_count: events })}\n`,
    ],
  },
}

export const WIRE_NAMES = Object.keys(WIRES)

/** A stream with `events` events of text, one every `everyMs`; 0: in bursts, several events a write. */
export function streamShape(wireName: string, events: number, everyMs: number): Shape {
  const wire = WIRES[wireName]
  if (wire === undefined) throw new Error(`no wire is called ${wireName}`)
  const texts = [
    ...(wire.before ?? []),
    ...Array.from({ length: events }, (_, index) => wire.event(index + 1)),
    ...wire.after(events),
  ]
  const removed = wire.removed?.(events)
  return {
    name: `${wireName}:${events}:${everyMs}`,
    path: wire.path,
    body: JSON.stringify(wire.request),
    contentType: wire.contentType ?? 'text/event-stream',
    events: texts.map((text) => Buffer.from(text)),
    usageEvent: removed === undefined ? null : texts.indexOf(removed),
    expected: Buffer.from(texts.filter((text) => text !== removed).join('')),
    inputTokens: INPUT,
    outputTokens: events,
  }
}

/** The shape of this name. */
export function shapeNamed(name: string): Shape {
  const [first = '', second, third] = name.split(':')
  return first === 'json' ? jsonShape(Number(second)) : streamShape(first, Number(second), Number(third))
}
