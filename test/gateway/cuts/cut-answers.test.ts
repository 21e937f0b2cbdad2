import { once } from 'node:events'
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConnectionPool } from '#http-client/connection-pool.ts'
import { estimateTextTokens } from '../../../src/gateway/estimation/estimate-tokens.ts'
import { generatedTextIn } from '../../../src/gateway/estimation/generated-text.ts'
import { Exchange } from '../../../src/gateway/proxy/exchange.ts'
import { openPool } from '../../../src/gateway/routing/upstream-table.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { selectDialect } from '../../../src/providers/registry.ts'
import { readWhole } from '../../providers/recordings/judge.ts'
import { loadRecordings } from '../../providers/recordings/recordings.ts'
import { soon } from '../../support/patience.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { createLooseOptions, type LooseOptions } from '../bodies/loose-options.ts'

const CUTS = 1000
/** Longer than `impatient` waits for usage. */
const SILENT_MS = 60
const REQUEST = Buffer.from('{"messages":[{"role":"user","content":"hi"}]}')

/** Requests whose bytes are not all of their prompts. */
const ORDERS = [
  '"tools":[{"type":"web_search"}]',
  '"tools":[{"name":"a","input_schema":{}},{"type":"code_execution_20250825","name":"b"}]',
  '"tools":[{"google_search":{}}]',
  '"previous_response_id":"resp_1"',
  '"conversation":"conv_1"',
  '"cachedContent":"cachedContents/1"',
  '"prediction":{"type":"content","content":"a"}',
  '"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.test"}}]}]',
  '"input":[{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}]',
  '"prompt":{"id":"pmpt_1"}',
  '"t\\u006fols":[{"type":"function"}]',
].map((member) => Buffer.from(`{"messages":[{"role":"user","content":"hi"}],${member}}`))

/** An answer that reasons, and what its provider says of it. */
interface Answer {
  readonly id: string
  readonly provider: Provider
  readonly path: string
  readonly model: string
  readonly body: Buffer
  readonly outputTokens: number
  readonly dialect: Dialect
  /** Only its usage can be missing from here on. */
  readonly endsAt: number
  /** Its reasoning is not in it. */
  readonly hides: boolean
}

const RECORDED: readonly [id: string, endsWith: RegExp, hides: boolean][] = [
  ['openai-chat-completions-stream-03-reasoning-usage-null-chunks', /"finish_reason":"[a-z_]+"/, true],
  ['openai-responses-stream-05-reasoning-tools', /"type":"response\.completed"/, true],
  ['xai-responses-stream-01-cached-reasoning', /"type":"response\.completed"/, true],
  ['deepseek-chat-completions-stream-04-reasoning-usage-null-chunks', /"finish_reason":"[a-z_]+"/, false],
  ['gemini-streamGenerateContent-stream-07-reasoning-crlf', /"finishReason": ?"[A-Z]+"/, true],
]

