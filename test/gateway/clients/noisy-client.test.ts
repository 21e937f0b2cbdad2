// @long: measures waits
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { chatAnswer, json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let noisy: TestClient
let quiet: TestClient[]

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  noisy = await stack.addClient('noisy')
  quiet = await Promise.all(['ann', 'ben', 'cleo'].map((name) => stack.addClient(name)))
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

async function post(client: TestClient, body: string, path = '/v1/chat/completions'): Promise<number> {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body,
  })
  await answer.arrayBuffer()
  return answer.status
}

const LONG = 'x'.repeat(100_000)
const NAMES = [
  LONG,
  `${LONG}!`,
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff\ud800y',
  '__proto__',
  'constructor',
  'toString',
  '(other)',
  '(unknown)',
  '(none)',
  "'; drop table tallygate.calls; --",
  '\u202e\u0007\u001b[31m',
  '😀'.repeat(100),
  ' ',
  '',
]

/** Makes the client's call number `calls`; milliseconds from its answer until the summary has it. */
async function timeToSummary(client: TestClient, calls: number): Promise<number> {
  expect(await post(client, named('gpt-4o-mini'))).toBe(200)
  const answeredAt = performance.now()
  while ((await stack.usage(client)).requests < calls) await delay(20)
  return performance.now() - answeredAt
}

/** JSON in which lone surrogates stand as they are meant: escaped. */
function named(model: string): string {
  return JSON.stringify({ model, messages: [] })
}

/** Usage in numbers that no call can have. */
const MONSTROUS = [
  '1e30',
  '-1',
  '1.5',
  '9007199254740993',
  '1099511627777',
  '"11"',
  'null',
  'true',
  '[]',
  '{}',
  '-0',
  '1e400',
  '0.1e1',
]

test('every other client is in its summary within 2 s, whatever one client and its upstream send', async () => {
  const answers = new Map<string, string>()
  upstream.answer((request, response) => {
    const answer = answers.get(request.body.toString())
    if (answer === undefined) return chatAnswer(request, response)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(answer)
  })
  const bodies = [
    ...NAMES.map((name) => {
      // The upstream says the name back, as most do.
      answers.set(
        named(name),
        `{"model":${JSON.stringify(name)},"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
      )
      return named(name)
    }),
    ...MONSTROUS.map((count, index) => {
      const body = named(`monstrous-${index}`)
      answers.set(
        body,
        `{"model":"gpt-4o-mini","usage":{"prompt_tokens":${count},"completion_tokens":${count}}}`,
      )
      return body
    }),
    ...Array.from({ length: 1_000 }, (_, index) => {
      const body = named(`made-up-${index}`)
      answers.set(body, `{"model":"made-up-${index}","usage":{"prompt_tokens":1,"completion_tokens":1}}`)
      return body
    }),
  ]
  // On a machine busy with other things two seconds may pass without any noise.
  let withoutNoiseMs = 0
  for (let calls = 1; calls <= 3; calls += 1) {
    for (const client of quiet) {
      withoutNoiseMs = Math.max(withoutNoiseMs, await timeToSummary(client, calls))
    }
  }
  let done = false
  const noise = (async () => {
    const waiting = [...bodies]
    const send = async () => {
      for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) {
        expect(await post(noisy, body)).toBe(200)
      }
    }
    await Promise.all(Array.from({ length: 10 }, send))
    done = true
  })()

  const waits: number[] = []
  await Promise.all(
    quiet.map(async (client) => {
      for (let calls = 4; !done || calls <= 13; calls += 1) waits.push(await timeToSummary(client, calls))
    }),
  )
  await noise
  expect(waits.length).toBeGreaterThanOrEqual(30)
  waits.sort((a, b) => a - b)
  expect(waits[Math.ceil(waits.length * 0.99) - 1]).toBeLessThan(Math.max(2_000, 4 * withoutNoiseMs))

  for (const client of quiet) {
    const summary = await stack.usage(client)
    expect(summary).toMatchObject({
      input_tokens: 11 * summary.requests,
      output_tokens: 7 * summary.requests,
    })
  }
  const total = await stack.usageOf(noisy, bodies.length)
  const figures = Object.values(total).filter((figure) => typeof figure === 'number')
  expect(figures.every((figure) => figure >= 0 && figure < 1e6)).toBe(true)
  expect(await stack.calls(noisy)).toHaveLength(bodies.length)
  const { data = [] } = await stack.usage(noisy, '?group_by=model')
  expect(data.length).toBeLessThanOrEqual(501)
  expect(data.map(({ model }) => model)).toContain('(other)')
  for (const { model } of data) expect(Buffer.byteLength(String(model))).toBeLessThanOrEqual(128)
  const { rows } = await stack.pool.query('select count(*)::int as letters from tallygate.dead_letters')
  expect(rows).toEqual([{ letters: 0 }])
})

test('the process is up, and an answer without usage of a hostile model is still one record', async () => {
  upstream.answer((_request, response) => json(response, 200, { model: '\0\ud800', choices: [] }))
  const before = (await stack.usage(noisy)).requests
  expect(await post(noisy, named('\ud800'))).toBe(200)
  await stack.usageOf(noisy, before + 1)
})
