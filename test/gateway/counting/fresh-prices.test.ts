// @long: a running gateway waits for two refreshes
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { inForceFrom } from '../../../src/pricing/history/catalog-refresh.ts'
import { judgePrices, putJudged } from '../../../src/pricing/refresh/take-prices.ts'
import { json } from '../../cli/command-line.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'

let upstream: Server
let stack: TestStack
let dataDir: string
let client: TestClient

beforeAll(async () => {
  upstream = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    // The gateway asks for its models too.
    const { model } = JSON.parse(body || '{}')
    const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', model, choices, usage }))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  dataDir = await mkdtemp(join(tmpdir(), 'tallygate-test-fresh-'))
  const { port } = upstream.address() as AddressInfo
  stack = await startStack(`http://127.0.0.1:${port}`, { env: { TALLYGATE_DATA_DIR: dataDir } })
  client = await stack.addClient('acme')
})
afterAll(async () => {
  await stack.stop()
  upstream.closeAllConnections()
  upstream.close()
  await rm(dataDir, { recursive: true, force: true })
})

async function call(model: string): Promise<void> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
}

/** The newest call's cost in dollars; `null`: it has none. */
async function lastCost(calls: number): Promise<number | null> {
  await stack.usageOf(client, calls)
  const cost = (await stack.calls(client)).at(-1)?.cost_pico
  return typeof cost === 'string' ? Number(cost) / 1e12 : null
}

test('a running gateway takes newer prices: a new model at once, a changed price from its day on, the past as it was', async () => {
  const today = utcDayOf(Date.now())
  await call('gpt-99')
  expect(await lastCost(1)).toBeNull()
  await call('gpt-4o')
  expect(await lastCost(2)).toBeCloseTo(0.0075, 12)

  const providers = JSON.parse(bundledText()) as { id: string; models: { id: string; prices: object }[] }[]
  const openai = providers.find(({ id }) => id === 'openai')
  for (const model of openai?.models ?? []) {
    if (model.id === 'gpt-4o') model.prices = { input_mtok: 5, output_mtok: 20 }
  }
  const added = { id: 'gpt-99', match: { equals: 'gpt-99' }, prices: { input_mtok: 7, output_mtok: 8 } }
  openai?.models.push(added)
  const text = JSON.stringify(providers)
  expect(
    await putJudged(
      stack.pool,
      await judgePrices(stack.pool, { kind: 'genai-prices', text, origin: 'test' }, Date.now()),
    ),
  ).toBe(true)

  let calls = 2
  await expect
    .poll(
      async () => {
        await call('gpt-99')
        calls += 1
        return await lastCost(calls)
      },
      { interval: 1_000 },
    )
    .toBeCloseTo(0.011, 12)
  await call('gpt-4o')
  expect(await lastCost(calls + 1)).toBeCloseTo(0.0075, 12)

  // What the gateway says it prices by is recorded with it, so that the command prices alike.
  const said = async () =>
    (
      await stack.pool.query(`select configuration->>'catalog' as catalog from tallygate.gateway_prices
       join tallygate.price_configurations using (hash)`)
    ).rows[0]?.catalog
  await expect.poll(said).toContain('genai-prices@20')
  const env = { DATABASE_URL: stack.env.DATABASE_URL }
  const before = await stack.usage(client)
  await json(env, 'prices', 'reprice', '--model', 'gpt-4o', '--since', today)
  expect((await stack.usage(client)).cost_usd).toBe(before.cost_usd)
  const shown = (await json(
    env,
    'prices',
    'show',
    'gpt-4o',
    '--provider',
    'openai',
    '--day',
    inForceFrom(Date.now()),
  )) as {
    prices: { rates: { input: string } }[]
  }
  expect(shown.prices[0]?.rates.input).toBe('5')
  // The calls that had no price are priced by the new model's.
  await json(env, 'prices', 'reprice', '--model', 'gpt-99', '--since', today)
  expect((await stack.usage(client)).cost_usd).toBeCloseTo(2 * 0.0075 + (calls - 1) * 0.011, 9)
})
