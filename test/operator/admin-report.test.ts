import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDays } from '../../src/domain/utc-day.ts'
import { findClient } from '../../src/keys/clients.ts'
import { NO_PROGRESS } from '../../src/operations/ports.ts'
import { answerError } from '../../src/operator/admin-answers.ts'
import { serveOperations } from '../../src/operator/serve-operations.ts'
import { ownReport } from '../../src/usage/operations/report.ts'
import { json, run } from '../cli/command-line.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

const TODAY = holdClockAtNoon()

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
  for (const client of ['acme', 'other']) {
    await json(environment(), 'client', 'create', client)
    await json(environment(), 'key', 'create', '--client', client, '--name', `key of ${client}`)
  }
  const { pool } = operator
  const priced = { requests: 2, errors: 1, input_tokens: 1_000, output_tokens: 100 }
  await addDailyUsage(pool, 'acme', TODAY, 'gpt-4o', { ...priced, cost_pico: '3500000001' })
  await addDailyUsage(pool, 'acme', addDays(TODAY, -1), 'gpt-4o', { requests: 1, cost_pico: '500000000' })
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

test('one answer says who spent what, beside the day before, by day, with money as exact text', async () => {
  const { status, document } = await operator.ask(
    '/admin/v1/report?period=today&compare=previous&interval=day&group_by=client&sort=change',
  )
  expect(status).toBe(200)
  expect(document).toMatchObject({
    period: { from: TODAY, to: TODAY },
    before: { from: addDays(TODAY, -1), to: addDays(TODAY, -1) },
    totals: {
      requests: 7,
      errors: 1,
      total_tokens: 1_107,
      unpriced: 5,
      refused: 0,
      p95_ms: null,
      cost_usd: 0.003500000001,
      cost_usd_text: '0.003500000001',
      before: { requests: 1, cost_usd_text: '0.0005', change_usd_text: '0.003000000001' },
    },
    rows: [
      { client: 'acme', requests: 2, errors: 1, share: 1, before: { change_usd_text: '0.003000000001' } },
      { client: 'other', requests: 5, share: 0, cost_usd_text: '0', before: { change_usd_text: '0' } },
    ],
    series: {
      starts: [TODAY],
      groups: [
        { client: 'acme', requests: [2], cost_usd_text: ['0.003500000001'] },
        { client: 'other', requests: [5] },
      ],
      other: { requests: [0], cost_usd_text: ['0'] },
    },
  })
})

test('the command line shows the same report, and a table of it', async () => {
  const query = '?period=7d&group_by=client,model&client=acme&compare=previous'
  const args = [
    'report',
    '--period',
    '7d',
    '--by',
    'client,model',
    '--client',
    'acme',
    '--compare',
    'previous',
  ]
  expect(await json(environment(), ...args)).toEqual(
    (await operator.ask(`/admin/v1/report${query}`)).document,
  )
  const { out: stdout } = await run(environment(), ...args)
  expect(stdout).toMatch(/^acme +gpt-4o +3 +1 +0 +1100 +0 +0\.004000000001 +0\.004000000001$/m)
})

test.each([
  ['period=week', 'period'],
  ['period=2999-01', 'period'],
  ['period=today&from=2026-01-01', 'period'],
  ['to=2026-01-01', 'to'],
  ['from=2026-02-01&to=2026-01-01', 'to'],
  ['from=2020-01-01&to=2026-01-01', 'from'],
  ['from=2999-01-01', 'from'],
  ['from=2026-02-30', 'from'],
  ['group_by=day', 'group_by'],
  ['group_by=client,key,model', 'group_by'],
  ['sort=change', 'sort'],
  ['sort=refused&group_by=upstream', 'sort'],
  ['sort=p95&group_by=key', 'sort'],
  ['limit=0', 'limit'],
  ['limit=1001', 'limit'],
  ['top=51', 'top'],
  ['cursor=x&group_by=client', 'cursor'],
  ['compare=next', 'compare'],
  ['days=30', 'days'],
  ['q=%00', 'q'],
])('?%s is refused by name', async (query, param) => {
  expect(await operator.ask(`/admin/v1/report?${query}`)).toMatchObject({
    status: 400,
    document: { error: { param } },
  })
})

