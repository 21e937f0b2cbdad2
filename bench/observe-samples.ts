/** The responses that {@link ./observe.ts} reads. */

import type { Provider } from '../src/providers/registry.ts'
import { jsonShape, streamShape } from './overhead/load/shapes.ts'
import { CHAT_PATH, chatUsage } from './overhead/load/wires.ts'

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

const json = 'application/json'

/** As the load of `npm run bench` has the wire. */
function streamOf(name: string, provider: Provider, wire: string): Sample {
  const { path, contentType, events } = streamShape(wire, EVENTS, { everyMs: 0, together: 1 })
  return { name, provider, path: path.replace(/^\/at-\w+|\?.*$/g, ''), contentType, writes: events }
}

/** Chat of a provider that has no usage but in the last chunk with text. */
function usageAtTheEnd(): Sample {
  const sample = streamOf('chat, usage in the last chunk', 'mistral', 'chat')
  const last = sample.writes.length - 3
  const writes = sample.writes.slice(0, -2).map((event, at) => {
    const usage = at === last ? JSON.stringify(chatUsage(EVENTS)) : null
    return Buffer.from(`${event}`.replace(',"usage":null', usage === null ? '' : `,"usage":${usage}`))
  })
  return { ...sample, writes }
}

/** Perplexity's: running usage, lines that end in CRLF. */
function runningWithCrLf(): Sample {
  const sample = streamOf('chat, running usage, CRLF', 'perplexity', 'vllm')
  const writes = sample.writes.map((event) => Buffer.from(`${event}`.replaceAll('\n', '\r\n')))
  return { ...sample, path: '/chat/completions', writes }
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
  streamOf('chat, null usage in every chunk', 'openai', 'chat'),
  usageAtTheEnd(),
  runningWithCrLf(),
  streamOf('chat, running usage', 'vllm', 'vllm'),
  streamOf('responses', 'openai', 'responses'),
  streamOf('messages', 'anthropic', 'messages'),
  streamOf('generateContent, running usage, CRLF', 'gemini', 'gemini'),
  streamOf('ollama chat, JSON lines', 'ollama', 'ollama'),
]

export const BODIES: readonly Sample[] = [
  ...[1, 64].map((kilobytes) => ({
    name: `chat, ${kilobytes} KB`,
    provider: 'openai' as const,
    path: CHAT_PATH,
    contentType: json,
    writes: jsonShape(kilobytes).events,
  })),
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
        JSON.stringify({
          data: [{ b64_json: 'iVBORw0KGgo'.repeat(190_000) }],
          usage: { input_tokens: 2000, output_tokens: 9 },
        }),
      ),
    ],
  },
]
