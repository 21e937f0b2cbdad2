import { beforeEach, expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'
import { json } from '../../support/upstream.ts'

let client: TestClient
let clients = 0

const { upstream, stack } = await startOwnStack({ env: { CALL_ALERT_USD: '1000' } })

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`client-${clients}`)
})

function ask(method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${stack.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

function responseOf(id: string, input: number, output: number) {
  return {
    id,
    object: 'response',
    status: 'completed',
    model: 'gpt-4o-mini',
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    output: [],
  }
}

test('calls that make responses under an id of their choice are all counted, fetches of it are not', async () => {
  upstream.answer((request, response) => {
    const wished = request.method === 'POST' ? JSON.parse(request.body.toString()).request_id : 'resp_mine'
    json(response, 200, responseOf(wished, 100, 50))
  })
  const wish = { model: 'gpt-4o-mini', input: 'hi', request_id: 'resp_mine' }
  for (let call = 0; call < 50; call += 1) await (await ask('POST', '/v1/responses', wish)).text()
  await (await ask('GET', '/v1/responses/resp_mine')).text()
  const summary = await stack.usageOf(client, 51)
  expect(summary).toMatchObject({ input_tokens: 5_000, output_tokens: 2_500 })
  // gpt-4o-mini: 0.15 and 0.60 USD per million tokens.
  expect(summary.cost_usd).toBe((50 * (100 * 150 + 50 * 600)) / 1e9)
})

test('an answer without figures has no cost and a reason, and is in the unpriced; what is free costs 0', async () => {
  upstream.answer((request, response) => {
    if (request.url === '/v1/audio/speech') {
      response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(4_000))
    } else if (request.url === '/v1/embeddings') json(response, 500, { error: { message: 'no' } })
    else if (request.url === '/v1/moderations') json(response, 200, { model: 'omni', results: [] })
    else json(response, 200, { object: 'list', data: [] })
  })
  // Its text is nowhere to be counted.
  await (await ask('POST', '/v1/audio/speech', { model: 'tts-1', voice: 'alloy' })).arrayBuffer()
  await (await ask('POST', '/v1/moderations', { input: 'hi' })).text()
  await (await ask('POST', '/v1/embeddings', { model: 'text-embedding-3-small', input: 'hi' })).text()
  await (await ask('GET', '/v1/files')).text()
  await stack.usageOf(client, 4)
  const rows = await stack.calls(client)
  expect(rows.map(({ path, cost_pico, unpriced_reason }) => [path, cost_pico, unpriced_reason])).toEqual([
    ['/v1/audio/speech', null, 'no_figures'],
    ['/v1/moderations', '0', null],
    ['/v1/embeddings', '0', null],
    ['/v1/files', '0', null],
  ])
  const { rows: totals } = await stack.pool.query(
    `select sum(unpriced)::int as unpriced, sum(without_figures)::int as without_figures
     from tallygate.daily_usage where client_id = $1`,
    [client.id],
  )
  expect(totals).toEqual([{ unpriced: 1, without_figures: 1 }])
})

test('on unknown paths what looks like usage is counted, an answer without it is unpriced, and jobs are billed later', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }
  upstream.answer((request, response) => {
    if (request.url === '/v1/ask/anything') json(response, 200, { model: 'gpt-4o-mini', usage })
    else if (request.url === '/v1/batches')
      json(response, 200, { object: 'batch', id: 'batch_1', status: 'validating' })
    else json(response, 200, { id: 'video_1', status: 'queued' })
  })
  await (await ask('POST', '/v1/ask/anything', { model: 'gpt-4o-mini' })).text()
  await (await ask('POST', '/v1/invented', { model: 'sora-9' })).text()
  await (await ask('POST', '/v1/batches', { input_file_id: 'file_1' })).text()
  const summary = await stack.usageOf(client, 3)
  expect(summary).toMatchObject({ input_tokens: 100, output_tokens: 50 })
  const rows = await stack.calls(client)
  expect(
    rows.map(({ path, cost_pico, unpriced_reason, response_id }) => [
      path,
      cost_pico,
      unpriced_reason,
      response_id,
    ]),
  ).toEqual([
    ['/v1/ask/anything', `${100 * 150_000 + 50 * 600_000}`, null, null],
    ['/v1/invented', null, 'no_reader', 'video_1'],
    ['/v1/batches', null, 'billed_later', 'batch_1'],
  ])
})

test('an answer that says it used an absurd amount is booked and flagged', async () => {
  upstream.answer((_request, response) => json(response, 200, responseOf('resp_lie', 2 ** 40, 2 ** 40)))
  await (await ask('POST', '/v1/responses', { model: 'gpt-4o-mini', input: 'hi' })).text()
  const summary = await stack.usageOf(client, 1)
  expect(summary.cost_usd).toBeGreaterThan(800_000)
  expect(await stack.calls(client)).toMatchObject([{ suspect: true, unpriced_reason: null }])
})

test('a prompt too large to be kept is estimated by its length where the upstream says nothing', async () => {
  upstream.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      'data: {"model":"gpt-4o-mini","choices":[{"delta":{"content":"Hello"}}]}\n\ndata: [DONE]\n\n',
    )
  })
  const content = 'x'.repeat(33 * 1024 * 1024)
  const prompt = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content }] }
  await (await ask('POST', '/v1/chat/completions', prompt)).text()
  const summary = await stack.usageOf(client, 1)
  expect(summary.input_tokens).toBeGreaterThan(content.length / 4)
  expect(summary.input_tokens).toBeLessThan(content.length / 4 + 100)
  const [row] = await stack.calls(client)
  expect(row).toMatchObject({ usage_source: 'estimated' })
  expect(Number(row?.cost_pico)).toBeGreaterThan(8e6 * 150_000)
})
