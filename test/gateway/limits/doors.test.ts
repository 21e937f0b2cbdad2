import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { ANY_MODEL } from '../../../src/limits/engine/limiter.ts'
import type { Limit } from '../../../src/limits/limit.ts'
import { DOORS, openTwoDoors, type Request, type TwoDoors } from '../admission/two-doors.ts'
import { exchange, type RawResponse } from '../raw-http.ts'
import { limitsOf, MemoryLimiter, SPENT, TOO_MANY } from './memory-limiter.ts'

const CHAT: Request = {
  target: '/gw/v1/chat/completions',
  body: '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}',
}
/** A path that both doors have. */
const EMBED: Request = { body: CHAT.body ?? '' }
const RATES = {
  requests: { limit: 60, remaining: 59, resetMs: 1_000 },
  tokens: { limit: 9_000, remaining: 8_900, resetMs: 6 * 60_000 },
}
const ANSWER = {
  id: 'chatcmpl-1',
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 11,
    completion_tokens: 7,
    total_tokens: 18,
    prompt_tokens_details: { cached_tokens: 4 },
  },
}

let limiter: MemoryLimiter
let doors: TwoDoors

async function open(expected = {}): Promise<void> {
  doors = await openTwoDoors(buildStages(), {}, limitsOf(limiter, expected))
}

beforeEach(() => {
  limiter = new MemoryLimiter()
})

afterEach(async () => {
  await doors.close()
  expect(doors.failures).toEqual([])
  await expect.poll(() => [limiter.reserved, limiter.reservedPico]).toEqual([0, 0n])
})

/** Its headers by lower-case names, in the order in which they came. */
function headersOf({ lines }: RawResponse): readonly (readonly [string, string])[] {
  return lines.slice(1).map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
}

function headerOf(answer: RawResponse, name: string): string | undefined {
  return headersOf(answer).find(([of]) => of === name)?.[1]
}

describe('a call that is admitted', () => {
  test('is asked for with its model, its day and what it may use, and settles with its record', async () => {
    await open()
    doors.upstream.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER))
    })
    expect((await doors.knock('http', CHAT)).status).toBe(200)
    const { client: _client, arrivedAtMs, ...asked } = limiter.admitted[0] ?? ({} as never)
    expect(asked).toEqual({
      ...{ clientId: 'c', keyId: 'good', model: 'gpt-4o' },
      ...{ estimatedPico: 1_000n, estimatedTokens: 100 },
    })
    expect(Math.abs(arrivedAtMs - Date.now())).toBeLessThan(60_000)
    const charge = { model: 'gpt-4o-2024-08-06', costPico: 25n, tokens: 18, cachedTokens: 4 }
    expect(limiter.settled).toEqual([[1, [charge]]])
  })

  test('takes a request and no money where it runs no model', async () => {
    await open({ isPriced: false })
    limiter.unpricedRefused = true
    expect((await doors.knock('http', { target: '/gw/v1/files' })).status).toBe(200)
    expect(limiter.admitted).toMatchObject([{ estimatedPico: 0n, estimatedTokens: 0 }])
    expect(limiter.settled).toEqual([[1, []]])
  })

  test.each([
    ['{"model":"llama","model":"gpt-4o"}', ANY_MODEL],
    ['{"model":"llama","models":["gpt-4o"]}', ANY_MODEL],
    ['{"model":"llama","context_window_fallbacks":[{"llama":["gpt-4o"]}]}', ANY_MODEL],
    ['{"model":"llama,gpt-4o"}', ANY_MODEL],
    ['{"model":"llama/../gpt-4o"}', ANY_MODEL],
    ['{"messages":[]}', ANY_MODEL],
    ['{"model":"llama"}', 'llama'],
    ['{"model":"llama"}', 'llama', '/gw/v1/engines/llama/chat/completions'],
    ['{"fallbacks":["gpt-4o"]}', ANY_MODEL, '/gw/v1/engines/llama/chat/completions'],
    ['{"model":"llama","user_config":{}}', ANY_MODEL, '/gw/v1/engines/llama/chat/completions'],
  ])('may run any model where its body leaves that in doubt: %s', async (body, model, target = '/gw/v1/chat/completions') => {
    await open()
    await doors.knock('http', { ...CHAT, target, body })
    expect(limiter.admitted).toMatchObject([{ model }])
  })

  test("is not asked for where it is one of the gateway's own operations", async () => {
    await open()
    limiter.refusal = TOO_MANY
    expect((await doors.knock('http', { target: '/gw/v1/usage' })).status).toBe(200)
    expect((await doors.knock('http', { target: '/gw/v1/models' })).status).toBe(200)
    expect(doors.refused).toEqual([])
  })

  test('charges nothing for a response that it fetches, which counts only the first time', async () => {
    await open()
    const id = 'resp_ffffffffffffffffffffffffffffffff'
    doors.upstream.answer((_request, response) => {
      const usage = { input_tokens: 5, output_tokens: 6, total_tokens: 11 }
      const body = { id, object: 'response', status: 'completed', model: 'gpt-4o', output: [], usage }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    const asked = { target: '/gw/v1/responses', body: '{"model":"gpt-4o","input":"hi"}' }
    expect((await doors.knock('http', asked)).status).toBe(200)
    expect((await doors.knock('http', { target: `/gw/v1/responses/${id}` })).status).toBe(200)
    expect(limiter.settled.map(([, charges]) => charges.map(({ costPico }) => costPico))).toEqual([[17n], []])
  })

  test('gives back what it holds where its record stands nowhere', async () => {
    await open()
    doors.journal = 'fails'
    expect((await doors.knock('http', CHAT)).status).toBe(503)
    expect(limiter.admitted).toHaveLength(1)
    expect(limiter.settled).toEqual([])
    expect(doors.refused).toEqual(['c metering_unavailable'])
  })
})

