import type { LightMyRequestResponse } from 'fastify'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { addDays } from '../../src/domain/utc-day.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'
import { registerStream } from '../../src/store/ledger/ledger-database.ts'
import { json, run } from '../cli/command-line.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, pricesWhere, startOperator, TOKEN } from './support/operator.ts'

const TODAY = holdClockAtNoon()

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
  for (const client of ['acme', 'other', 'idle']) {
    await json(environment(), 'client', 'create', client)
    await json(environment(), 'key', 'create', '--client', client, '--name', `key of ${client}`)
  }
  const { pool } = operator
  await addDailyUsage(pool, 'acme', TODAY, 'gpt-4o', {
    requests: 2,
    input_tokens: 1_000,
    output_tokens: 100,
    latency_us_sum: 3_000,
    latency_count: 2,
    cost_pico: '3500000000',
  })
  await addDailyUsage(pool, 'acme', addDays(TODAY, -29), 'gpt-4o', { requests: 1, cost_pico: '1' })
  await addDailyUsage(pool, 'acme', addDays(TODAY, -30), 'gpt-4o', { requests: 1 })
  await addDailyUsage(pool, 'other', TODAY, 'my-model', { requests: 5, output_tokens: 7, unpriced: 5 })
})

afterAll(() => operator.close())

function environment() {
  return {
    DATABASE_URL: operator.database.url,
    KEY_PEPPER: 'pepper',
    REDIS_URL: operator.keys.redisUrl,
    JOURNAL_DIR: '/nowhere/journal',
  }
}

/** The command's fields are fixed; HTTP's have each cost as text, too. */
function withoutTexts(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document, (name, value) => (name === 'cost_usd_text' ? undefined : value)))
}

test.each([
  ['', []],
  ['?days=1', ['--days', '1']],
  ['?client=acme', ['--client', 'acme']],
  ['?client=idle&days=365', ['--client', 'idle', '--days', '365']],
  ['?by=day', ['--by', 'day']],
  ['?by=model&days=31', ['--by', 'model', '--days', '31']],
  ['?by=client,key', ['--by', 'client,key']],
  ['?group_by=model', ['--group-by', 'model']],
  ['?by=client,model,day,key&client=acme', ['--by', 'client,model,day,key', '--client', 'acme']],
])('/usage%s is what the command line says', async (query, args) => {
  const { status, document } = await operator.ask(`/admin/v1/usage${query}`)
  expect(status).toBe(200)
  expect(withoutTexts(document)).toEqual(await json(environment(), 'usage', ...args))
})

test('the operator’s figures are exact', async () => {
  expect((await operator.ask('/admin/v1/usage?client=acme')).document).toEqual({
    client: 'acme',
    period_days: 30,
    requests: 3,
    input_tokens: 1_000,
    output_tokens: 100,
    total_tokens: 1_100,
    avg_latency_ms: 1.5,
    cost_usd: 0.003500000001,
    cost_usd_text: '0.003500000001',
  })
})

test.each([
  ['days=0', 'days'],
  ['days=366', 'days'],
  ['days=-1', 'days'],
  ['days=1.5', 'days'],
  ['days=7d', 'days'],
  ['days=', 'days'],
  ['days=1&days=2', 'days'],
  ['by=hour', 'by'],
  ['by=', 'by'],
  ['by=day,', 'by'],
  ['by=day&by=model', 'by'],
  ['client=acme&client=other', 'client'],
  ['DAYS=7', 'DAYS'],
  ['days[]=7', 'days[]'],
  ['by=day&group_by=day', 'by'],
  ['group_by=hour', 'group_by'],
  ['limit=2', 'limit'],
  ['by=day&limit=0', 'limit'],
  ['by=day&limit=1001', 'limit'],
  ['by=day&limit=02', 'limit'],
  ['by=day&limit=2&limit=2', 'limit'],
  ['by=day&sort=cost', 'sort'],
  ['by=day&limit=2&sort=name', 'sort'],
  ['by=day&limit=2&sort=toString', 'sort'],
  ['by=day&cursor=x', 'cursor'],
  ['by=day&limit=2&cursor=', 'cursor'],
  [`by=day&limit=2&cursor=${cursor(['cost', 'model', '1', 'gpt-4o'])}`, 'cursor'],
  [`by=day&limit=2&cursor=${cursor(['requests', 'day', '1', '2026-01-01'])}`, 'cursor'],
  [`by=day&limit=2&cursor=${cursor(['cost', 'day', '1', '2026-02-31'])}`, 'cursor'],
  [`by=day&limit=2&cursor=${cursor(['cost', 'day', '1.5', '2026-02-01'])}`, 'cursor'],
  [`by=model&limit=2&cursor=${cursor(['cost', 'model', '1', '\0'])}`, 'cursor'],
])('/usage?%s is a 400 that names %s', async (query, param) => {
  const { status, document } = await operator.ask(`/admin/v1/usage?${query}`)
  expect(status).toBe(400)
  expect(document).toMatchObject({ error: { type: 'invalid_request_error', param, code: null } })
})

