import { expect, test } from 'vitest'
import type { Provider } from '../../src/providers/registry.ts'
import { madeResponses } from '../fixtures/made-responses.ts'
import { dialectOf } from './recordings/dialect-of.ts'
import { readBytes, readWhole } from './recordings/judge.ts'
import { loadRecordings } from './recordings/recordings.ts'

function readingOf(provider: Provider, path: string, body: string, headers: Record<string, string> = {}) {
  const dialect = dialectOf(provider, 'POST', path)
  if (dialect === null) throw new Error(`no dialect reads ${path}`)
  return {
    id: path,
    dialect,
    request: { method: 'POST', path, model: null, stream: null },
    head: { status: 200, headers },
    body: Buffer.from(body),
  }
}

const sse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

test.each<[string, Provider, string, string, string]>([
  [
    'chat',
    'openai',
    '/v1/chat/completions',
    JSON.stringify({ id: 'chatcmpl-1', choices: [{ message: { id: 'msg' } }], usage: USAGE }),
    'chatcmpl-1',
  ],
  [
    'a chat stream',
    'openrouter',
    '/v1/chat/completions',
    sse({ id: 'gen-1', model: 'm', choices: [] }, { id: 'gen-1', choices: [], usage: USAGE }),
    'gen-1',
  ],
  [
    'a stream whose first event has an empty one',
    'azure-openai',
    '/openai/deployments/d/chat/completions',
    sse({ id: '', model: '', choices: [] }, { id: 'chatcmpl-2', model: 'm', choices: [] }),
    'chatcmpl-2',
  ],
  [
    'messages',
    'anthropic',
    '/v1/messages',
    sse(
      { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1 } } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    ),
    'msg_1',
  ],
  [
    "Gemini's",
    'gemini',
    '/v1beta/models/m:generateContent',
    JSON.stringify({ candidates: [], usageMetadata: { promptTokenCount: 1 }, responseId: 'r1' }),
    'r1',
  ],
  [
    "Cohere's stream, which names itself in its first event alone",
    'cohere',
    '/v2/chat',
    sse(
      { id: 'c1', type: 'message-start', delta: { message: { role: 'assistant' } } },
      {
        type: 'message-end',
        delta: {
          finish_reason: 'COMPLETE',
          usage: { billed_units: { input_tokens: 1 }, tokens: { input_tokens: 1 } },
        },
      },
    ),
    'c1',
  ],
  [
    'embeddings of a server that names them',
    'vllm',
    '/v1/embeddings',
    JSON.stringify({ id: 'embd-1', data: [], usage: { prompt_tokens: 3, total_tokens: 3 } }),
    'embd-1',
  ],
  [
    'a response',
    'openai',
    '/v1/responses',
    JSON.stringify({ id: 'resp_1', object: 'response', usage: { input_tokens: 1, output_tokens: 1 } }),
    'resp_1',
  ],
])('the id of %s is known', (_what, provider, path, body, id) => {
  const exchange = readingOf(provider, path, body)
  expect(readWhole(exchange).answerId).toBe(id)
  expect(readBytes(exchange).last.answerId).toBe(id)
})

test('an answer of Bedrock has the id of its request', () => {
  const body = JSON.stringify({ usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } })
  const headers = { 'x-amzn-requestid': 'aws-1' }
  expect(readWhole(readingOf('bedrock', '/model/m/converse', body, headers)).answerId).toBe('aws-1')
})

test('an answer with an id that could not be found again keeps no id', () => {
  for (const id of [null, '', 7, { a: 1 }, ['x']]) {
    const body = JSON.stringify({ id, choices: [], usage: USAGE })
    expect(readWhole(readingOf('openai', '/v1/chat/completions', body)).answerId).toBeUndefined()
  }
  const long = JSON.stringify({ id: 'x'.repeat(100_000), choices: [], usage: USAGE })
  const { answerId = '' } = readWhole(readingOf('openai', '/v1/chat/completions', long))
  expect(answerId.length).toBeLessThanOrEqual(512)
})

/** What names itself in no document that is read: the wires in question, and why. */
const WITHOUT_ID =
  /embed|rerank|audio|speech|transcri|image|realtime|live|batch|ollama|tgi|predict|count|moderation|error|ocr|voyage|fine_tuning|evals|:rank/

test('every answer of a text endpoint that names itself is known by that', () => {
  const made = madeResponses.map((one) => ({
    id: `${one.provider} ${one.path}: ${one.oddity}`,
    provider: one.provider,
    path: one.path,
    headers: Object.fromEntries(Object.entries(one.headers ?? {}).map(([name, value]) => [name, `${value}`])),
    body: Buffer.from(one.body),
    meta: { endpoint: '', wire: '', method: one.method ?? 'POST', status: one.status ?? 200 },
  }))
  const nameless: string[] = []
  let named = 0
  for (const { id, provider, meta, path, headers, body } of [...made, ...loadRecordings()]) {
    const dialect = dialectOf(provider, meta.method, path)
    if (dialect === null || meta.wire === 'websocket-jsonl' || meta.status >= 300) continue
    if (WITHOUT_ID.test(`${id} ${meta.endpoint}`)) continue
    // A fixture whose chunks have no id, only the tools in them.
    if (id.endsWith('tells each tool twice')) continue
    if (!/"(?:id|responseId|generation_id)" ?: ?"[^"]/.test(body.toString('latin1', 0, 4_000))) continue
    const request = { method: meta.method, path, model: null, stream: null }
    const read = readWhole({ id, dialect, request, head: { status: meta.status, headers }, body })
    const isKnown = read.answerId !== undefined && body.includes(read.answerId)
    if (isKnown || headers['x-amzn-requestid'] !== undefined) named += 1
    else nameless.push(id)
  }
  expect(nameless).toEqual([])
  expect(named).toBeGreaterThan(100)
})
