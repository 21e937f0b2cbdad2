import { once } from 'node:events'
import { beforeEach, expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'
import { json } from '../../support/upstream.ts'
import { dial, requestText } from '../raw-http.ts'

let client: TestClient
let clients = 0

const { upstream, stack } = await startOwnStack()

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`doubted ${clients}`)
})

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  return (await stack.calls(client))[0]
}

async function ask(path: string, body: object): Promise<void> {
  const answer = await fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
}

const NOTHING = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** What a stream of `count` words costs whose client leaves before its end. */
async function costOfLeft(fields: object): Promise<number> {
  clients += 1
  client = await stack.addClient(`doubted ${clients}`)
  const left = Promise.withResolvers<void>()
  upstream.answer(async (_request, response) => {
    const begun = {
      id: 'resp_1',
      object: 'response',
      model: 'gpt-4.1',
      status: 'in_progress',
      service_tier: 'auto',
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ type: 'response.created', response: begun })}\n\n`)
    for (let word = 0; word < 100; word += 1) {
      response.write(`data: ${JSON.stringify({ type: 'response.output_text.delta', delta: ' wave' })}\n\n`)
    }
    await left.promise
    response.destroy()
  })
  const body = JSON.stringify({ model: 'gpt-4.1', input: 'Write.', stream: true, ...fields })
  const headers = [`Authorization: Bearer ${client.key}`, `Content-Length: ${body.length}`]
  const socket = dial(stack.url)
  socket.write(requestText('/v1/responses', headers, 'POST', body))
  let heard = ''
  while (heard.split('wave').length < 101) heard += String((await once(socket, 'data'))[0])
  socket.destroy()
  const row = await record()
  left.resolve()
  expect(row).toMatchObject({ outcome: 'client_aborted', usage_source: 'estimated', unpriced_reason: null })
  return Number(row?.cost_pico)
}

test('a stream that is left before it says its tier is at the dearer one that was asked for', async () => {
  const usual = await costOfLeft({})
  expect(await costOfLeft({ service_tier: 'priority' })).toBe(1.75 * usual)
  expect(await costOfLeft({ service_tier: 'flex' })).toBe(usual)
  expect(await costOfLeft({ service_tier: 'made-up' })).toBe(usual)
})

test.each([
  ['once it is known in Postgres', '1', 2],
  ['at once when it is named', '2', 1],
  ['before its batch is known in Postgres', '3', 0],
])('a file is read before its client deletes it %s, where a batch that left it says nothing of what it used', async (_when, number, known) => {
  const file = `file-left000${number}`
  const id = `batch_left000${number}`
  const batch = {
    id,
    object: 'batch',
    status: 'completed',
    output_file_id: file,
  }
  const line = {
    response: { status_code: 200, body: { model: 'gpt-4.1', usage: { ...NOTHING, prompt_tokens: 1_000 } } },
  }
  upstream.answer((request, response) => {
    if (request.url.endsWith('/content')) response.end(`${JSON.stringify(line)}\n`)
    else if (request.method === 'POST') json(response, 200, { ...batch, status: 'validating' })
    else json(response, 200, request.method === 'GET' ? batch : { id: file, deleted: true })
  })
  await ask('/v1/batches', { input_file_id: 'file-in000001' })
  const send = (method: string, path: string) =>
    fetch(`${stack.url}${path}`, { method, headers: { authorization: `Bearer ${client.key}` } })
  if (known > 0) await stack.usageOf(client, 1)
  await (await send('GET', `/v1/batches/${id}`)).arrayBuffer()
  if (known > 1) expect((await stack.usageOf(client, 2)).cost_usd).toBe(0)
  upstream.requests.length = 0
  expect((await send('DELETE', `/v1/files/${file}`)).status).toBe(200)
  const asked = upstream.requests.map(({ method, url }) => `${method} ${url}`)
  expect(asked.slice(-2)).toEqual([`GET /v1/files/${file}/content`, `DELETE /v1/files/${file}`])
  // 1,000 tokens at half of $2 a million.
  expect((await stack.usageOf(client, 3)).cost_usd).toBe(0.001)
})
