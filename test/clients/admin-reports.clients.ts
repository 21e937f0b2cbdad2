import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseUsdText, picoToUsdText } from '../../src/domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import { addDailyUsage } from '../operator/support/daily-usage.ts'
import { type Operator, startOperator, TOKEN } from '../operator/support/operator.ts'

const TODAY = utcDayOf(Date.now())
/** More than a page of either. */
const FROM = addDays(TODAY, -40)

let operator: Operator
let openai: OpenAI
let anthropic: Anthropic

beforeAll(async () => {
  operator = await startOperator()
  const { pool } = operator
  for (const client of ['acme', 'other']) await createClient(pool, client)
  for (let day = FROM, index = 1; day <= TODAY; day = addDays(day, 3), index += 1)
    for (const [client, model] of [
      ['acme', 'gpt-4o'],
      ['acme', 'claude'],
      ['other', 'claude'],
    ] as const)
      await addDailyUsage(pool, client, day, model, {
        requests: index,
        input_tokens: index * 1_000,
        cache_read_tokens: index * 300,
        cache_write_tokens: index * 50,
        output_tokens: index * 20,
        cost_pico: `${BigInt(index) * 12_345_678_901n}`,
      })
  const url = await operator.app.listen({ port: 0, host: '127.0.0.1' })
  openai = new OpenAI({ baseURL: `${url}/v1`, adminAPIKey: TOKEN, maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: url, apiKey: TOKEN, maxRetries: 0 })
})
afterAll(() => operator?.close())

interface Page<Bucket> {
  readonly data: readonly Bucket[]
  readonly has_more: boolean
  readonly next_page: string | null
}

/** All pages, as programs go on from one to the next. */
async function allOf<Bucket>(
  ask: (page: string | undefined) => PromiseLike<Page<Bucket>>,
): Promise<Bucket[]> {
  const found: Bucket[] = []
  for (let page: string | undefined, pages = 0; ; pages += 1) {
    const answer = await ask(page)
    found.push(...answer.data)
    if (!answer.has_more || answer.next_page === null) {
      expect(pages).toBeGreaterThan(0)
      return found
    }
    page = answer.next_page
  }
}

interface Sums {
  readonly day: string
  readonly id: string
  readonly requests: string
  readonly input: string
  readonly cached: string
  readonly output: string
  readonly pico: string
}

/** Our own sums by day and one other thing. */
async function sums(by: 'client_id' | 'model'): Promise<Sums[]> {
  const { rows } = await operator.pool.query<Sums>(
    `select day::text, ${by} as id, sum(requests)::text as requests, sum(input_tokens)::text as input,
       sum(cache_read_tokens)::text as cached, sum(output_tokens)::text as output, sum(cost_pico)::text as pico
     from tallygate.daily_usage group by day, ${by} order by day, ${by}`,
  )
  expect(rows.length).toBeGreaterThan(20)
  return rows
}

const start = Date.parse(FROM) / 1_000
const dayOf = (seconds: number) => utcDayOf(seconds * 1_000)
const inOrder = <Row extends { readonly day: string; readonly id: string }>(rows: readonly Row[]) =>
  rows.toSorted((a, b) => (`${a.day} ${a.id}` < `${b.day} ${b.id}` ? -1 : 1))

test('the usage that OpenAI’s library reads is that of daily_usage, by model and by project', async () => {
  const { usage } = openai.admin.organization
  for (const [name, by] of [
    ['model', 'model'],
    ['project_id', 'client_id'],
  ] as const) {
    const buckets = await allOf((page) =>
      usage.completions({ start_time: start, group_by: [name], limit: 31, ...(page ? { page } : {}) }),
    )
    const found = buckets.flatMap(({ start_time: at, results }) =>
      results.flatMap((result) =>
        result.object === 'organization.usage.completions.result'
          ? {
              day: dayOf(at),
              id: `${result[name]}`,
              requests: `${result.num_model_requests}`,
              input: `${result.input_tokens}`,
              cached: `${result.input_cached_tokens}`,
              output: `${result.output_tokens}`,
            }
          : [],
      ),
    )
    expect(inOrder(found)).toEqual(inOrder((await sums(by)).map(({ pico: _pico, ...rest }) => rest)))
  }
})

