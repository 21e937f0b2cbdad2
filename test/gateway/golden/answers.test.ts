import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { UpstreamError } from '#http-client/answer-handler.ts'
import { requestFor } from '../../fixtures/made-response.ts'
import { madeResponses } from '../../fixtures/made-responses.ts'
import { clock, digestOf } from './call-world.ts'
import { answer, answerLine, SSE } from './digests.ts'
import { type Answer, driveAnswer, type Way } from './drive-answer.ts'

// What calls leave in the journal and with their clients, byte for byte, however the gateway's parts are cut. A change of
// these files is a change of what is recorded: `vitest -u` writes them again.

vi.mock('../../../src/gateway/estimation/estimate-thread.ts', () => import('./same-thread.ts'))

beforeAll(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
})
afterAll(() => {
  vi.restoreAllMocks()
})

const JSON_TYPE = { 'content-type': 'application/json' }

const sse = (...events: readonly object[]) =>
  Buffer.from(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`)

const USAGE = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 }
const words = ['The', ' answer', ' is', ' 42.'].map((content) => ({
  id: 'chatcmpl-1',
  model: 'gpt-4o-mini-2024',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
}))
const STOP = { model: 'gpt-4o-mini-2024', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
const WITH_USAGE = { model: 'gpt-4o-mini-2024', service_tier: 'flex', choices: [], usage: USAGE }

const CHAT = answer('openai', '/v1/chat/completions', { body: sse(...words, STOP, WITH_USAGE) })
const WITHOUT_USAGE = { ...CHAT, body: sse(...words, STOP) }
const REASONING = { ...CHAT, model: 'o3' }
const RUNNING = answer('vllm', '/v1/chat/completions', {
  body: sse(...words.map((word, n) => ({ ...word, usage: { prompt_tokens: 9, completion_tokens: n } }))),
})
const CLAUDE = answer('anthropic', '/v1/messages', {
  model: 'claude-sonnet-4-5',
  body: Buffer.from(
    [
      [
        'message_start',
        {
          message: { id: 'msg_1', model: 'claude-sonnet-4-5', usage: { input_tokens: 9, output_tokens: 1 } },
        },
      ],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello, world.' } }],
      ['message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 15 } }],
      ['message_stop', {}],
    ]
      .map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...(rest as object) })}\n\n`)
      .join(''),
  ),
})
const WHOLE = answer('openai', '/v1/chat/completions', {
  headers: JSON_TYPE,
  body: Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-2',
      model: 'gpt-4o-mini-2024',
      choices: [{ message: { content: 'The answer is 42.' }, finish_reason: 'stop' }],
      usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 512 } },
    }),
  ),
})
const STORED = answer('openai', '/v1/responses', {
  headers: JSON_TYPE,
  body: Buffer.from(
    JSON.stringify({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'gpt-4o-mini-2024',
      output: [],
      usage: { input_tokens: 5, output_tokens: 7, total_tokens: 99 },
    }),
  ),
})
const QUEUED = {
  ...STORED,
  body: Buffer.from('{"id":"resp_2","object":"response","status":"queued","model":"gpt-5"}'),
}
const REPORTED = answer('openrouter', '/api/v1/chat/completions', {
  headers: JSON_TYPE,
  body: Buffer.from(
    JSON.stringify({ id: 'gen-1', model: 'openai/gpt-4o', choices: [], usage: { ...USAGE, cost: 0.0123 } }),
  ),
})
const JOBS = answer('openai', '/v1/batches', {
  method: 'GET',
  model: null,
  headers: JSON_TYPE,
  body: Buffer.from(
    JSON.stringify({
      object: 'list',
      data: ['batch_1', 'batch_2'].map((id, n) => ({
        id,
        object: 'batch',
        status: 'completed',
        model: 'gpt-4o-mini',
        created_at: 1_699_990_000 + n,
        usage: { input_tokens: 10 + n, output_tokens: 3, total_tokens: 13 + n },
      })),
    }),
  ),
})
const IMPOSSIBLE = {
  ...WHOLE,
  body: Buffer.from('{"model":"m","choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":2}}'),
}
const FAILED = { ...CHAT, body: sse(...words, { error: { message: 'out of order', type: 'server_error' } }) }
const REFUSED = { ...WHOLE, status: 429, body: Buffer.from('{"error":{"message":"slow down"}}') }
const UNKNOWN = answer('openai', '/v1/some/new/thing', { headers: JSON_TYPE, body: WHOLE.body })
const FREE = answer('openai', '/v1/models', {
  method: 'GET',
  model: null,
  headers: JSON_TYPE,
  body: Buffer.from('{"data":[]}'),
})
const EMPTY = { ...WHOLE, method: 'HEAD', status: 204, body: Buffer.alloc(0) }
const LONG = { ...CHAT, body: sse(...Array.from({ length: 900 }, () => words).flat(), STOP, WITH_USAGE) }
const ZIPPED = { ...CHAT, headers: { ...SSE, 'content-encoding': 'gzip' }, body: gzipSync(CHAT.body) }
const BROKEN_ZIP = { ...ZIPPED, body: Buffer.concat([ZIPPED.body.subarray(0, 60), Buffer.alloc(40, 0x55)]) }
const SECRETLY_ZIPPED = { ...CHAT, body: gzipSync(CHAT.body) }
const SPEECH = answer('openai', '/v1/audio/speech', {
  headers: { 'content-type': 'audio/mpeg' },
  body: Buffer.alloc(2000, 7),
})
const THROWING: Answer = {
  ...CHAT,
  dialect: CHAT.dialect && {
    ...CHAT.dialect,
    createReader: () => {
      throw new Error('no reader')
    },
  },
}

