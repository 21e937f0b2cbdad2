/**
 * What reading costs: CPU per event and per stream, cost per byte of large bodies, and whether memory stays flat
 * over many streams. Every response goes through the reader that the gateway would choose, on one thread; "apart"
 * means each event arrives as a chunk of its own, "together" that chunks are 16 KiB as in a busy socket.
 *
 * Run: npm run bench:observe
 */

import { selectDialect } from '../src/providers/dialects.ts'
import type { Provider } from '../src/providers/registry.ts'
import { heldMemory } from '../test/support/memory.ts'

interface Sample {
  readonly name: string
  readonly provider: Provider
  readonly path: string
  readonly contentType: string
  /** The body in the pieces in which a server would write it. */
  readonly writes: readonly Buffer[]
}

const EVENTS = 1000
const TOGETHER_BYTES = 16_384

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

const samples: readonly Sample[] = [
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

const bodies: readonly Sample[] = [
  {
    name: 'chat, one body of 2 kB',
    provider: 'openai',
    path: chat,
    contentType: 'application/json',
    writes: [
      Buffer.from(
        JSON.stringify({ ...chatChunk({}), choices: [{ message: { content: text.repeat(40) } }], usage }),
      ),
    ],
  },
  {
    name: 'embeddings, 2 MB of numbers',
    provider: 'openai',
    path: '/v1/embeddings',
    contentType: 'application/json',
    writes: [
      Buffer.from(
        JSON.stringify({
          data: Array.from({ length: 64 }, (_, index) => ({
            index,
            embedding: Array.from({ length: 1536 }, (_, n) => Math.sin(n + index)),
          })),
          usage: { prompt_tokens: 9, total_tokens: 9 },
        }),
      ),
    ],
  },
  {
    name: 'image, 2 MB of base64',
    provider: 'openai',
    path: '/v1/images/generations',
    contentType: 'application/json',
    writes: [
      Buffer.from(
        JSON.stringify({ data: [{ b64_json: 'iVBORw0KGgo'.repeat(190_000) }], usage: responseUsage }),
      ),
    ],
  },
]

function cut(body: Buffer, pieceBytes: number): readonly Buffer[] {
  return Array.from({ length: Math.ceil(body.length / pieceBytes) }, (_, index) =>
    body.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
}

/** Reads one response and gives its input tokens, so that nothing can be optimised away. */
function readOnce({ provider, path, contentType }: Sample, chunks: readonly Buffer[]): number {
  const request = { method: 'POST', path, model: null, stream: true }
  const dialect = selectDialect(provider, request.method, path)
  const reader = dialect?.createReader(request, { status: 200, headers: { 'content-type': contentType } })
  if (reader === undefined) return 0
  for (const chunk of chunks) reader.push(chunk)
  return reader.end().usage.inputTokens ?? 0
}

/** Microseconds per reading: the median of rounds after a warm-up. */
function measure(sample: Sample, chunks: readonly Buffer[], budgetMs: number): number {
  if (readOnce(sample, chunks) === 0) return Number.NaN
  const times: number[] = []
  const until = performance.now() + budgetMs
  while (performance.now() < until || times.length < 20) {
    const begin = performance.now()
    readOnce(sample, chunks)
    times.push((performance.now() - begin) * 1000)
  }
  times.sort((one, other) => one - other)
  return times[Math.floor(times.length / 2)] ?? Number.NaN
}

/** Heap in use after `streams` readings more, in MB. */
function heapAfter(streams: number): number {
  const [sample] = samples
  if (sample !== undefined) {
    const short = [...sample.writes.slice(0, 19), ...sample.writes.slice(-1)]
    for (let count = 0; count < streams; count += 1) readOnce(sample, short)
  }
  return heldMemory().heapUsed / 1e6
}

const budgetMs = Number(process.env.BENCH_MS ?? 400)

console.log(`streams of ${EVENTS} events`)
console.table(
  samples.map((sample) => {
    const apart = measure(sample, sample.writes, budgetMs)
    const together = measure(sample, cut(Buffer.concat([...sample.writes]), TOGETHER_BYTES), budgetMs)
    return {
      reader: sample.name,
      'apart, ns per event': Math.round((apart / EVENTS) * 1000),
      'together, ns per event': Math.round((together / EVENTS) * 1000),
      'apart, us per stream': Math.round(apart),
    }
  }),
)
console.log('whole bodies, in chunks of 64 KiB')
console.table(
  bodies.map((sample) => {
    const body = Buffer.concat([...sample.writes])
    const us = measure(sample, cut(body, 65_536), budgetMs)
    return {
      reader: sample.name,
      bytes: body.length,
      us: Math.round(us * 10) / 10,
      'MB per s': Math.round(body.length / us),
    }
  }),
)
const warm = heapAfter(5000)
const after = heapAfter(100_000)
console.log(
  `heap in use after 5,000 streams: ${warm.toFixed(1)} MB, after 100,000 more: ${after.toFixed(1)} MB`,
)
