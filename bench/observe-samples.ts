/** The responses that {@link ./observe.ts} reads. */

import type { Provider } from '../src/providers/registry.ts'

/** A response as an upstream sends it. */
export interface Sample {
  readonly name: string
  readonly provider: Provider
  readonly path: string
  readonly contentType: string
  /** The body in the pieces in which a server would write it. */
  readonly writes: readonly Buffer[]
}

/** Of a stream. */
export const EVENTS = 1000

const text = 'some words of an answer that is being streamed'
const usage = { prompt_tokens: 2000, completion_tokens: EVENTS, total_tokens: 2000 + EVENTS }

function chatChunk(more: object, finishReason: string | null = null): object {
  return {
    id: 'chatcmpl-CD6FTpcSzPQsGXGMqsFyvnVQpTrR2',
    object: 'chat.completion.chunk',
    created: 1_757_800_000,
    model: 'gpt-4o-mini-2024-07-18',
    service_tier: 'default',
    system_fingerprint: 'fp_560af6e559',
    choices: [{ index: 0, delta: { content: text }, logprobs: null, finish_reason: finishReason }],
    ...more,
  }
}

function sse(documents: readonly object[], end = '\n', named = false): readonly Buffer[] {
  return documents.map((document) => {
    const type = named && 'type' in document ? `event: ${String(document.type)}${end}` : ''
    return Buffer.from(`${type}data: ${JSON.stringify(document)}${end}${end}`)
  })
}

function many(make: (index: number) => object, last: object): readonly object[] {
  return [...Array.from({ length: EVENTS - 1 }, (_, index) => make(index)), last]
}

const stream = 'text/event-stream'
const json = 'application/json'
const chat = '/v1/chat/completions'
const responseUsage = { input_tokens: 2000, output_tokens: EVENTS, total_tokens: 2000 + EVENTS }
const response = {
  id: 'resp_1',
  object: 'response',
  model: 'gpt-5',
  status: 'in_progress',
  error: null,
  usage: null,
}

/** A whole completion, its text so many times the piece that a stream's events have. */
function completion(pieces: number): Buffer {
  const details = { cached_tokens: 0, audio_tokens: 0 }
  return Buffer.from(
    JSON.stringify({
      ...chatChunk({}),
      object: 'chat.completion',
      choices: [
        { index: 0, message: { role: 'assistant', content: text.repeat(pieces) }, finish_reason: 'stop' },
      ],
      usage: { ...usage, prompt_tokens_details: details, completion_tokens_details: { reasoning_tokens: 0 } },
    }),
  )
}

function embeddings(count: number): Buffer {
  const embedding = (index: number) => Array.from({ length: 1536 }, (_, n) => Math.sin(n + index))
  return Buffer.from(
    JSON.stringify({
      data: Array.from({ length: count }, (_, index) => ({ index, embedding: embedding(index) })),
      usage: { prompt_tokens: 9, total_tokens: 9 },
    }),
  )
}

export const STREAMS: readonly Sample[] = [
  {
    name: 'chat, null usage in every chunk',
    provider: 'openai',
    path: chat,
    contentType: stream,
    writes: sse(many(() => chatChunk({ usage: null }), { ...chatChunk({ usage }), choices: [] })),
  },
  {
    name: 'chat, usage in the last chunk',
    provider: 'mistral',
    path: chat,
    contentType: stream,
    writes: sse(many(() => chatChunk({}), chatChunk({ usage }, 'stop'))),
  },
  {
    name: 'chat, running usage, CRLF',
    provider: 'perplexity',
    path: '/chat/completions',
    contentType: stream,
    writes: sse(
      many((n) => chatChunk({ usage: { ...usage, completion_tokens: n } }), chatChunk({ usage }, 'stop')),
      '\r\n',
    ),
  },
  {
    name: 'chat, running usage',
    provider: 'vllm',
    path: chat,
    contentType: stream,
    writes: sse(
      many((n) => chatChunk({ usage: { ...usage, completion_tokens: n } }), chatChunk({ usage }, 'stop')),
    ),
  },
  {
    name: 'responses',
    provider: 'openai',
    path: '/v1/responses',
    contentType: stream,
    writes: sse(
      [
        { type: 'response.created', response },
        ...many(
          (n) => ({
            type: 'response.output_text.delta',
            sequence_number: n,
            item_id: 'msg_1',
            output_index: 0,
            delta: text,
          }),
          {
            type: 'response.completed',
            response: { ...response, status: 'completed', usage: responseUsage },
          },
        ),
      ],
      '\n',
      true,
    ),
  },
  {
    name: 'messages',
    provider: 'anthropic',
    path: '/v1/messages',
    contentType: stream,
    writes: sse(
      [
        {
          type: 'message_start',
          message: { model: 'claude', usage: { input_tokens: 2000, output_tokens: 2 } },
        },
        ...many((n) => ({ type: 'content_block_delta', index: n, delta: { type: 'text_delta', text } }), {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: EVENTS },
        }),
      ],
      '\n',
      true,
    ),
  },
  {
    name: 'generateContent, running usage, CRLF',
    provider: 'gemini',
    path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
    contentType: stream,
    writes: sse(
      many(
        (n) => ({
          candidates: [{ content: { parts: [{ text }], role: 'model' } }],
          usageMetadata: { promptTokenCount: 2000, candidatesTokenCount: n, totalTokenCount: 2000 + n },
          modelVersion: 'gemini-2.5-flash',
        }),
        {
          usageMetadata: {
            promptTokenCount: 2000,
            candidatesTokenCount: EVENTS,
            totalTokenCount: 2000 + EVENTS,
          },
        },
      ),
      '\r\n',
    ),
  },
  {
    name: 'ollama chat, JSON lines',
    provider: 'ollama',
    path: '/api/chat',
    contentType: 'application/x-ndjson',
    writes: many(
      () => ({
        model: 'llama3',
        created_at: '2026-01-01T00:00:00Z',
        message: { role: 'assistant', content: text },
        done: false,
      }),
      { model: 'llama3', done: true, prompt_eval_count: 2000, eval_count: EVENTS },
    ).map((line) => Buffer.from(`${JSON.stringify(line)}\n`)),
  },
]

export const BODIES: readonly Sample[] = [
  { name: 'chat, 1 KB', provider: 'openai', path: chat, contentType: json, writes: [completion(10)] },
  { name: 'chat, 64 KB', provider: 'openai', path: chat, contentType: json, writes: [completion(1390)] },
  {
    name: 'embedding, 32 KB of numbers',
    provider: 'openai',
    path: '/v1/embeddings',
    contentType: json,
    writes: [embeddings(1)],
  },
  {
    name: 'embeddings, 2 MB of numbers',
    provider: 'openai',
    path: '/v1/embeddings',
    contentType: json,
    writes: [embeddings(64)],
  },
  {
    name: 'image, 2 MB of base64',
    provider: 'openai',
    path: '/v1/images/generations',
    contentType: json,
    writes: [
      Buffer.from(
        JSON.stringify({ data: [{ b64_json: 'iVBORw0KGgo'.repeat(190_000) }], usage: responseUsage }),
      ),
    ],
  },
]