function cursor(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

async function askAll(query: string): Promise<readonly (readonly unknown[])[]> {
  const pages: unknown[][] = []
  let next: string | undefined = ''
  while (next !== undefined) {
    const answer: LightMyRequestResponse = await operator.app.inject({
      url: `/admin/v1/usage?${query}${next === '' ? '' : `&cursor=${next}`}`,
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    expect(answer.statusCode, answer.body).toBe(200)
    pages.push(answer.json())
    next = answer.headers['x-tallygate-next-cursor']?.toString()
  }
  return pages
}

test.each([
  'cost',
  'requests',
  'input_tokens',
  'output_tokens',
])('the groups of all parts by %s are those of the whole, each once, the largest first', async (sort) => {
  for (const by of ['day', 'client,model', 'model,day', 'client,key']) {
    const [whole = []] = await askAll(`by=${by}`)
    for (const limit of [1, 2, 1000]) {
      const parts = await askAll(`by=${by}&limit=${limit}&sort=${sort}`)
      const groups = parts.flat()
      expect(parts.slice(0, -1).every((part) => part.length === limit)).toBe(true)
      expect(groups).toHaveLength(whole.length)
      expect(groups).toEqual(expect.arrayContaining([...whole]))
      const field = sort === 'cost' ? 'cost_usd' : sort
      const figures = groups.map((group) => Number(Reflect.get(Object(group), field)))
      expect(figures).toEqual(figures.toSorted((a, b) => b - a))
    }
  }
})

test('the command line shows the same part, and says how to go on', async () => {
  const [first, second] = await askAll('by=day&limit=1&days=365')
  const usage = (...args: string[]) => run(environment(), 'usage', '--by', 'day', '--days', '365', ...args)
  const shown = await usage('--limit', '1', '--json')
  expect(JSON.parse(shown.out)).toEqual(withoutTexts(first))
  const next = /--cursor (\S+)/.exec(shown.err)?.[1] ?? ''
  expect(JSON.parse((await usage('--limit', '1', '--json', '--cursor', next)).out)).toEqual(
    withoutTexts(second),
  )
  expect((await usage('--limit', '1', '--cursor', 'x')).code).toBe(2)
  expect((await usage('--cursor', next)).code).toBe(2)
})

test('models without a price are named with what they were used for, as the command line says it', async () => {
  const { document } = await operator.ask('/admin/v1/unpriced')
  expect(document).toEqual([
    {
      model: 'my-model',
      provider: 'openai',
      upstream: 'default',
      service_tier: null,
      method: null,
      path: null,
      reason: null,
      calls: 5,
      input_tokens: 0,
      output_tokens: 7,
      first_day: TODAY,
      last_day: TODAY,
      has_price_now: false,
    },
  ])
  expect(document).toEqual(await json(environment(), 'prices', 'check'))
  expect((await operator.ask('/admin/v1/unpriced?days=0')).status).toBe(400)
  expect((await operator.ask('/admin/v1/unpriced?DAYS=7')).status).toBe(400)
})

test('a model that was given a price since says so', async () => {
  const asked: string[][] = []
  const since = await startOperator({
    pool: operator.pool,
    prices: () => pricesWhere((...names) => asked.push(names.slice(0, 3)) > 0),
  })
  const { document } = await since.ask('/admin/v1/unpriced')
  await since.close()
  expect(document).toMatchObject([{ model: 'my-model', has_price_now: true }])
  expect(asked).toEqual([['openai', 'default', 'my-model']])
})

test('the ledger shows committed offsets, gaps, what could not be counted and what still waits', async () => {
  const { pool, keys } = operator
  const stream = `${keys.prefix}calls`
  const producer = 'ab'.repeat(16)
  await registerStream(pool, stream)
  await pool.query('insert into tallygate.producers (id, stream, mark) values ($1, $2, 41)', [
    producer,
    stream,
  ])
  await pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason) values ($1, 5, 7, 'journal_pruned')`,
    [producer],
  )
  await pool.query(
    `insert into tallygate.dead_letters (producer, sequence, stream, body, message) values ($1, 9, $2, '', 'why')`,
    [producer, stream],
  )
  const redis = new Redis(keys.redisUrl)
  await redis.xadd(stream, '*', 'p', producer)
  redis.disconnect()
  const { status, document } = await operator.ask('/admin/v1/ledger')
  expect(status).toBe(200)
  const { gateway, ...rest } = z.looseObject({ gateway: z.unknown() }).parse(document)
  expect(gateway).toEqual({
    uncommitted_records: 4,
    uncommitted_bytes: 2_048,
    oldest_uncommitted_ms: 13,
    open_calls: 3,
    adopted: 1,
    corrupt: 0,
    writable: true,
  })
  expect(rest).toMatchObject({
    streams: [{ name: stream, waiting: 1 }],
    producers: [{ producer, mark: 41 }],
    gaps: 1,
    missing_records: 3,
    dead_letters: 1,
  })
  const waiting = { name: stream, waiting: 1, oldest_ms: expect.any(Number) }
  expect(await json(environment(), 'ledger', 'status')).toEqual({ ...rest, streams: [waiting] })
  const gaps = await operator.ask('/admin/v1/ledger/gaps')
  expect(gaps.document).toMatchObject([{ producer, from: 5, to: 7, records: 3, reason: 'journal_pruned' }])
  expect(gaps.document).toEqual(await json(environment(), 'ledger', 'gaps'))
})

test('doctor over HTTP looks at the same things as on the command line', async () => {
  const { status, document } = await operator.ask('/admin/v1/doctor')
  expect(status).toBe(200)
  expect(document).toMatchObject({
    ok: expect.any(Boolean),
    node: process.version,
    checks: expect.arrayContaining([
      expect.objectContaining({ name: 'postgres', state: 'ok' }),
      expect.objectContaining({ name: 'keys', state: 'ok', detail: '3 active' }),
      expect.objectContaining({ name: 'prices', state: 'note' }),
    ]),
  })
})

test('with Redis away the ledger is shown without what waits there', async () => {
  const away = await startOperator({ redisUrl: 'redis://127.0.0.1:1' })
  await registerStream(away.pool, 'a stream')
  const { status, document } = await away.ask('/admin/v1/ledger')
  await away.close()
  expect(status).toBe(200)
  expect(document).toMatchObject({ streams: [{ name: 'a stream', waiting: null, oldest_ms: null }] })
})

test('with Postgres away every answer is a 503 and never a number, and the cause is in the log alone', async () => {
  const pool = openPostgres('postgres://user:hidden@127.0.0.1:1/none', {
    max: 1,
    statementTimeoutMs: 1_000,
    applicationName: 'test',
    log: { info() {}, warn() {}, error() {} },
  })
  const away = await startOperator({ pool })
  for (const url of ['clients', 'keys', 'usage', 'usage?client=acme', 'unpriced', 'ledger', 'ledger/gaps']) {
    const { status, document } = await away.ask(`/admin/v1/${url}`)
    expect(status).toBe(503)
    expect(document).toEqual({
      error: expect.objectContaining({
        type: 'service_unavailable',
        code: 'storage_unavailable',
        param: null,
      }),
    })
    expect(JSON.stringify(document)).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/)
  }
  const doctor = await away.ask('/admin/v1/doctor')
  expect(away.log()).toContain('ECONNREFUSED')
  await away.close()
  await pool.end()
  expect(doctor).toMatchObject({ status: 200, document: { ok: false } })
})