const STREAM: Way = { pieceBytes: 61 }
const ONE_PIECE: Way = { pieceBytes: 100_000, announced: true }
const LEFT: Way = { ...STREAM, cut: 'leaves', cutAt: 0.5 }
const BROKEN: Way = { ...STREAM, cut: 'breaks', cutAt: 0.5 }
const timeout = new UpstreamError('headers_timeout', 'too late')

const SCENES: readonly [name: string, Answer, Way][] = [
  ['a stream', CHAT, STREAM],
  ['a stream whose usage event is taken out', CHAT, { ...STREAM, stripUsageEvent: true }],
  ['a stream that breaks while its usage event is looked for', CHAT, { ...BROKEN, stripUsageEvent: true }],
  ['a stream whose length was announced', CHAT, { ...STREAM, announced: true }],
  ['a long stream whose length was announced', LONG, { pieceBytes: 9001, announced: true }],
  ['a stream in one piece', CHAT, { pieceBytes: 100_000 }],
  ['a stream with trailers', CHAT, { ...STREAM, trailers: { 'x-more': 'yes' } }],
  ['a stream that breaks', CHAT, BROKEN],
  ['a stream that breaks behind its usage', CHAT, { ...BROKEN, cutAt: 0.99 }],
  ['a stream whose client leaves', CHAT, LEFT],
  [
    'a stream whose client leaves behind its end, and the rest comes',
    CHAT,
    { ...LEFT, cutAt: 0.8, goesOn: true },
  ],
  ['a stream whose client leaves behind its end, and nothing comes', CHAT, { ...LEFT, cutAt: 0.8 }],
  ['a stream that is drained', CHAT, { ...LEFT, goesOn: true, onClientAbort: 'drain' }],
  ['a stream that is drained and does not end', CHAT, { ...LEFT, onClientAbort: 'drain' }],
  ['a stream without usage', WITHOUT_USAGE, STREAM],
  ['a stream without usage of an unread prompt', { ...WITHOUT_USAGE, requestBody: null }, STREAM],
  ['a stream of a hidden model', REASONING, STREAM],
  ['a stream of a hidden model without usage', { ...WITHOUT_USAGE, model: 'o3' }, STREAM],
  ['a stream of a hidden model whose client leaves', REASONING, LEFT],
  [
    'a stream of a hidden model whose client leaves, and the rest comes',
    REASONING,
    { ...LEFT, goesOn: true },
  ],
  ['running counts', RUNNING, STREAM],
  ['running counts with a pause', RUNNING, { ...BROKEN, pauseMs: 500 }],
  ["Anthropic's stream", CLAUDE, STREAM],
  ["Anthropic's stream, cut", CLAUDE, BROKEN],
  ["Anthropic's stream whose client leaves", CLAUDE, { ...LEFT, cutAt: 0.7 }],
  ['an answer in one piece', WHOLE, ONE_PIECE],
  ['an answer in one piece whose record is refused', WHOLE, { ...ONE_PIECE, closeError: new Error('full') }],
  ['an answer of unknown length', WHOLE, STREAM],
  ['an answer that breaks', WHOLE, { ...BROKEN, announced: true }],
  ['a stored response with an odd total', STORED, ONE_PIECE],
  ['a queued response', QUEUED, ONE_PIECE],
  ['a reported cost', REPORTED, ONE_PIECE],
  ['a page of jobs', JOBS, ONE_PIECE],
  ['impossible counts', IMPOSSIBLE, ONE_PIECE],
  ['an error amid a stream', FAILED, STREAM],
  ['a refusal', REFUSED, ONE_PIECE],
  ['an unknown path', UNKNOWN, ONE_PIECE],
  ['a free path', FREE, ONE_PIECE],
  ['no body', EMPTY, { ...ONE_PIECE, announced: false }],
  ['a coded stream', ZIPPED, STREAM],
  ['a coded stream whose client leaves', ZIPPED, { ...LEFT, cutAt: 0.9 }],
  ['a coded stream that cannot be decoded', BROKEN_ZIP, STREAM],
  ['a stream that does not say that it is coded', SECRETLY_ZIPPED, STREAM],
  ['speech', SPEECH, ONE_PIECE],
  ['speech whose client leaves', SPEECH, LEFT],
  ['a reader that throws', THROWING, STREAM],
  ['a model named on the way', { ...WITHOUT_USAGE, model: null }, { ...STREAM, named: 'gpt-4o' }],
  ['no answer', CHAT, { ...STREAM, error: new Error('connection refused') }],
  ['no answer in time', CHAT, { ...STREAM, error: timeout }],
  ['no answer, and the client left', CHAT, { ...STREAM, error: timeout, cut: 'leaves' }],
  ['no answer of a free path, and the client left', FREE, { ...STREAM, error: timeout, cut: 'leaves' }],
  ['a client that left before', CHAT, { ...LEFT, cutAt: 0 }],
]

test('answers leave the records they always left', async () => {
  const text: string[] = []
  for (const [name, answered, way] of SCENES) {
    const lines = await driveAnswer(answered, way)
    text.push(`# ${name}`, ...lines.map((line) => (line.length > 4000 ? digestOf([line]) : line)), '')
  }
  await expect(text.join('\n')).toMatchFileSnapshot('answers.golden.txt')
})

test('made answers leave the records they always left, in five ways', async () => {
  const lines: string[] = []
  for (const made of madeResponses) {
    const { provider, path, method = 'POST', status = 200, oddity } = made
    const headers = Object.fromEntries(
      Object.entries(made.headers ?? {}).map(([name, value]) => [name, `${value}`]),
    )
    const body = Buffer.from(made.body)
    const played = answer(provider, path, { method, model: null, headers, body, status })
    const request = made.request && played.dialect ? requestFor(made, played.dialect) : {}
    lines.push(await answerLine(`${provider} ${path}: ${oddity}`, { ...played, ...request }))
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('made-answers.golden.txt')
})
