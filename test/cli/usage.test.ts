import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { findClient } from '../../src/keys/clients.ts'
import { selectKeyPage } from '../../src/keys/keys.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { json, run } from './command-line.ts'

const TODAY = holdClockAtNoon()

let database: TestDatabase
let pool: Postgres
let env: Environment
let keyId: string

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url)
  env = { DATABASE_URL: database.url, KEY_PEPPER: 'pepper' }
  for (const client of ['acme', 'other', 'idle']) {
    await json(env, 'client', 'create', client)
    await json(env, 'key', 'create', '--client', client, '--name', `key of ${client}`)
  }
  keyId = (await selectKeyPage(pool, 'acme'))?.items[0]?.id ?? ''
  await add('acme', TODAY, 'gpt-4o', {
    requests: 2,
    input_tokens: 1_000,
    output_tokens: 100,
    cost_pico: '3500000000',
  })
  await add('acme', addDays(TODAY, -29), 'gpt-4o', { requests: 1, input_tokens: 10, cost_pico: '1' })
  await add('acme', addDays(TODAY, -30), 'gpt-4o', { requests: 1, input_tokens: 5 })
  await add('acme', TODAY, 'my-model', { requests: 1, output_tokens: 7, unpriced: 1 })
  await add('other', TODAY, 'gpt-4o', {
    requests: 5,
    input_tokens: 50,
    latency_us_sum: 9_000,
    latency_count: 2,
  })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** One row of totals of a client's only key. */
async function add(client: string, day: string, model: string, figures: Record<string, number | string>) {
  const { rows } = await pool.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage' and column_default is null`,
  )
  const texts = new Map<string, unknown>([
    ['day', day],
    ['client_id', (await findClient(pool, client))?.id],
    ['key_id', (await selectKeyPage(pool, client))?.items[0]?.id],
    ['model', model],
    ['upstream', 'default'],
    ['provider', 'openai'],
    ...Object.entries(figures),
  ])
  const values = rows.map(({ name, type }) => texts.get(name) ?? (type === 'ARRAY' ? [] : 0))
  await pool.query('select tallygate.add_usage_months($1)', [[day]])
  await pool.query(
    `insert into tallygate.daily_usage (${rows.map(({ name }) => name).join(', ')})
     values (${values.map((_value, index) => `$${index + 1}`).join(', ')})`,
    values,
  )
}

test('the summary of a client is that of GET /v1/usage, field by field', async () => {
  const { out } = await run(env, 'usage', '--client', 'acme', '--json')
  expect(out).toBe(
    '{"client":"acme","period_days":30,"requests":4,"input_tokens":1010,"output_tokens":107,' +
      '"total_tokens":1117,"avg_latency_ms":0,"cost_usd":0.003500000001}\n',
  )
})

test('days count back from today in UTC, today included', async () => {
  expect(await json(env, 'usage', '--client', 'acme', '--days', '1')).toMatchObject({
    period_days: 1,
    requests: 3,
  })
  expect(await json(env, 'usage', '--client', 'acme', '--days', '31')).toMatchObject({ requests: 5 })
})

test('all clients together have no name', async () => {
  expect(await json(env, 'usage')).toEqual({
    client: null,
    period_days: 30,
    requests: 9,
    input_tokens: 1060,
    output_tokens: 107,
    total_tokens: 1167,
    avg_latency_ms: 4.5,
    cost_usd: 0.003500000001,
  })
})

test('a client that used nothing has zeros', async () => {
  expect(await json(env, 'usage', '--client', 'idle')).toMatchObject({ requests: 0, cost_usd: 0 })
  expect(await json(env, 'usage', '--client', 'idle', '--by', 'day')).toEqual([])
})

test('groups add their fields to each summary, and add up to the whole', async () => {
  const grouped = await json(env, 'usage', '--client', 'acme', '--by', 'day,model,key')
  expect(grouped).toEqual([
    expect.objectContaining({ day: addDays(TODAY, -29), model: 'gpt-4o', requests: 1 }),
    expect.objectContaining({ day: TODAY, model: 'gpt-4o', requests: 2 }),
    expect.objectContaining({
      client: 'acme',
      period_days: 30,
      day: TODAY,
      model: 'my-model',
      key_id: keyId,
      key_name: 'key of acme',
      requests: 1,
    }),
  ])
  expect(await json(env, 'usage', '--by', 'client')).toEqual([
    expect.objectContaining({ client: 'acme', requests: 4 }),
    expect.objectContaining({ client: 'other', requests: 5 }),
  ])
})

test('a group says which of its calls and tokens have no price, and which were counted here', async () => {
  await add('idle', addDays(TODAY, -200), 'mixed', {
    requests: 3,
    input_tokens: 10,
    output_tokens: 4,
    unpriced: 3,
    upstream: 'a',
  })
  await add('idle', addDays(TODAY, -200), 'mixed', {
    requests: 4,
    input_tokens: 30,
    output_tokens: 9,
    estimated: 2,
    estimated_input_tokens: 5,
    estimated_output_tokens: 6,
    upstream: 'b',
    cost_pico: '7',
  })
  const scope = ['--client', 'idle', '--days', '365', '--by', 'model']
  expect(await json(env, 'usage', ...scope)).toMatchObject([
    {
      requests: 7,
      input_tokens: 40,
      output_tokens: 13,
      unpriced: 3,
      unpriced_input_tokens: 10,
      unpriced_output_tokens: 4,
      partly_unpriced: 0,
      estimated: 2,
      estimated_input_tokens: 5,
      estimated_output_tokens: 6,
    },
  ])
})

test('for people, it is a table that shows exact cost and what has no price', async () => {
  const { out } = await run(env, 'usage', '--by', 'client,model')
  expect(out).toMatch(/^CLIENT +MODEL +REQUESTS +INPUT +OUTPUT +TOTAL +UNPRICED +AVG MS +COST USD +SHARE\n/)
  expect(out).toMatch(/^acme +gpt-4o +3 +1010 +100 +1110 +0 +0 +0\.003500000001 +100\.0 %$/m)
  expect(out).toMatch(/^acme +my-model +1 +0 +7 +7 +1 +0 +0 +0\.0 %$/m)
  expect(out).toMatch(/^\(all\) +9 +1060 +107 +1167 +1 +5 +0\.003500000001 +100\.0 %$/m)
  expect(out.split('\n')[1]).toMatch(/^acme +gpt-4o/)
})

test('a month, or two days, stand in place of a number of days', async () => {
  const month = TODAY.slice(0, 7)
  const ofMonth = await json(env, 'usage', '--client', 'acme', '--month', month)
  expect(ofMonth).toMatchObject({ period_days: Number(TODAY.slice(8)) })
  expect(ofMonth).toEqual(await json(env, 'usage', '--client', 'acme', '--from', `${month}-01`))
  const between = ['--from', addDays(TODAY, -30), '--to', addDays(TODAY, -29)]
  expect(await json(env, 'usage', '--client', 'acme', ...between)).toMatchObject({
    period_days: 2,
    requests: 2,
  })
  const { code, err } = await run(env, 'usage', '--month', month, '--to', TODAY)
  expect([code, err]).toEqual([2, expect.stringContaining('--period stands in place of --from and to')])
})

test('a name that came from outside cannot move the cursor', async () => {
  await add('other', TODAY, 'evil\u{1b}[2J\nmodel', { requests: 1 })
  const { out } = await run(env, 'usage', '--by', 'model')
  expect(out).toContain('evil\u{fffd}[2J\u{fffd}model')
})
