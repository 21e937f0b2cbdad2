import { estimateTextTokens } from '../../../src/gateway/estimation/estimate-tokens.ts'
import type { PromptFormat } from '../../../src/providers/dialect.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { seededRandom } from '../seeded-random.ts'

/** A streamed answer made up for a test: its events one by one, and what its upstream reports in the end. */
export interface MadeStream {
  readonly provider: Provider
  readonly path: string
  readonly request: object
  readonly contentType: string
  readonly events: readonly string[]
  /** How many events have passed once the final usage has. */
  readonly eventsUntilUsage: number
  /** Whether the client sees the usage: it asked for it, or its provider sends it unasked. */
  readonly showsUsage: boolean
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A wire with its provider: how text becomes events, and is found in them again. */
export interface StreamFormat {
  readonly provider: Provider
  readonly model: string
  readonly format: PromptFormat
  make(pieces: readonly string[], usage: Usage, showsUsage: boolean): MadeEvents
  /** The text in one event's JSON. */
  textOf(json: EventJson): string
}

interface Usage {
  readonly input: number
  readonly output: number
}

interface MadeEvents {
  readonly path: string
  readonly request: object
  readonly contentType: string
  readonly before: readonly string[]
  readonly pieces: readonly string[]
  readonly usage: readonly string[]
  readonly after: readonly string[]
}

/** The members in which the formats put text. */
export interface EventJson {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[]
  readonly delta?: { readonly text?: string }
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly text?: string }[] }
  }[]
  readonly message?: { readonly content?: unknown }
}

const MESSAGES = [{ role: 'user', content: 'Tell me of the sea, at some length, and in plain words.' }]

const openAi: StreamFormat = {
  provider: 'openai',
  model: 'gpt-4o',
  format: { isChat: true },
  make(pieces, usage, showsUsage) {
    const chunk = (fields: object) =>
      `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'gpt-4o', ...fields })}\n\n`
    const choice = (delta: object, finish_reason: string | null = null) =>
      chunk({ choices: [{ index: 0, delta, finish_reason }], usage: null })
    return {
      path: '/v1/chat/completions',
      request: {
        model: 'gpt-4o',
        messages: MESSAGES,
        stream: true,
        ...(showsUsage ? { stream_options: { include_usage: true } } : {}),
      },
      contentType: 'text/event-stream; charset=utf-8',
      before: [choice({ role: 'assistant', content: '' })],
      pieces: pieces.map((content) => choice({ content })),
      usage: [
        choice({}, 'stop'),
        chunk({
          choices: [],
          usage: {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input + usage.output,
          },
        }),
      ],
      after: ['data: [DONE]\n\n'],
    }
  },
  textOf: ({ choices }) => choices?.[0]?.delta?.content ?? '',
}

const anthropic: StreamFormat = {
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  format: { isChat: true, tokenizerFamily: 'claude' },
  make(pieces, usage) {
    const event = (type: string, fields: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
    const model = 'claude-sonnet-4-5'
    return {
      path: '/v1/messages',
      request: { model, max_tokens: 4096, messages: MESSAGES, stream: true },
      contentType: 'text/event-stream; charset=utf-8',
      before: [
        event('message_start', {
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model,
            content: [],
            usage: { input_tokens: usage.input, output_tokens: 1 },
          },
        }),
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ],
      pieces: pieces.map((text) =>
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      ),
      usage: [
        event('content_block_stop', { index: 0 }),
        event('message_delta', {
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: usage.output },
        }),
      ],
      after: [event('message_stop', {})],
    }
  },
  textOf: ({ delta }) => delta?.text ?? '',
}

