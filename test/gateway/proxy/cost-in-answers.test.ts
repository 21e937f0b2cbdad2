import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../../support/upstream.ts'

/** Of 11 prompt tokens and 7 generated ones of gpt-4o-mini. */
const SHOWN = {
  'x-tallygate-cost-usd': '0.00000585',
  'x-tallygate-input-tokens': '11',
  'x-tallygate-output-tokens': '7',
}

let folder: string
let upstream: TestUpstream
let stack: TestStack
let acme: TestClient
let other: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-costs-'))
  upstream = await startUpstream(async (asked, response) => {
    // Another gateway behind this one says this of its own call.
    response.setHeader('X-Tallygate-Cost-Usd', '9')
    await chatAnswer(asked, response)
  })
  const file = join(folder, 'tallygate.yaml')
  const upstreams = `upstreams: [{ name: only, url: '${upstream.url}', provider: openai }]`
  await writeFile(file, `cost_in_answers: [acme]\n${upstreams}\n`)
  stack = await startStack('', {
    env: { UPSTREAM_URL: '', UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file },
  })
  acme = await stack.addClient('acme')
  other = await stack.addClient('other')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Answer {
  readonly head: IncomingMessage
  readonly body: string
}

async function ask({ key }: TestClient, body: object): Promise<Answer> {
  const head = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
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

test('another client gets what the upstream sent, byte for byte', async () => {
  for (const body of [{}, { stream: true, stream_options: { include_usage: true } }]) {
    const shown = await ask(acme, body)
    const plain = await ask(other, body)
    expect(plain.body).toBe(shown.body)
    expect(shownIn(plain.head.headers)).toEqual({ 'x-tallygate-cost-usd': '9' })
    expect(plain.head.trailers).toEqual({})
  }
})