const chunk = (fields: object) =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...fields })}\n\n`

/** A chat stream whose model thought 19,900 tokens long before it said four. */
function makeAnswer(model: string, hides: boolean): Answer {
  const words = ['The', ' answer', ' is', ' 42.'].map((content) =>
    chunk({ model, choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
  )
  const usage = { prompt_tokens: 1000, completion_tokens: 20_000, total_tokens: 21_000 }
  const end = chunk({ model, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  const body = Buffer.from(`${words.join('')}${end}${chunk({ model, choices: [], usage })}data: [DONE]\n\n`)
  return answerOf(
    `made for ${model}`,
    'openai',
    '/v1/chat/completions',
    model,
    body,
    /"finish_reason":"stop"/,
    hides,
  )
}

/** What the other formats say of as much: at OpenAI's and Google's nothing of the thoughts is shown, at DeepSeek's all. */
function makeOthers(): readonly Answer[] {
  const words = ['The', ' answer', ' is', ' 42.']
  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
  const usage = {
    input_tokens: 1000,
    output_tokens: 20_000,
    output_tokens_details: { reasoning_tokens: 19_900 },
    total_tokens: 21_000,
  }
  const response = (status: string, model: string, more: object = {}) => ({
    type: `response.${status}`,
    response: { id: 'resp_made', object: 'response', status, model, ...more },
  })
  const responses = (model: string) =>
    [
      response('created', model),
      ...words.map((delta) => ({ type: 'response.output_text.delta', item_id: 'msg_1', delta })),
      { type: 'response.output_text.done', item_id: 'msg_1', text: words.join('') },
      response('completed', model, { usage }),
    ].map(event)
  const google = [
    ...words.map((text) => ({
      candidates: [{ content: { parts: [{ text }] } }],
      modelVersion: 'gemini-2.5-pro',
    })),
    {
      candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 1000,
        candidatesTokenCount: 100,
        thoughtsTokenCount: 19_900,
        totalTokenCount: 21_000,
      },
      modelVersion: 'gemini-2.5-pro',
    },
  ].map((fields) => event(fields).replace('\n\n', '\r\n\r\n'))
  const model = 'deepseek-reasoner'
  const chosen = (delta: object, finish_reason: string | null, more: object = {}) =>
    chunk({ model, choices: [{ index: 0, delta, finish_reason }], usage: null, ...more })
  const deepseek = [
    ...Array.from({ length: 40 }, () => chosen({ reasoning_content: ' and so on' }, null)),
    ...words.map((content) => chosen({ content }, null)),
    chosen({}, 'stop', {
      usage: { prompt_tokens: 1000, completion_tokens: 20_000, total_tokens: 21_000 },
    }),
  ]
  const body = (events: readonly string[]) => Buffer.from(events.join(''))
  const completed = /"type":"response\.completed"/
  const stream = '/v1beta/models/gemini-2.5-pro:streamGenerateContent'
  return [
    answerOf('made responses', 'openai', '/v1/responses', 'o3', body(responses('o3')), completed, true),
    answerOf('made for xAI', 'xai', '/v1/responses', 'grok-4', body(responses('grok-4')), completed, true),
    answerOf(
      'made for Google',
      'gemini',
      stream,
      'gemini-2.5-pro',
      body(google),
      /"finishReason":"STOP"/,
      true,
    ),
    answerOf(
      ...(['made for DeepSeek', 'deepseek', '/chat/completions', model] as const),
      ...([body(deepseek), /"finish_reason":"stop"/, false] as const),
    ),
  ]
}

function answerOf(
  id: string,
  provider: Provider,
  path: string,
  model: string,
  body: Buffer,
  end: RegExp,
  hides: boolean,
): Answer {
  const dialect = selectDialect(provider, 'POST', path)
  const found = end.exec(body.toString('latin1'))
  if (dialect === null || found === null) throw new Error(`${id} has no dialect or no end`)
  const { usage } = readWhole({
    id,
    dialect,
    request: { method: 'POST', path, model, stream: true },
    head: { status: 200, headers: { 'content-type': 'text/event-stream' } },
    body,
  })
  const endsAt = found.index + found[0].length
  return { id, provider, path, model, body, outputTokens: usage.outputTokens ?? 0, dialect, endsAt, hides }
}

function recordedAnswers(): readonly Answer[] {
  const recordings = new Map(loadRecordings().map((recording) => [recording.id, recording]))
  return RECORDED.flatMap(([id, end, hides]) => {
    const recording = recordings.get(id)
    if (recording === undefined) return []
    const { provider, path, meta, body } = recording
    const model = meta.request_model ?? 'gemini-2.5-flash'
    return [answerOf(id, provider, path, model, body, end, hides)]
  })
}

interface Visit {
  readonly answer: Answer
  readonly cut: number
  /** In place of one whose bytes determine its prompt. */
  readonly request?: Buffer
  /** The upstream sends the rest although no client takes it. */
  readonly goesOn: boolean
  /** What it does before that, longer than the gateway waits for usage. */
  readonly pauseMs?: number
  readonly options: LooseOptions
  readonly clientLeft: PromiseWithResolvers<void>
}

const visits = new Map<string, Visit>()
/** Where the upstream goes on there is time for it; where it does not, none is lost. */
const patient: LooseOptions = createLooseOptions()
const impatient: LooseOptions = createLooseOptions({ usageMs: 20 })
const full: LooseOptions = createLooseOptions({ maxPerClient: 0 })
let upstream: Server
let gateway: Server
let pool: ConnectionPool

function listen(answer: (number: string, response: ServerResponse) => void): Promise<Server> {
  const server = createServer((request, response) => answer((request.url ?? '').slice(1), response))
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

beforeAll(async () => {
  upstream = await listen((number, response) => void send(number, response))
  pool = openPool(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, {
    headersTimeoutMs: 300_000,
    idleTimeoutMs: 300_000,
  })
  gateway = await listen(proxy)
})

afterAll(async () => {
  await pool?.destroy()
  for (const server of [gateway, upstream]) {
    server?.closeAllConnections()
    server?.close()
  }
})

async function send(number: string, response: ServerResponse): Promise<void> {
  const visit = visits.get(number)
  if (visit === undefined) throw new RangeError(`no visit ${number}`)
  const { answer, cut, goesOn, pauseMs, clientLeft } = visit
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  response.write(answer.body.subarray(0, cut))
  await clientLeft.promise
  if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  if (goesOn && !response.destroyed) response.end(answer.body.subarray(cut))
  // Nothing more comes, and the connection ends some time later.
  if (!goesOn) setTimeout(() => response.destroy(), SILENT_MS)
}

function proxy(number: string, response: ServerResponse): void {
  const visit = visits.get(number)
  if (visit === undefined) throw new RangeError(`no visit ${number}`)
  const { answer, clientLeft, options } = visit
  const call = new Exchange(options, {
    call: {
      callId: '0190c1d2-0000-7000-8000-000000000000',
      arrivedAtMs: 0,
      clientId: 'client',
      keyId: number,
      upstream: 'u',
      provider: answer.provider,
      method: 'POST',
      path: answer.path,
      requestedModel: answer.model,
      webSocket: false,
    },
    request: { method: 'POST', path: answer.path, model: answer.model, stream: true },
    client: { clientName: 'client' },
    arrivedAt: performance.now(),
    dialect: answer.dialect,
    requestBody: visit.request ?? REQUEST,
    requestBytes: (visit.request ?? REQUEST).length,
    upperUse: null,
    ownsOrigins: false,
    errorShape: () => 'openai',
    hasOurCredential: false,
    response,
    stripUsageEvent: false,
    limits: null,
    rates: null,
    onEnd: () => {},
  })
  response.on('close', () => {
    if (!response.writableFinished) call.clientLeft()
    clientLeft.resolve()
  })
  pool.dispatch({ path: `/${number}`, method: 'POST', headers: ['host', 'upstream'], body: null }, call)
}

/** Reads what is sent before the cut, and hangs up. */
async function visitAndLeave(number: string, cut: number): Promise<void> {
  const { port } = gateway.address() as AddressInfo
  const request = httpRequest({ host: '127.0.0.1', port, path: `/${number}`, method: 'POST', agent: false })
  request.on('error', () => {})
  request.end()
  const [response] = await once(request, 'response')
  response.on('error', () => {})
  let bytes = 0
  response.on('data', (piece: Buffer) => {
    bytes += piece.length
  })
  await soon(() => bytes >= cut)
  request.destroy()
}

test(`${CUTS} cuts of answers that reason: never less than was delivered, exact where the usage comes, none complete`, async () => {
  const random = seededRandom(7)
  const made = [makeAnswer('o3', true), makeAnswer('gpt-4o-mini', false), ...makeOthers()]
  const answers = [...made, ...recordedAnswers()]
  const wrong: object[] = []
  let exact = 0
  let behindTheEnd = 0
  const one = async (index: number): Promise<void> => {
    const answer = answers[index % answers.length]
    if (answer === undefined) throw new RangeError('no answer')
    // One in three behind the end, where the attack is.
    const from = index % 3 === 0 ? answer.endsAt : 0
    const cut = from + Math.floor(random() * (answer.body.length - from))
    const goesOn = random() < 0.7
    const order = random() < 0.4 ? ORDERS[Math.floor(random() * ORDERS.length)] : undefined
    const number = `${index}`
    const options = goesOn ? patient : impatient
    visits.set(number, {
      ...{ answer, cut, goesOn, options, clientLeft: Promise.withResolvers() },
      ...(order === undefined ? {} : { request: order }),
    })
    await visitAndLeave(number, cut)
    await soon(() => options.records.has(number))
    const record = options.records.get(number)
    const { text } = generatedTextIn(answer.body.subarray(0, cut), answer.dialect)
    const delivered = await estimateTextTokens(text, answer.model, answer.dialect)
    const counted = record?.usage.outputTokens ?? 0
    const source = record?.usageSource
    const problem = (what: string) =>
      wrong.push({ what, id: answer.id, cut, endsAt: answer.endsAt, goesOn, source, counted, delivered })
    if (record?.outcome !== 'client_aborted') problem(`outcome ${record?.outcome}`)
    if (source === 'reported') exact += 1
    if (source === 'reported' && counted !== answer.outputTokens) problem('reported and other')
    if (source !== 'reported' && counted < delivered) problem('less than was delivered')
    if (!['reported', 'estimated', 'partial'].includes(`${source}`)) problem('not flagged')
    if (record?.costPico === null || record?.costPico === '0') problem('free')
    const isBehindTheEnd = cut >= answer.endsAt
    if (isBehindTheEnd) behindTheEnd += 1
    if (goesOn && isBehindTheEnd && source !== 'reported') problem('the usage behind the end is not exact')
    const reportsThoughts = answer.provider === 'gemini' && cut > answer.body.indexOf('}\r\n\r\n')
    if (answer.hides && !reportsThoughts && counted === 0) problem('hidden and free')
    if (goesOn && order !== undefined && source !== 'reported') problem('ordered more and not read on')
    if (goesOn && answer.hides && !reportsThoughts && source !== 'reported') problem('hidden and not read on')
  }
  const turns = Array.from({ length: CUTS }, (_, index) => index)
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let index = turns.shift(); index !== undefined; index = turns.shift()) await one(index)
    }),
  )
  expect(wrong).toEqual([])
  expect(patient.records.size + impatient.records.size).toBe(CUTS)
  expect(patient.unattended.count + impatient.unattended.count).toBe(0)
  expect(behindTheEnd).toBeGreaterThan(CUTS / 4)
  expect(exact).toBeGreaterThan(CUTS / 3)
})

test.each([
  ['o3', true],
  ['gpt-4o-mini', false],
])('a client whose calls take all its places: %s is cut only where its bytes tell what it cost', async (model, hides) => {
  const answer = makeAnswer(model, hides)
  const clientLeft = Promise.withResolvers<void>()
  const cut = answer.endsAt - 60
  visits.set(model, { answer, cut, goesOn: hides, options: full, clientLeft })
  await visitAndLeave(model, cut)
  await soon(() => full.records.has(model))
  const record = full.records.get(model)
  const { text } = generatedTextIn(answer.body.subarray(0, cut), answer.dialect)
  const delivered = await estimateTextTokens(text, model, answer.dialect)
  expect(record).toMatchObject({
    outcome: 'client_aborted',
    usageSource: hides ? 'reported' : 'estimated',
    usage: { outputTokens: hides ? answer.outputTokens : delivered },
  })
})

test('a search is read to its end, however long the text takes that comes behind the search', async () => {
  const answer = makeAnswer('gpt-4o-mini', false)
  const request = Buffer.from('{"messages":[],"tools":[{"type":"web_search"}]}')
  const clientLeft = Promise.withResolvers<void>()
  // Behind its end too: what was seen of it says nothing.
  for (const cut of [answer.endsAt - 60, answer.endsAt]) {
    const number = `search ${cut}`.replace(' ', '-')
    visits.set(number, {
      ...{ answer, cut, request, goesOn: true, pauseMs: 3 * SILENT_MS },
      ...{ options: impatient, clientLeft },
    })
    await visitAndLeave(number, cut)
    await soon(() => impatient.records.has(number))
    expect(impatient.records.get(number)).toMatchObject({
      outcome: 'client_aborted',
      usageSource: 'reported',
      usage: { inputTokens: 1000, outputTokens: 20_000 },
    })
  }
})

test('what an upstream broke off that was read on is booked by its time, if that is more than was delivered', async () => {
  const answer = makeAnswer('o3', true)
  const clientLeft = Promise.withResolvers<void>()
  const cut = answer.endsAt - 60
  visits.set('broken', { answer, cut, goesOn: false, options: full, clientLeft })
  const startedAt = performance.now()
  await visitAndLeave('broken', cut)
  await soon(() => full.records.has('broken'))
  const seconds = (performance.now() - startedAt) / 1000
  const record = full.records.get('broken')
  expect(record).toMatchObject({ outcome: 'client_aborted', usageSource: 'estimated' })
  const { text } = generatedTextIn(answer.body.subarray(0, cut), answer.dialect)
  const delivered = await estimateTextTokens(text, 'o3', answer.dialect)
  expect(record?.usage.outputTokens).toBeLessThanOrEqual(Math.max(delivered, Math.ceil(seconds * 200)))
  expect(record?.usage.outputTokens).toBeGreaterThanOrEqual(delivered)
})
