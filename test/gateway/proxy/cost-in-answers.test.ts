import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { IncomingMessage, request } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { asksForComment, CostComment } from '../../../src/gateway/proxy/cost-comment.ts'
import { showsCostTo } from '../../../src/gateway/proxy/headers/cost-headers.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../../support/upstream.ts'

/** Of 11 prompt tokens and 7 generated ones of gpt-4o-mini. */
const SHOWN = {
  'x-tallygate-cost-usd': '0.00000585',
  'x-tallygate-input-tokens': '11',
  'x-tallygate-output-tokens': '7',
}

/** The first bytes of a stream, up to the end of a line. */
const PART =
  'data: {"model":"gpt-4o-mini","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}\n\n'

let folder: string
let file: string
let upstream: TestUpstream
let stack: TestStack
let acme: TestClient
let other: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-costs-'))
  upstream = await startUpstream(async (asked, response) => {
    // Another gateway behind this one says this of its own call.
    response.setHeader('X-Tallygate-Cost-Usd', '9')
    if (asked.body.includes('"long"')) {
      const usage = { prompt_tokens: 11, completion_tokens: 7 }
      const answer = JSON.stringify({ model: 'gpt-4o-mini', usage, choices: [], text: 'x'.repeat(200_000) })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': `${answer.length}` })
      response.end(answer)
      return
    }
    if (asked.body.includes('"part"')) {
      response.writeHead(206, {
        'content-type': 'text/event-stream',
        'content-range': `bytes 0-${PART.length - 1}/9999`,
        'content-length': `${PART.length}`,
      })
      response.end(PART)
      return
    }
    await chatAnswer(asked, response)
  })
  file = join(folder, 'tallygate.yaml')
  await writeFile(file, `cost_in_answers: [acme]\n${upstreams()}`)
  stack = await startStack('', {
    env: { UPSTREAM_URL: '', UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file },
  })
  acme = await stack.addClient('acme')
  other = await stack.addClient('other')
})

const upstreams = () => `upstreams: [{ name: only, url: '${upstream.url}', provider: openai }]\n`

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Answer {
  readonly head: IncomingMessage
  readonly body: string
}

async function ask({ key }: TestClient, body: object, more: object = {}): Promise<Answer> {
  const head = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more }
    const asking = request(`${stack.url}/v1/chat/completions`, { method: 'POST', headers }, resolve)
    asking.on('error', reject)
    asking.end(JSON.stringify({ model: 'gpt-4o-mini', messages: [], ...body }))
  })
  return { head, body: (await buffer(head)).toString() }
}

function shownIn(fields: NodeJS.Dict<string | string[]>): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in SHOWN))
}

test('a whole answer says what it cost in its headers, and none of another gateway', async () => {
  const { head } = await ask(acme, {})
  expect(head.headers).toMatchObject(SHOWN)
  expect(head.trailers).toEqual({})
})

test('a stream says it in its trailers', async () => {
  const { head, body } = await ask(acme, { stream: true, stream_options: { include_usage: true } })
  expect(body).toMatch(/data: \[DONE\]\n\n$/)
  expect(shownIn(head.headers)).toEqual({})
  expect(head.trailers).toEqual(SHOWN)
})

const COMMENT = { 'x-tallygate-cost': 'comment' }

test.each([
  ['that it asked the usage of', { stream_options: { include_usage: true } }],
  ['that the gateway asked the usage of', {}],
])('a stream %s ends with it in a comment where the client asks, and is the same before', async (_what, options) => {
  const plain = await ask(acme, { stream: true, ...options })
  const { head, body } = await ask(acme, { stream: true, ...options }, COMMENT)
  const comment = ': tallygate cost_usd=0.00000585 input_tokens=11 output_tokens=7\n\n'
  expect(body).toBe(plain.body + comment)
  expect(head.trailers).toEqual(SHOWN)
  expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('x-tallygate-cost')
})

