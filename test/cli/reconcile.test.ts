import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/call/usage.ts'
import type { Environment } from '../../src/config/config.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { json, run } from './command-line.ts'

const TODAY = holdClockAtNoon()
const YESTERDAY = addDays(TODAY, -1)
const DAY_SECONDS = 86_400

let ledger: LedgerDatabase
let env: Environment
/** Stands in for a provider: answers as `answer` says, and remembers what it was asked. */
let provider: Server
let url: string
let answer: (asked: URL, request: IncomingMessage) => { status?: number; headers?: object; body: unknown }
let asked: URL[]

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  provider = createServer((request, response) => {
    const target = new URL(request.url ?? '', 'http://provider')
    asked.push(target)
    const { status = 200, headers = {}, body } = answer(target, request)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  env = { DATABASE_URL: ledger.url, OPENAI_ADMIN_KEY: 'sk-admin-x', ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-x' }
  asked = []
  const producer = newProducer()
  const claude = {
    provider: 'anthropic',
    upstream: 'anthropic',
    model: 'claude-sonnet-4-6',
    costPico: '7500000000',
  }
  const yesterday = { arrivedAtMs: Date.now() - 86_400_000 }
  const records = [
    aRecord({}),
    aRecord({}),
    aRecord(yesterday),
    aRecord({ ...yesterday, upstream: 'second' }),
    aRecord({
      ...claude,
      usage: { ...NO_USAGE, inputTokens: 1_000, cacheReadTokens: 600, outputTokens: 300 },
    }),
  ]
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
})
afterEach(() => {
  asked = []
})
afterAll(async () => {
  provider.close()
  await ledger.drop()
})

const order = (name: string) => ['reconcile', '--provider', name, '--days', '3', '--base-url', url]

/** Pages of one bucket each, as the provider's own paging goes. */
function pageOf(buckets: readonly object[], target: URL): object {
  const index = Number(target.searchParams.get('page')?.replace('page_', '') ?? 0)
  const isLast = index >= buckets.length - 1
  return {
    object: 'page',
    data: buckets.slice(index, index + 1),
    has_more: !isLast,
    next_page: isLast ? null : `page_${index + 1}`,
  }
}

function openAi(target: URL): { body: unknown } {
  const start = Number(target.searchParams.get('start_time'))
  const buckets = (results: readonly (readonly object[])[]) =>
    results.map((ofDay, index) => ({
      object: 'bucket',
      start_time: start + index * DAY_SECONDS,
      end_time: start + (index + 1) * DAY_SECONDS,
      results: ofDay,
    }))
  const completions = (requests: number, model = 'gpt-4o-2024-08-06') => ({
    object: 'organization.usage.completions.result',
    input_tokens: 100 * requests,
    output_tokens: 20 * requests,
    input_cached_tokens: 0,
    num_model_requests: requests,
    model,
    project_id: null,
  })
  const cost = (line_item: string, value: number | string) => ({
    object: 'organization.costs.result',
    amount: { value, currency: 'usd' },
    line_item,
  })
  switch (target.pathname) {
    case '/v1/organization/usage/completions':
      return { body: pageOf(buckets([[], [completions(2)], [completions(3), completions(1, 'o3')]]), target) }
    case '/v1/organization/costs':
      return {
        body: pageOf(
          buckets([
            [],
            [cost('gpt-4o-2024-08-06, input', 0.0005), cost('gpt-4o-2024-08-06, output', '0.0004')],
            [cost('gpt-4o-2024-08-06, output', 1e-7), cost('web search tool calls', 0.01)],
          ]),
          target,
        ),
      }
    default:
      return { body: pageOf(buckets([[], [], []]), target) }
  }
}

test("OpenAI's pages are read to their end, and stand beside our figures day by day and model by model", async () => {
  answer = (target, request) => {
    expect(request.headers.authorization).toBe('Bearer sk-admin-x')
    return openAi(target)
  }
  const { rows, total } = (await json(env, ...order('openai'))) as { rows: object[]; total: object }
  const model = 'gpt-4o-2024-08-06'
  expect(rows).toEqual([
    {
      day: YESTERDAY,
      model,
      theirs: { requests: 2, input_tokens: 200, output_tokens: 40, cost_usd: '0.0009' },
      ours: { requests: 2, input_tokens: 200, output_tokens: 40, cost_usd: '0.0009' },
      difference: { requests: 0, input_tokens: 0, output_tokens: 0, cost_usd: '0' },
    },
    {
      day: TODAY,
      model,
      theirs: { requests: 3, input_tokens: 300, output_tokens: 60, cost_usd: '0.0000001' },
      ours: { requests: 2, input_tokens: 200, output_tokens: 40, cost_usd: '0.0009' },
      difference: { requests: -1, input_tokens: -100, output_tokens: -20, cost_usd: '0.0008999' },
    },
    {
      day: TODAY,
      model: 'o3',
      theirs: { requests: 1, input_tokens: 100, output_tokens: 20, cost_usd: null },
      ours: null,
      difference: { requests: -1, input_tokens: -100, output_tokens: -20, cost_usd: null },
    },
    {
      day: TODAY,
      model: 'web search tool calls',
      theirs: { requests: null, input_tokens: null, output_tokens: null, cost_usd: '0.01' },
      ours: null,
      difference: { requests: null, input_tokens: null, output_tokens: null, cost_usd: '-0.01' },
    },
  ])
  expect(total).toMatchObject({ theirs: { requests: 6, cost_usd: '0.0109001' }, ours: { requests: 4 } })
  expect(asked.filter(({ pathname }) => pathname.endsWith('/completions'))).toHaveLength(3)
  const [first] = asked
  expect(first?.searchParams.get('group_by')).toBe('model')
  expect(first?.searchParams.get('start_time')).toBe(
    `${Date.parse(`${addDays(TODAY, -2)}T00:00:00Z`) / 1000}`,
  )
  expect(first?.searchParams.get('end_time')).toBe(`${Date.parse(`${addDays(TODAY, 1)}T00:00:00Z`) / 1000}`)
})

test('one of several upstreams of a provider can be held against the report alone', async () => {
  answer = openAi
  const { total } = (await json(env, ...order('openai'), '--upstream', 'second')) as { total: object }
  expect(total).toMatchObject({ ours: { requests: 1 } })
})

test("Anthropic's input has cached and written tokens in it, and its amounts are in cents", async () => {
  answer = (target, request) => {
    expect(request.headers['x-api-key']).toBe('sk-ant-admin-x')
    expect(request.headers['anthropic-version']).toBe('2023-06-01')
    const bucket = (day: string, results: readonly object[]) => ({
      starting_at: `${day}T00:00:00Z`,
      ending_at: `${addDays(day, 1)}T00:00:00Z`,
      results,
    })
    const usage = {
      uncached_input_tokens: 300,
      cache_creation: { ephemeral_1h_input_tokens: 40, ephemeral_5m_input_tokens: 60 },
      cache_read_input_tokens: 600,
      output_tokens: 300,
      server_tool_use: { web_search_requests: 0 },
      model: 'claude-sonnet-4-6',
    }
    const cost = (amount: string, model: string | null, description: string) => ({
      currency: 'USD',
      amount,
      model,
      description,
      cost_type: model === null ? 'web_search' : 'tokens',
    })
    if (target.pathname === '/v1/organizations/usage_report/messages') {
      expect(target.searchParams.get('group_by[]')).toBe('model')
      return { body: pageOf([bucket(YESTERDAY, []), bucket(TODAY, [usage])], target) }
    }
    const costs = [
      cost('0.5', 'claude-sonnet-4-6', 'Claude Sonnet 4.6 Usage - Input Tokens'),
      cost('0.25', 'claude-sonnet-4-6', 'Claude Sonnet 4.6 Usage - Output Tokens'),
      cost('1', null, 'Web Search Usage'),
    ]
    return { body: pageOf([bucket(YESTERDAY, []), bucket(TODAY, costs)], target) }
  }
  const { rows } = (await json(env, ...order('anthropic'))) as { rows: object[] }
  expect(rows).toEqual([
    expect.objectContaining({
      model: 'Web Search Usage',
      theirs: expect.objectContaining({ cost_usd: '0.01' }),
    }),
    {
      day: TODAY,
      model: 'claude-sonnet-4-6',
      theirs: { requests: null, input_tokens: 1_000, output_tokens: 300, cost_usd: '0.0075' },
      ours: { requests: 1, input_tokens: 1_000, output_tokens: 300, cost_usd: '0.0075' },
      difference: { requests: null, input_tokens: 0, output_tokens: 0, cost_usd: '0' },
    },
  ])
  const { out } = await run(env, ...order('anthropic'))
  expect(out).toMatch(/claude-sonnet-4-6 +theirs +\? +1000 +300 +0\.0075/)
  expect(out).toMatch(/ +difference +\? +0 +0 +0$/m)
})

test('a provider that is busy is asked again', async () => {
  let refusals = 2
  answer = (target) => {
    refusals -= 1
    return refusals >= 0 ? { status: 429, headers: { 'retry-after': '0' }, body: 'busy' } : openAi(target)
  }
  expect(await json(env, ...order('openai'))).toMatchObject({ total: { theirs: { requests: 6 } } })
})

test.each([
  ['a key that is refused', { status: 401, body: { error: 'no' } }, 'it must be an admin key'],
  ['an answer that is not a report', { body: { data: 'x' } }, 'not the report that is documented'],
  ['an answer that is not JSON', { body: '<html>' }, 'the answer is not JSON'],
  ['a negative count', { body: report({ input_tokens: -1, num_model_requests: 1 }) }, 'not the report'],
  ['a page that leads to nothing', { body: { data: [], has_more: true, next_page: null } }, 'but not where'],
  ['a page that leads to itself', { body: { data: [], has_more: true, next_page: 'p' } }, 'but not where'],
])('%s is reported in one line, without the key', async (_name, answered, message) => {
  answer = () => answered
  const { code, out, err } = await run(env, ...order('openai'))
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain(message)
  expect(err).toMatch(/^tallygate: [^\n]*\n$/)
  expect(err).not.toContain('sk-admin-x')
})

test.each(['\n', '\0'])('a key with %j in it is not shown', async (letter) => {
  const { err } = await run({ ...env, OPENAI_ADMIN_KEY: `sk-admin-x${letter}sk` }, ...order('openai'))
  expect(err).toContain('the admin key has characters that no key has')
  expect(err).not.toContain('sk-admin-x')
  expect(asked).toEqual([])
})

function report(result: object): object {
  return { data: [{ start_time: 0, results: [result] }], has_more: false, next_page: null }
}

test('costs in another currency than US dollars are refused', async () => {
  answer = (target) => ({
    body: pageOf(
      target.pathname.endsWith('/costs')
        ? [
            {
              start_time: 1_788_220_800,
              results: [{ amount: { value: 1, currency: 'eur' }, line_item: 'o3' }],
            },
          ]
        : [{ start_time: 0, results: [] }],
      target,
    ),
  })
  expect((await run(env, ...order('openai'))).err).toContain(
    '/v1/organization/costs: the amount is in EUR, which has no rate to USD',
  )
})

test('without a key, or a provider that has a report, nothing is asked', async () => {
  expect((await run({ DATABASE_URL: ledger.url }, ...order('openai'))).err).toContain(
    'OPENAI_ADMIN_KEY is not set',
  )
  expect((await run(env, 'reconcile', '--provider', 'mistral')).code).toBe(2)
  expect((await run(env, 'reconcile', '--provider', 'openai', '--base-url', 'x')).code).toBe(2)
  expect(asked).toEqual([])
  const away = await run(env, 'reconcile', '--provider', 'openai', '--base-url', 'http://127.0.0.1:1')
  expect(away).toMatchObject({ code: 1, err: expect.stringContaining('cannot be reached') })
})