test('the costs that OpenAI’s library reads are those of daily_usage', async () => {
  const buckets = await allOf((page) =>
    openai.admin.organization.usage.costs({
      start_time: start,
      group_by: ['project_id'],
      limit: 30,
      ...(page ? { page } : {}),
    }),
  )
  const found = buckets.flatMap(({ start_time: at, results }) =>
    results.flatMap((result) =>
      result.object === 'organization.costs.result'
        ? { day: dayOf(at), id: `${result.project_id}`, usd: result.amount?.value }
        : [],
    ),
  )
  const ours = await sums('client_id')
  expect(inOrder(found)).toEqual(
    inOrder(ours.map(({ day, id, pico }) => ({ day, id, usd: Number(picoToUsdText(BigInt(pico))) }))),
  )
})

test('every report on usage that OpenAI’s library knows is answered', async () => {
  const { usage } = openai.admin.organization
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(usage)).filter(
    (name): name is Exclude<keyof typeof usage, '_client'> => name !== 'constructor',
  )
  expect(names).toContain('completions')
  for (const name of names) expect((await usage[name]({ start_time: start })).object, name).toBe('page')
})

test('the projects and the workspaces that both libraries list, page by page, are our clients', async () => {
  const { rows } = await operator.pool.query<{ id: string; name: string }>(
    'select id, name from tallygate.clients order by name',
  )
  const named = ({ id, name }: { readonly id: string; readonly name?: string | null }) => ({ id, name })
  const projects = await Array.fromAsync(openai.admin.organization.projects.list({ limit: 1 }), named)
  const workspaces = await Array.fromAsync(anthropic.beta.organization.workspaces.list({ limit: 1 }), named)
  expect(rows).toHaveLength(2)
  expect([projects, workspaces]).toEqual([rows, rows])
})

interface AnthropicBucket {
  readonly starting_at: string
  readonly results: readonly Readonly<Record<string, unknown>>[]
}

/** The library of Anthropic has no method for these reports, so its own way to undocumented paths is taken. */
const read = (path: string, group: string) =>
  allOf((page) =>
    anthropic.get<Page<AnthropicBucket>>(`/v1/organizations/${path}`, {
      query: { starting_at: `${FROM}T00:00:00Z`, group_by: [group], limit: 31, ...(page ? { page } : {}) },
    }),
  )

test('usage and cost that Anthropic’s library reads are those of daily_usage', async () => {
  const usage = (await read('usage_report/messages', 'model')).flatMap(({ starting_at: at, results }) =>
    results.map((result) => ({
      day: at.slice(0, 10),
      id: `${result.model}`,
      input: `${Number(result.uncached_input_tokens) + Number(result.cache_read_input_tokens) + cacheWrites(result)}`,
      cached: `${result.cache_read_input_tokens}`,
      output: `${result.output_tokens}`,
    })),
  )
  expect(inOrder(usage)).toEqual(
    inOrder((await sums('model')).map(({ pico: _pico, requests: _requests, ...rest }) => rest)),
  )
  const costs = (await read('cost_report', 'workspace_id')).flatMap(({ starting_at: at, results }) =>
    results.map((result) => ({
      day: at.slice(0, 10),
      id: `${result.workspace_id}`,
      // In cents, as decimal text.
      pico: `${parseUsdText(`${result.amount}`) / 100n}`,
    })),
  )
  expect(inOrder(costs)).toEqual(
    inOrder((await sums('client_id')).map(({ day, id, pico }) => ({ day, id, pico }))),
  )
})

function cacheWrites({ cache_creation: written }: Readonly<Record<string, unknown>>): number {
  return Object.values(written as Readonly<Record<string, number>>).reduce((sum, tokens) => sum + tokens, 0)
}