test('whole answers and those of other clients have no comment, even if it is asked for', async () => {
  expect(JSON.parse((await ask(acme, {}, COMMENT)).body)).toMatchObject({ object: 'chat.completion' })
  const { body } = await ask(other, { stream: true }, COMMENT)
  expect(body).toMatch(/data: \[DONE\]\n\n$/)
})

test('a part of a stream stays as long as it says, even if a comment is asked for', async () => {
  const { head, body } = await ask(acme, { stream: true, user: 'part' }, COMMENT)
  expect([head.statusCode, head.headers['content-length']]).toEqual([206, `${PART.length}`])
  expect(body).toBe(PART)
})

test('a long answer says it in its trailers, and to others passes with its length', async () => {
  const shown = await ask(acme, { user: 'long' })
  expect(shown.head.headers).not.toHaveProperty('content-length')
  expect(shown.head.trailers).toEqual(SHOWN)
  const plain = await ask(other, { user: 'long' })
  expect(plain.head.headers['content-length']).toBe(`${shown.body.length}`)
  expect(plain.body).toBe(shown.body)
})

test.each([
  ['data: x\n\n', ': tallygate cost_usd=1 input_tokens=2\n\n'],
  ['data: x\r\n\r\n', ': tallygate cost_usd=1 input_tokens=2\n\n'],
  ['data: x\n', ': tallygate cost_usd=1 input_tokens=2\n'],
  ['data: x', null],
  ['', null],
])('a comment behind %j hands over no event that was left without its end', (stream, comment) => {
  for (const size of [1, 2, 100]) {
    const comments = new CostComment()
    for (let at = 0; at < stream.length; at += size) comments.saw(Buffer.from(stream.slice(at, at + size)))
    const usage = { ...NO_USAGE, inputTokens: 2 }
    expect(comments.of({ costPico: '1000000000000', usage })?.toString() ?? null).toBe(comment)
  }
})

test("Google's libraries take data alone, and get no comment", () => {
  const request = Object.assign(new IncomingMessage(new Socket()), { headers: COMMENT })
  expect(asksForComment(request, '/v1beta/models/gemini-3-flash:streamGenerateContent')).toBe(false)
  expect(asksForComment(request, '/v1/chat/completions')).toBe(true)
})

test('another client gets what the upstream sent, byte for byte', async () => {
  for (const body of [{}, { stream: true, stream_options: { include_usage: true } }]) {
    const shown = await ask(acme, body)
    const plain = await ask(other, body)
    expect(plain.body).toBe(shown.body)
    expect(shownIn(plain.head.headers)).toEqual({ 'x-tallygate-cost-usd': '9' })
    expect(plain.head.trailers).toEqual({})
  }
})

test('a reload decides whose answers say it from then on', async () => {
  const shownTo = async (client: TestClient) => shownIn((await ask(client, {})).head.headers)
  const others = { 'x-tallygate-cost-usd': '9' }
  await writeFile(file, `cost_in_answers: [${other.keyId}]\n${upstreams()}`)
  stack.gateway.reload(loadGatewayConfig(stack.env))
  expect([await shownTo(acme), await shownTo(other)]).toEqual([others, SHOWN])
  await writeFile(file, upstreams())
  stack.gateway.reload(loadGatewayConfig(stack.env))
  expect([await shownTo(acme), await shownTo(other)]).toEqual([others, others])
  expect((await ask(acme, { stream: true }, COMMENT)).body).toMatch(/data: \[DONE\]\n\n$/)
})

test('clients are named by their names, and keys by their ids', () => {
  const caller = { clientName: 'acme', keyId: 'key_1' }
  for (const named of [['*'], ['acme'], ['other', 'key_1']]) expect(showsCostTo(named, caller)).toBe(true)
  for (const named of [['other'], ['key_2', 'acm']]) expect(showsCostTo(named, caller)).toBe(false)
})
