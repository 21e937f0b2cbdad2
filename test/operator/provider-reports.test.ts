import { afterAll, beforeAll, expect, test } from 'vitest'
import { fetchAnthropicReport } from '../../src/corrections/reconcile/anthropic.ts'
import { fetchOpenAiReport } from '../../src/corrections/reconcile/openai.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

const TODAY = holdClockAtNoon()
const FROM = addDays(TODAY, -40)

let operator: Operator
let url: string

beforeAll(async () => {
  operator = await startOperator()
  const { pool } = operator
  for (const client of ['acme', 'other']) await createClient(pool, client)
  const tokens = {
    requests: 3,
    input_tokens: 1_000,
    cache_read_tokens: 300,
    cache_write_tokens: 50,
    output_tokens: 20,
  }
  await addDailyUsage(pool, 'acme', FROM, 'gpt-4o', { ...tokens, cost_pico: '12500000001' })
  await addDailyUsage(pool, 'other', FROM, 'claude', { ...tokens, cost_pico: '1' })
  await addDailyUsage(pool, 'acme', TODAY, 'claude', { requests: 1, output_tokens: 7, cost_pico: '5' })
  url = await operator.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => operator.close())

const ours = [
  { day: FROM, model: 'gpt-4o', inputTokens: 1_000n, outputTokens: 20n },
  { day: FROM, model: 'claude', inputTokens: 1_000n, outputTokens: 20n },
  { day: TODAY, model: 'claude', inputTokens: 0n, outputTokens: 7n },
]
const costs = [
  { day: FROM, model: 'gpt-4o', costPico: 12_500_000_001n },
  { day: FROM, model: 'claude', costPico: 1n },
  { day: TODAY, model: 'claude', costPico: 5n },
]

test('what reads OpenAI’s reports reads ours, over several pages: tokens, requests and costs are those of daily_usage', async () => {
  const found = await fetchOpenAiReport(url, TOKEN, FROM, TODAY)
  const usage = found.filter(({ costPico }) => costPico === null)
  expect(usage).toHaveLength(3)
  for (const [index, row] of ours.entries())
    expect(usage).toContainEqual(expect.objectContaining({ ...row, requests: [3n, 3n, 1n][index] }))
  for (const row of costs) expect(found).toContainEqual(expect.objectContaining(row))
})

test('what reads Anthropic’s reports reads ours, with the token in their header', async () => {
  const found = await fetchAnthropicReport(url, TOKEN, FROM, TODAY)
  for (const row of [...ours, ...costs]) expect(found).toContainEqual(expect.objectContaining(row))
  expect(found).toHaveLength(6)
})

const ask = async (path: string, token = TOKEN) => {
  const { statusCode, body } = await operator.app.inject({
    url: path,
    headers: { authorization: `Bearer ${token}` },
  })
  return { status: statusCode, document: JSON.parse(body) }
}
const start = Date.parse(FROM) / 1_000

test('reports can be of one project, by project, and of another endpoint have no results', async () => {
  const { rows } = await operator.pool.query(`select id from tallygate.clients where name = 'acme'`)
  const acme = rows[0].id
  const one = await ask(`/v1/organization/usage/completions?start_time=${start}&limit=1&project_ids=${acme}`)
  expect(one.document).toMatchObject({
    object: 'page',
    has_more: true,
    next_page: addDays(FROM, 1),
    data: [{ object: 'bucket', results: [{ num_model_requests: 3, input_cached_tokens: 300, model: null }] }],
  })
  const both = await ask(`/v1/organization/costs?start_time=${start}&limit=1&group_by[]=project_id`)
  expect(both.document.data[0].results).toHaveLength(2)
  const twice = await ask(`/v1/organization/costs?start_time=${start}&limit=1&group_by=project_id,project_id`)
  expect(twice.document).toEqual(both.document)
  const images = await ask(`/v1/organization/usage/images?start_time=${start}`)
  expect(images.document.data.flatMap(({ results }: { results: object[] }) => results)).toEqual([])
})

test.each([
  ['/v1/organization/projects', 'after', { object: 'organization.project', status: 'active' }],
  ['/v1/organizations/workspaces', 'after_id', { type: 'workspace', archived_at: null }],
])('%s names the ids of clients in reports, page by page', async (path, after, form) => {
  const { rows } = await operator.pool.query('select id, name from tallygate.clients order by name')
  const found = []
  for (let behind: string | null = ''; behind !== null; ) {
    const { document } = await ask(`${path}?limit=1${behind}`)
    found.push(...document.data)
    behind = document.has_more ? `&${after}=${document.last_id}` : null
  }
  expect(rows).toHaveLength(2)
  expect(found).toEqual(rows.map((row) => expect.objectContaining({ ...row, ...form })))
})

test.each([
  ['/v1/organization/usage/completions', 'start_time'],
  [`/v1/organization/usage/completions?start_time=${start}&bucket_width=1h`, 'bucket_width'],
  [`/v1/organization/usage/completions?start_time=${start}&group_by=user_id`, 'group_by'],
  [`/v1/organization/usage/completions?start_time=${start}&user_ids=u`, 'user_ids'],
  [`/v1/organization/costs?start_time=${start}&limit=181`, 'limit'],
  [`/v1/organization/costs?start_time=${start}&page=x`, 'page'],
  [`/v1/organization/costs?start_time=${start}&page=9999-12-31`, 'page'],
  ['/v1/organization/costs?start_time=999999999998&end_time=999999999999', 'start_time'],
  ['/v1/organizations/cost_report?starting_at=yesterday', 'starting_at'],
  ['/v1/organizations/cost_report?starting_at=0000-01-01', 'starting_at'],
  [`/v1/organizations/usage_report/messages?starting_at=${FROM}&ending_at=${addDays(FROM, -1)}`, 'ending_at'],
  ['/v1/organization/projects?after=cli_none', 'after'],
  ['/v1/organization/projects?limit=101', 'limit'],
  ['/v1/organizations/workspaces?before_id=cli_none', 'before_id'],
])('%s is refused by name', async (path, param) => {
  expect(await ask(path)).toMatchObject({ status: 400, document: { error: { param } } })
})

test('another token gets nothing of it', async () => {
  expect((await ask(`/v1/organization/costs?start_time=${start}`, 'wrong')).status).toBe(401)
})

test('an invoice is taken over HTTP, held against totals, and named where it cannot be read', async () => {
  const invoice = (usd: string) =>
    operator.ask({
      method: 'POST',
      url: '/admin/v1/invoices',
      payload: {
        text: [
          'BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ProviderName,x_Model',
          `${usd},USD,Usage,${FROM}T00:00:00Z,OpenAI,gpt-4o`,
          `0.000000000001,USD,Usage,${FROM}T00:00:00Z,OpenAI,claude`,
          `0.19,USD,Tax,${FROM}T00:00:00Z,OpenAI,VAT`,
        ].join('\n'),
        as_charges: true,
      },
    })
  expect(await invoice('much')).toMatchObject({
    status: 400,
    document: {
      error: { param: 'text', message: 'text cannot be read: line 2: "much" is not an amount.' },
    },
  })
  expect(await invoice('0.012500000001')).toMatchObject({
    status: 200,
    document: { format: 'focus', providers: ['openai'], rows_read: 3, charges_set: 1, from: FROM },
  })
  const month = FROM.slice(0, 7)
  expect(await operator.ask(`/admin/v1/reconcile?provider=openai&month=${month}`)).toMatchObject({
    status: 200,
    document: { from: FROM, to: FROM, invoice: { difference_usd: '0', differences: [] } },
  })
  expect((await operator.ask('/admin/v1/reconcile?provider=google&month=2020-01')).status).toBe(404)
  expect((await operator.ask('/admin/v1/reconcile?provider=google')).status).toBe(400)
  const { document } = await operator.ask('/admin/v1/invoices')
  const [{ id }] = document as readonly [{ readonly id: string }]
  const removed = { method: 'DELETE', url: `/admin/v1/invoices/${id}` } as const
  expect((await operator.ask(removed)).status).toBe(200)
  expect((await operator.ask(removed)).status).toBe(404)
})
