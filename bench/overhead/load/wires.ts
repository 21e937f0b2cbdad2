import { bedrockEvent } from '../../../test/fixtures/event-messages.ts'

/** Stands in the prompt for the shape's name, by which the origin knows it: headers do not pass through every proxy. */
export const PROMPT_NAME = 'shape<NAME>'
export const INPUT_TOKENS = 25
export const CHAT_PATH = '/v1/chat/completions'
const PROMPT = `Tell me something about the sea, in a few words. ${PROMPT_NAME}`
const TEXT = 'some words of an answer that is being streamed'
const messages = [{ role: 'user', content: PROMPT }]
export const CHAT_REQUEST = { model: 'gpt-4o-mini', messages, temperature: 0.7 }

export function chatUsage(outputTokens: number): object {
  return {
    prompt_tokens: INPUT_TOKENS,
    completion_tokens: outputTokens,
    total_tokens: INPUT_TOKENS + outputTokens,
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
const chatEnd = (events: number) => sse(chatChunk({ usage: chatUsage(events) }, null))
const streamed = { ...CHAT_REQUEST, stream: true }
const responseFields = { id: 'resp_1', object: 'response', model: 'gpt-5-mini', error: null }

/** A wire format: what is asked, and what is streamed then. */
export interface Wire {
  readonly path: string
  readonly request: object
  readonly contentType?: string
  /** `event` counts from 1. */
  readonly event: (event: number) => string | Buffer
  readonly before?: readonly (string | Buffer)[]
  readonly after: (events: number) => readonly (string | Buffer)[]
  /** What is written to those who do not ask for usage; absent: the same. */
  readonly unasked?: { readonly event: string; readonly after: readonly string[] }
}

/** Each wire format that the gateway reads as a stream. `events` are those with text; usage says as many tokens. */
export const WIRES: Readonly<Record<string, Wire>> = {
  chat: {
    path: CHAT_PATH,
    request: { ...streamed, stream_options: { include_usage: true } },
    event: () => sse(chatChunk({ usage: null })),
    after: (events) => [chatEnd(events), DONE],
  },
  'chat-asked': {
    path: CHAT_PATH,
    request: streamed,
    event: () => sse(chatChunk({ usage: null })),
    after: (events) => [chatEnd(events), DONE],
    unasked: { event: sse(chatChunk({})), after: [DONE] },
  },
  vllm: {
    path: `/at-vllm${CHAT_PATH}`,
    request: { ...streamed, stream_options: { include_usage: true, continuous_usage_stats: true } },
    event: (event) => sse(chatChunk({ usage: chatUsage(event) })),
    after: (events) => [chatEnd(events), DONE],
  },
  responses: {
    path: '/v1/responses',
    request: { model: 'gpt-5-mini', input: PROMPT, stream: true },
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
          usage: { input_tokens: INPUT_TOKENS, output_tokens: events, total_tokens: INPUT_TOKENS + events },
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
          usage: { input_tokens: INPUT_TOKENS, output_tokens: 1 },
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
    request: { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
    event: (event) =>
      sse(
        {
          candidates: [{ content: { parts: [{ text: TEXT }], role: 'model' }, index: 0 }],
          usageMetadata: {
            promptTokenCount: INPUT_TOKENS,
            candidatesTokenCount: event,
            totalTokenCount: INPUT_TOKENS + event,
            promptTokensDetails: [{ modality: 'TEXT', tokenCount: INPUT_TOKENS }],
          },
          modelVersion: 'gemini-2.5-flash',
          responseId: 'kxVLaZiOKe-W1PIPx7_o2Q4',
        },
        '\r\n',
      ),
    after: () => [],
  },
  bedrock: {
    path: '/at-bedrock/model/amazon.nova-lite-v1%3A0/converse-stream',
    request: { messages: [{ role: 'user', content: [{ text: PROMPT }] }] },
    contentType: 'application/vnd.amazon.eventstream',
    before: [bedrockEvent('messageStart', { p: 'abcdefg', role: 'assistant' })],
    event: () =>
      bedrockEvent('contentBlockDelta', {
        contentBlockIndex: 0,
        delta: { text: TEXT },
        p: 'abcdefghijklmnopqrstuvwxyz',
      }),
    after: (events) => [
      bedrockEvent('contentBlockStop', { contentBlockIndex: 0, p: 'abcdefgh' }),
      bedrockEvent('messageStop', { p: 'abc', stopReason: 'end_turn' }),
      bedrockEvent('metadata', {
        metrics: { latencyMs: 730 },
        usage: {
          inputTokens: INPUT_TOKENS,
          outputTokens: events,
          totalTokens: INPUT_TOKENS + events,
        },
      }),
    ],
  },
  cohere: {
    path: '/at-cohere/v2/chat',
    request: { model: 'command-a-03-2025', stream: true, messages },
    before: [
      named('message-start', {
        id: 'c14c80c3-18eb-4519-9460-6c92edd8cfb4',
        delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [] } },
      }),
      named('content-start', { index: 0, delta: { message: { content: { type: 'text', text: '' } } } }),
    ],
    event: () => named('content-delta', { index: 0, delta: { message: { content: { text: TEXT } } } }),
    after: (events) => [
      named('content-end', { index: 0 }),
      named('message-end', {
        delta: {
          finish_reason: 'COMPLETE',
          usage: {
            billed_units: { input_tokens: INPUT_TOKENS, output_tokens: events },
            tokens: { input_tokens: INPUT_TOKENS + 64, output_tokens: events },
          },
        },
      }),
    ],
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
      `${JSON.stringify({ model: 'llama3.2', done: true, prompt_eval_count: INPUT_TOKENS, eval_count: events })}\n`,
    ],
  },
}