const gemini: StreamFormat = {
  provider: 'gemini',
  model: 'gemini-2.5-flash',
  format: { isChat: true, tokenizerFamily: 'gemini' },
  make(pieces, usage) {
    const event = (text: string, output: number, finish: object = {}) =>
      `data: ${JSON.stringify({
        candidates: [{ content: { role: 'model', parts: [{ text }] }, ...finish }],
        usageMetadata: {
          promptTokenCount: usage.input,
          candidatesTokenCount: output,
          totalTokenCount: usage.input + output,
        },
        modelVersion: 'gemini-2.5-flash',
      })}\r\n\r\n`
    return {
      path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      request: { contents: [{ role: 'user', parts: [{ text: MESSAGES[0]?.content }] }] },
      contentType: 'text/event-stream',
      before: [],
      pieces: pieces.map((text, index) =>
        event(text, Math.round((usage.output * (index + 1)) / pieces.length)),
      ),
      usage: [event('', usage.output, { finishReason: 'STOP' })],
      after: [],
    }
  },
  textOf: ({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? '',
}

const ollama: StreamFormat = {
  provider: 'ollama',
  model: 'llama3.2',
  format: { isChat: true },
  make(pieces, usage) {
    const line = (content: string, fields: object) =>
      `${JSON.stringify({ model: 'llama3.2', message: { role: 'assistant', content }, ...fields })}\n`
    return {
      path: '/api/chat',
      request: { model: 'llama3.2', messages: MESSAGES },
      contentType: 'application/x-ndjson',
      before: [],
      pieces: pieces.map((content) => line(content, { done: false })),
      usage: [
        line('', {
          done: true,
          done_reason: 'stop',
          prompt_eval_count: usage.input,
          eval_count: usage.output,
        }),
      ],
      after: [],
    }
  },
  textOf: ({ message }) => (typeof message?.content === 'string' ? message.content : ''),
}

export const STREAM_FORMATS = [openAi, anthropic, gemini, ollama] as const

const WORDS =
  `the sea is wide and old it moves with wind moon salt light over sand stones ships harbours people who came before
  us knew its tides by heart and told their children when to sail why to wait because every wave carries something
  from far away a bottle rope shell story unbelievable temperatures oceanographers measured between 1931 and 2024`.split(
    /\s+/,
  )

/**
 * Makes the stream that `seed` stands for, with up to 150 pieces of text. `asksForUsage` says whether the client of
 * a chat stream asks for its usage; else the seed says it.
 */
export async function makeStream(
  format: StreamFormat,
  seed: number,
  asksForUsage?: boolean,
): Promise<MadeStream> {
  const random = seededRandom(seed)
  const pieces = Array.from({ length: 10 + Math.floor(random() * 140) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () => wordAt(random)).join(''),
  )
  const showsUsage = format !== openAi || (asksForUsage ?? random() < 0.5)
  const input = 20 + Math.floor(random() * 1000)
  const output = await tokensIn(pieces.join(''), format)
  const made = format.make(pieces, { input, output }, showsUsage)
  const untilUsage = [...made.before, ...made.pieces, ...made.usage]
  return {
    provider: format.provider,
    path: made.path,
    request: made.request,
    contentType: made.contentType,
    events: [...untilUsage, ...made.after],
    eventsUntilUsage: untilUsage.length,
    showsUsage,
    inputTokens: input,
    outputTokens: output,
  }
}

function wordAt(random: () => number): string {
  return ` ${WORDS[Math.floor(random() * WORDS.length)]}`
}

/** Tokens in `text` as the model of `format` counts them, as far as anyone but its maker can tell. */
export async function tokensIn(text: string, { model, format }: StreamFormat): Promise<number> {
  return await estimateTextTokens(text, model, format)
}

/** The whole events in the bytes that a client got, as JSON; what is cut or no JSON is left out. */
export function eventsIn(received: string): readonly EventJson[] {
  const events: EventJson[] = []
  for (const line of received.split('\n')) {
    const json = line.startsWith('data:') ? line.slice(5) : line
    if (!json.trimStart().startsWith('{')) continue
    try {
      events.push(JSON.parse(json) as EventJson)
    } catch {
      // The one that was cut.
    }
  }
  return events
}