test('an unknown client is 404, and at most 100 rows come unless more are asked for', async () => {
  expect((await operator.ask('/admin/v1/report?client=nobody')).status).toBe(404)
  const api = (await operator.ask('/openapi.json')).document as {
    paths: Record<string, { get: { parameters: { name: string; schema: object }[] } }>
  }
  const limit = api.paths['/admin/v1/report']?.get.parameters.find(({ name }) => name === 'limit')
  expect(limit?.schema).toMatchObject({ default: 100, maximum: 1_000 })
})

const get = (url: string, headers: Record<string, string> = {}) =>
  operator.app.inject({ url, headers: { authorization: `Bearer ${TOKEN}`, ...headers } })

test.each([
  'from=9999-12-01&to=9999-12-31',
  'from=0001-01-01&to=0001-01-31',
  'from=0000-01-01',
])('days that no reckoning goes on from are refused, and hold up nothing: %s', async (days) => {
  const { status, document } = await operator.ask(`/admin/v1/report?${days}&compare=previous&interval=month`)
  expect(status).toBe(400)
  expect(document).toMatchObject({ error: { param: 'from' } })
})

test('an answer that is held is 304 without a body, until something is counted', async () => {
  const url = '/admin/v1/report?period=month&group_by=model'
  const { etag = '' } = (await get(url)).headers
  const held = { 'if-none-match': `"another", ${etag}` }
  const again = await get(url, held)
  expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
  expect((await get(`${url}&limit=5`, held)).statusCode).toBe(200)
  await operator.pool.query(
    `insert into tallygate.producers (id, stream, mark) values (repeat('a', 32), 'test', 1)`,
  )
  const changed = await get(url, held)
  expect([changed.statusCode, changed.headers.etag === etag]).toEqual([200, false])
})

test('answers are compressed for those who take it, and are the same', async () => {
  const url = '/openapi.json'
  const plain = await get(url)
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding' })
  for (const [accepted, coding, undo] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
  ] as const) {
    const { headers, rawPayload } = await get(url, { 'accept-encoding': accepted })
    expect(headers['content-encoding']).toBe(coding)
    expect(Number(headers['content-length'])).toBe(rawPayload.length)
    expect(undo(rawPayload).toString()).toBe(plain.body)
  }
  expect((await get(url, { 'accept-encoding': 'identity, gzip;q=0' })).headers).not.toHaveProperty(
    'content-encoding',
  )
  expect((await get('/healthz', { 'accept-encoding': 'br' })).headers).not.toHaveProperty('content-encoding')
})

test('a client asks of itself alone: no parameter shows it another, or an upstream', async () => {
  const { pool } = operator
  const found = await findClient(pool, 'acme')
  const app = Fastify()
  app.setErrorHandler((error, _request, reply) => answerError(error as Error, reply))
  serveOperations(app, [ownReport], {
    actorOf: () => ({ name: 'acme', from: 'here', who: 'acme' }),
    ports: () => ({
      pool,
      read: (work) => work(pool),
      now: Date.now,
      holds: () => false,
      progress: () => NO_PROGRESS,
      remark() {},
      client: {
        id: found?.id ?? '',
        name: 'acme',
        key: null,
        models: null,
        member: null,
        tokenEndsAt: new Date(0),
      },
    }),
    announce() {},
    openLong: () => pool,
    replicaLagMs: () => null,
  })
  const ask = async (query: string) => {
    const { statusCode, body } = await app.inject(`/report${query}`)
    return { status: statusCode, document: JSON.parse(body) }
  }
  const shown = await ask('?group_by=key,model')
  expect(shown).toMatchObject({
    status: 200,
    document: { totals: { requests: 3 }, rows: [{ key: 'key of acme', model: 'gpt-4o' }] },
  })
  // It is of all calls, those of others too.
  expect(shown.document).not.toHaveProperty('as_of')
  for (const [query, param] of [
    ['?client=other', 'client'],
    ['?client=acme', 'client'],
    ['?upstream=default', 'upstream'],
    ['?group=acme', 'group'],
    ['?costs=true', 'costs'],
    ['?group_by=client', 'group_by'],
    ['?group_by=group', 'group_by'],
    ['?group_by=model,upstream', 'group_by'],
  ])
    expect(await ask(query ?? '')).toMatchObject({ status: 400, document: { error: { param } } })
  const { rows } =
    await pool.query(`select k.id from tallygate.keys k join tallygate.clients c on c.id = k.client_id
    where c.name = 'other'`)
  expect((await ask(`?key=${rows[0].id}`)).document.totals).toMatchObject({ requests: 0, cost_usd_text: '0' })
  await app.close()
})
