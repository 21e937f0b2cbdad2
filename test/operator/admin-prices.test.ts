import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPriceConfiguration, nameConfiguration } from '../../src/pricing/price-configuration.ts'
import { recordGatewayPrices } from '../../src/pricing/refresh/gateway-prices.ts'
import { findCurrentPriceCatalog } from '../../src/pricing/refresh/price-catalogs.ts'
import { refreshPrices } from '../../src/pricing/refresh/refresh-prices.ts'
import { json } from '../cli/command-line.ts'
import { changedBundle } from '../pricing/refresh/changed-bundle.ts'
import { startPriceServer } from '../pricing/refresh/price-server.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, pricesWhere, startOperator } from './support/operator.ts'

const TODAY = new Date().toISOString().slice(0, 10)
let operator: Operator

beforeAll(async () => {
  operator = await startOperator({ prices: () => pricesWhere(() => true) })
  const env = { DATABASE_URL: operator.database.url, KEY_PEPPER: 'pepper' }
  await json(env, 'client', 'create', 'acme')
  await json(env, 'key', 'create', '--client', 'acme')
  await addDailyUsage(operator.pool, 'acme', TODAY, 'our-model', { requests: 1, unpriced: 1 })
})
afterAll(() => operator.close())

test('what a model costs is what the command line says', async () => {
  const { status, document } = await operator.ask('/admin/v1/prices?model=o3&provider=openai&day=2026-03-04')
  expect(status).toBe(200)
  const env = { DATABASE_URL: operator.database.url }
  const said = await json(env, 'prices', 'show', 'o3', '--provider', 'openai', '--day', '2026-03-04')
  const { prices } = document as { prices: object[] }
  const without = ({ upstream: _, ...price }: { upstream?: unknown }) => price
  expect(prices.map(without)).toEqual((said as { prices: object[] }).prices.map(without))
  expect(document).toMatchObject({
    model: 'o3',
    day: '2026-03-04',
    priced_by: { catalog: expect.any(String) },
  })
})

test('a model without a price has none, and no price is 0', async () => {
  const { status, document } = await operator.ask('/admin/v1/prices?model=our-model')
  expect(status).toBe(200)
  expect(document).toMatchObject({ model: 'our-model', prices: [] })
})

test.each([
  ['', 'model'],
  ['model=', 'model'],
  ['model=a&model=b', 'model'],
  ['model=a&provider=nobody', 'provider'],
  ['model=a&day=2026-02-30', 'day'],
  ['model=a&tier=batch', 'tier'],
])('/prices?%s is a 400 that names %s', async (query, param) => {
  const { status, document } = await operator.ask(`/admin/v1/prices?${query}`)
  expect(status).toBe(400)
  expect(document).toMatchObject({ error: { param } })
})

test('a doubted price waits until it is accepted, once, and then it is in force', async () => {
  const server = await startPriceServer()
  try {
    server.answerText(changedBundle('gpt-4o', { input_mtok: 250, output_mtok: 1_000 }))
    await refreshPrices({ pool: operator.pool, kind: 'genai-prices', url: server.url })
  } finally {
    await server.stop()
  }
  const doubts = '/admin/v1/prices/doubts'
  const { document } = await operator.ask(doubts)
  const waiting = { source: 'genai-prices', provider: 'openai', model: 'gpt-4o', since: expect.any(String) }
  expect(document).toEqual([
    {
      ...waiting,
      why: 'input_mtok from $2.5 to $250',
      offered: [{ prices: { input_mtok: 250, output_mtok: 1_000 } }],
      origin: server.url,
    },
  ])
  const accept = (payload: object) =>
    operator.ask({ method: 'POST', url: `${doubts}/accept`, payload: { ...payload } })
  expect((await accept({ provider: 'openai', model: 'gpt-0' })).status).toBe(404)
  expect((await accept({ provider: 'openai' })).status).toBe(400)
  const accepted = await accept({ provider: 'openai', model: 'gpt-4o' })
  expect(accepted).toMatchObject({ status: 200, document: { accepted: [waiting] } })
  const { in_force_from: from } = accepted.document as { in_force_from: string }
  expect((await operator.ask(doubts)).document).toEqual([])
  expect((await accept({ provider: 'openai', model: 'gpt-4o' })).status).toBe(404)
  const text = (await findCurrentPriceCatalog(operator.pool, 'genai-prices'))?.text
  expect(text).toContain(
    `{"constraint":{"start_date":"${from}"},"prices":{"input_mtok":250,"output_mtok":1000}}`,
  )
})

test('where gateways do not price alike no price is told, and all of them are named', async () => {
  expect((await operator.ask('/admin/v1/unpriced')).document).toMatchObject([{ has_price_now: true }])
  const configuration = buildPriceConfiguration('other@1', { prices: [], markups: [], upstreams: [] })
  await recordGatewayPrices(operator.pool, 'elsewhere:1', {
    configuration,
    upstreams: [],
    catalogText: () => '[]',
  })
  const { status, document } = await operator.ask('/admin/v1/prices?model=gpt-4o')
  expect(status).toBe(409)
  expect(JSON.stringify(document)).toContain(`elsewhere:1 by ${nameConfiguration(configuration)}`)
  expect((await operator.ask('/admin/v1/unpriced')).document).toMatchObject([{ has_price_now: null }])
})