describe('a call that is refused', () => {
  test.each(DOORS)('says why and when to come again, and reaches nothing (%s)', async (door) => {
    await open()
    limiter.refusal = TOO_MANY
    limiter.rateFigures = RATES
    const answer = await doors.knock(door, EMBED)
    expect(answer.status).toBe(429)
    expect(JSON.parse(answer.body.toString())).toEqual({
      error: {
        message: 'No request is left in this minute.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    })
    expect(headerOf(answer, 'retry-after')).toBe('13')
    expect(headerOf(answer, 'x-ratelimit-remaining-requests')).toBe('59')
    expect(headerOf(answer, 'x-should-retry')).toBeUndefined()
    expect(doors.reached).toEqual([])
    expect(doors.refused).toEqual(['c requests'])
  })

  test.each(DOORS)('is not to be tried again where a budget is spent (%s)', async (door) => {
    await open()
    limiter.refusal = SPENT
    const answer = await doors.knock(door, EMBED)
    expect(answer.status).toBe(429)
    expect(headerOf(answer, 'x-should-retry')).toBe('false')
    expect(headerOf(answer, 'retry-after')).toBeUndefined()
    expect(JSON.parse(answer.body.toString()).error).toMatchObject({
      message: SPENT.detail.message,
      type: 'rate_limit_error',
      code: 'budget_exceeded',
    })
    expect(doors.refused).toEqual(['c budget'])
  })

  test("is refused in Anthropic's way on Anthropic's paths", async () => {
    await open()
    limiter.refusal = TOO_MANY
    limiter.rateFigures = RATES
    const answer = await doors.knock('http', { ...CHAT, target: '/gw/other/v1/messages' })
    expect(JSON.parse(answer.body.toString())).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: TOO_MANY.detail.message },
    })
    const names = headersOf(answer).flatMap(([name]) => (name.includes('ratelimit') ? [name] : []))
    expect(names).toEqual([
      ...['anthropic-ratelimit-requests-limit', 'anthropic-ratelimit-requests-remaining'],
      ...['anthropic-ratelimit-requests-reset', 'anthropic-ratelimit-tokens-limit'],
      ...['anthropic-ratelimit-tokens-remaining', 'anthropic-ratelimit-tokens-reset'],
    ])
    expect(headerOf(answer, 'anthropic-ratelimit-tokens-reset')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  })

  test.each(DOORS)('is one without a price under a hard budget (%s)', async (door) => {
    await open({ isPriced: false })
    const priceless = { ...CHAT, target: '/gw/v1/some/new/path' }
    expect((await doors.knock(door, priceless)).status).toBe(200)
    limiter.unpricedRefused = true
    const answer = await doors.knock(door, priceless)
    expect(answer.status).toBe(403)
    const { error } = JSON.parse(answer.body.toString())
    expect(error).toMatchObject({ type: 'permission_error', code: 'model_unpriced', param: 'model' })
    expect(limiter.admitted).toHaveLength(1)
    expect(doors.refused).toEqual(['c model_unpriced'])
  })
})

describe('the headers of an answer', () => {
  test("of a client with rates name what is left, in place of the upstream's", async () => {
    await open()
    doors.upstream.answer((_request, response) => {
      response.setHeader('x-ratelimit-limit-requests', '10000')
      response.setHeader('X-RateLimit-Remaining-Requests', '9999')
      response.setHeader('x-ratelimit-reset-requests', '6ms')
      response.setHeader('x-ratelimit-limit-tokens', '7')
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
    })
    const ofUpstream = await doors.knock('http', CHAT)
    limiter.rateFigures = { ...RATES, tokens: null }
    const answer = await doors.knock('http', CHAT)
    const shown = (of: RawResponse) =>
      headersOf(of).flatMap(([name, value]) => (name.includes('ratelimit') ? [`${name} ${value}`] : []))
    expect(shown(ofUpstream)).toEqual([
      ...['x-ratelimit-limit-requests 10000', 'x-ratelimit-remaining-requests 9999'],
      ...['x-ratelimit-reset-requests 6ms', 'x-ratelimit-limit-tokens 7'],
    ])
    expect(shown(answer)).toEqual([
      ...['x-ratelimit-limit-tokens 7', 'x-ratelimit-limit-requests 60'],
      ...['x-ratelimit-remaining-requests 59', 'x-ratelimit-reset-requests 1s'],
    ])
  })

  test('also say it where the upstream gave no answer', async () => {
    await open()
    limiter.rateFigures = RATES
    doors.upstream.answer((_request, response) => void response.destroy())
    const answer = await doors.knock('http', CHAT)
    expect(answer.status).toBe(502)
    expect(headerOf(answer, 'x-ratelimit-reset-tokens')).toBe('6m0s')
  })

  test('of a client without limits are the bytes of the upstream', async () => {
    await open()
    limiter.isLimited = false
    limiter.rateFigures = RATES
    doors.upstream.answer((_request, response) => {
      response.setHeader('X-RateLimit-Limit-Requests', '10000')
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
    })
    const { lines } = await doors.knock('http', CHAT)
    expect(lines).toContain('X-RateLimit-Limit-Requests: 10000')
    expect(lines.filter((line) => /ratelimit/i.test(line))).toHaveLength(1)
    expect(limiter.admitted).toEqual([])
  })
})

describe('a call that has to wait', () => {
  test.each(DOORS)('goes on when it may (%s)', async (door) => {
    await open()
    limiter.hold()
    const answer = doors.knock(door, EMBED)
    await expect.poll(() => limiter.waiting).toBe(1)
    expect(doors.reached).toEqual([])
    limiter.go()
    expect((await answer).status).toBe(200)
    expect(limiter.settled).toHaveLength(1)
  })

  test.each(DOORS)('takes nothing once its client has left (%s)', async (door) => {
    await open()
    limiter.hold()
    await doors.leave(door, EMBED, 0, () => limiter.waiting === 1)
    limiter.go()
    await expect.poll(() => limiter.reserved).toBe(0)
    expect(doors.reached.filter((what) => what !== 'journal')).toEqual([])
    expect(limiter.settled).toEqual([])
  })
})

describe('a session', () => {
  const USAGE = { total_tokens: 30, input_tokens: 10, output_tokens: 20 }
  const done = (number: number) => ({
    type: 'response.done',
    response: { id: `resp_${number}`, status: 'completed', usage: USAGE },
  })

  /** Connects, has the upstream send `messages` and resolves with how the session was closed. */
  async function visit(
    messages: readonly object[],
    closes: boolean,
    target = '/gw/v1/realtime?model=gpt-realtime',
    key = 'good',
  ) {
    const sockets = new WebSocketServer({ noServer: true })
    doors.upstream.server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (upstream) => {
        for (const message of messages) upstream.send(JSON.stringify(message))
        if (closes) upstream.close(1000)
      })
    })
    const client = new WebSocket(`${doors.url.replace('http', 'ws')}${target}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const heard: unknown[] = []
    let answered: Record<string, unknown> = {}
    client.on('upgrade', ({ headers }) => {
      answered = headers
    })
    client.on('message', (bytes) => heard.push(JSON.parse(String(bytes)).type))
    const [code, reason] = await once(client, 'close')
    return { code, reason: String(reason), heard, answered }
  }

  test('has the headers of rates in the answer to its handshake, and reserves what it costs as it goes', async () => {
    await open()
    limiter.rateFigures = RATES
    const { code, answered } = await visit([done(1), done(2)], true)
    expect(code).toBe(1000)
    expect(answered).toMatchObject({ 'x-ratelimit-remaining-tokens': '8900' })
    expect(limiter.progressed).toEqual([50n, 100n])
    await expect.poll(() => limiter.settled).toMatchObject([[1, [{ costPico: 100n, tokens: 60 }]]])
  })

  test('may name its model later, under a budget that refuses models without a price', async () => {
    await open({ isPriced: false })
    limiter.unpricedRefused = true
    const { code, heard } = await visit([done(1)], true, '/gw/v1/responses')
    expect([code, heard]).toEqual([1000, ['response.done']])
  })

  const GOOGLE = '/gw/google/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'

  test.each([
    ['/gw/v1/responses?model=llama', ANY_MODEL],
    ['/gw/v1/responses?deployment=llama', ANY_MODEL],
    [`${GOOGLE}?model=llama`, ANY_MODEL],
    ['/gw/v1/realtime?model=llama', 'llama'],
  ])('counts for the limits of every model, unless its kind names one in the query: %s', async (target, model) => {
    await open()
    await visit([], true, target)
    expect(limiter.admitted).toMatchObject([{ model }])
  })

  const transcribing = (model: string) => ({
    type: 'session.updated',
    session: { type: 'realtime', model: 'gpt-realtime', audio: { input: { transcription: { model } } } },
  })

  test('meets the limits of the model that transcribes its input, once, and those alone', async () => {
    await open()
    await visit([transcribing('whisper-1'), done(1), transcribing('whisper-1')], true)
    expect(limiter.admitted.map(({ model }) => model)).toEqual(['gpt-realtime', 'whisper-1'])
    const holds = limiter.admitted.map(({ isHeld }) => isHeld?.({ id: 'own' } as Limit))
    expect(holds).toEqual([undefined, true])
    await expect
      .poll(() => limiter.settled)
      .toMatchObject([
        [1, [{ costPico: 50n }]],
        [0, []],
      ])
  })

  test('holds on for 64 of these models at most: those that cost nothing leave', async () => {
    await open()
    const models = Array.from({ length: 70 }, (_, at) => transcribing(`transcriber-${at}`))
    await visit([...models, done(1)], true)
    await expect.poll(() => limiter.settled).toHaveLength(71)
    expect(limiter.settled.findIndex(([sequence]) => sequence === 1)).toBe(64)
  })

  test('is closed where that model has a limit that is used up', async () => {
    await open()
    limiter.spentBeside = true
    const { code, reason } = await visit([transcribing('whisper-1')], false)
    expect([code, reason]).toEqual([1008, SPENT.detail.message])
    await expect.poll(() => limiter.settled).toHaveLength(1)
  })

  test.each([
    ['gpt-4o-transcribe', 1000],
    ['gpt-4o-transcribe-2025-03-20', 1000],
    ['whisper-1', 1008],
  ])('of a key with a list may transcribe by models of that: %s', async (model, code) => {
    await open()
    const target = '/gw/v1/realtime?model=gpt-4o'
    const closed = await visit([transcribing(model)], code === 1000, target, 'transcribing')
    expect(closed.code).toBe(code)
    if (code === 1008) expect(closed.reason).toMatch(/^This API key may not use the model 'whisper-1'/)
  })

  test('is closed with the reason when a hard budget is spent, behind what was sent by then', async () => {
    await open()
    limiter.budgetPico = 60n
    const { code, reason, heard } = await visit([done(1), done(2)], false)
    expect([code, reason]).toEqual([1008, SPENT.detail.message])
    expect(heard.slice(0, 2)).toEqual(['response.done', 'response.done'])
    await expect.poll(() => limiter.settled).toMatchObject([[1, [{ costPico: 100n }]]])
  })
})

test('a body that is too large takes nothing, and its refusal is counted', async () => {
  await open()
  const body = JSON.stringify({ model: 'gpt-4o', input: 'x'.repeat(2 * 1024 * 1024) })
  const head = `POST /gw/v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  expect((await exchange(doors.url, head)).status).toBe(413)
  expect(limiter.admitted).toEqual([])
  expect(doors.refused).toEqual(['c body_too_large'])
})
