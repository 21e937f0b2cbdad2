import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Environment } from '../../src/config/config.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { TRIED_LIMITS } from '../../src/limits/conditions/tried-limits.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { addDailyUsage } from '../operator/support/daily-usage.ts'
import { createTestDatabase, dropDays, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { json, run } from './command-line.ts'

let database: TestDatabase
let pool: Postgres
let env: Environment

beforeAll(async () => {
  database = await createTestDatabase()
  env = { DATABASE_URL: database.url, KEY_PEPPER: 'pepper' }
  pool = openTestPool(database.url)
  await dropDays(pool)
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

const limitShape = z.strictObject({
  id: z.string().regex(/^[1-9]\d*$/),
  client: z.string().nullable(),
  key: z.string().nullable(),
  former_keys: z.array(z.string()),
  model: z.string().nullable(),
  group: z.string().nullable(),
  axis: z.string().nullable(),
  value: z.string().nullable(),
  kind: z.enum(['budget', 'requests', 'tokens', 'concurrent']),
  limit: z.union([z.string(), z.int()]),
  per: z.enum(['day', 'week', 'month', 'total']).nullable(),
  soft: z.boolean(),
  raised_to: z.union([z.string(), z.int()]).nullable(),
  raised_until: z.iso.datetime().nullable(),
  since: z.iso.date().nullable(),
  cached: z.enum(['count', 'ignore']).nullable(),
  unpriced: z.enum(['allow', 'refuse']).nullable(),
  when_alone: z.enum(['refuse', 'share']).nullable(),
  spent_usd: z.string().nullable(),
  charged_usd: z.string().nullable(),
  left_usd: z.string().nullable(),
  period_from: z.iso.date().nullable(),
  period_to: z.iso.date().nullable(),
})

async function limits(...args: string[]) {
  return z.array(limitShape).parse(await json(env, 'limits', ...args))
}

async function newClient(name: string): Promise<string> {
  await json(env, 'client', 'create', name)
  const key = await json(env, 'key', 'create', '--client', name)
  return z.object({ id: z.string() }).parse(key).id
}

const today = () => utcDayOf(Date.now())

test('several limits are set at once and shown as they stand, always in the same shape', async () => {
  await newClient('acme')
  const args = ['--client', 'acme', '--budget', '10.50', '--per', 'day', '--rpm', '60', '--tpm', '100000']
  const standing = await limits('set', ...args, '--concurrent', '8', '--cached', 'ignore')
  const common = { client: 'acme', key: null, model: null, raised_to: null, soft: false, since: null }
  expect(standing).toMatchObject([
    {
      ...common,
      kind: 'budget',
      limit: '10.5',
      per: 'day',
      unpriced: 'refuse',
      when_alone: 'refuse',
      cached: null,
    },
    { ...common, kind: 'requests', limit: 60, per: null, unpriced: null, spent_usd: null, left_usd: null },
    { ...common, kind: 'tokens', limit: 100_000, cached: 'ignore', period_from: null },
    { ...common, kind: 'concurrent', limit: 8 },
  ])
  expect(standing[0]).toMatchObject({
    spent_usd: '0',
    charged_usd: '0',
    left_usd: '10.5',
    period_from: today(),
    period_to: today(),
  })
  expect(await limits('show', '--client', 'acme')).toEqual(standing)
  const { out } = await run(env, 'limits', 'show', '--client', 'acme')
  expect(out).toContain('10.5 USD: budget a day')
  expect(out).toContain('100000 tokens a minute, cached ones not counted')
})

test('what is spent and left is exact, of the client, key and model that the budget is for', async () => {
  const key = await newClient('spender')
  await addDailyUsage(pool, 'spender', today(), 'gpt-4o-2024-08-06', { cost_pico: '1000000000001' })
  await addDailyUsage(pool, 'spender', today(), 'claude', { cost_pico: '2' })
  await pool.query('update tallygate.daily_usage set adjusted_pico = -1 where cost_pico = 2')
  await addDailyUsage(pool, 'spender', addDays(today(), -400), 'claude', { cost_pico: '5000000000000' })
  const of = ['--client', 'spender', '--per', 'day']
  await limits('set', ...of, '--budget', '3')
  await limits('set', ...of, '--budget', '3', '--model', 'gpt-4o')
  await limits('set', ...of, '--budget', '0.5', '--key', key, '--soft')
  const since = ['--per', 'total', '--since', addDays(today(), -500)]
  await limits('set', '--client', 'spender', '--budget', '6', ...since)
  expect(await limits('show', '--client', 'spender')).toMatchObject([
    { spent_usd: '1.000000000002', left_usd: '1.999999999998' },
    { model: 'gpt-4o', spent_usd: '1.000000000001' },
    { key, soft: true, unpriced: null, spent_usd: '1.000000000002', left_usd: '0' },
    { per: 'total', since: since[3], spent_usd: '6.000000000002', left_usd: '0', period_to: null },
  ])
  expect(await limits('show', '--client', 'spender', '--key', key)).toHaveLength(1)
})

test('a default is shown for each client it holds for, with what that client spent', async () => {
  await newClient('defaulted')
  await newClient('own')
  await addDailyUsage(pool, 'defaulted', today(), 'claude', { cost_pico: '250000000000' })
  const standing = await limits('set', '--default', '--budget', '1', '--per', 'month')
  expect(standing).toMatchObject([{ client: null, limit: '1', spent_usd: null, left_usd: null }])
  await limits('set', '--client', 'own', '--budget', '5', '--per', 'month')
  expect(await limits('show', '--client', 'defaulted')).toMatchObject([
    { client: null, spent_usd: '0.25', left_usd: '0.75' },
  ])
  expect(await limits('show', '--client', 'own')).toMatchObject([{ client: 'own', limit: '5' }])
  expect(await limits('remove', '--default', '--budget')).toEqual([])
})

test('a limit is tried, shown with what it would have refused, and enforced or dropped', async () => {
  await newClient('trying')
  const tried = z.object({ id: z.string(), counted_at: z.null(), today: z.null() })
  const rate = tried.parse(await json(env, 'limits', 'try', '--client', 'trying', '--rpm', '60'))
  const args = ['--budget', '5', '--per', 'day', '--model', 'gpt-4o', '--unpriced', 'allow']
  const { id } = tried.parse(await json(env, 'limits', 'try', '--client', 'trying', ...args))
  // Nothing keeps calls here.
  expect((await run(env, 'limits', 'try', '--client', 'trying', ...args)).err).toContain('no calls are kept')
  expect(await TRIED_LIMITS.find?.({ pool })).toMatchObject({ state: 'note' })
  await pool.query(
    `insert into tallygate.tried_limit_days values ($1, $2, 9, 4, 1500000000000, now(), now(), now())`,
    [id, today()],
  )
  const counted = { calls: 9, refused_calls: 4, refused_usd: '1.5' }
  expect(await json(env, 'limits', 'tried')).toMatchObject([
    { id: rate.id, client: 'trying', kind: 'requests', limit: 60, from: today() },
    { id, model: 'gpt-4o', limit: '5', unpriced: 'allow', ...counted, today: { ...counted, clients: [] } },
  ])
  const { out } = await run(env, 'limits', 'tried')
  expect(out).toContain('5 USD: budget a day, unpriced models pass')
  expect(await limits('show', '--client', 'trying')).toEqual([])
  const set = limitShape.parse(await json(env, 'limits', 'enforce', id))
  expect(set).toMatchObject({ client: 'trying', limit: '5', unpriced: 'allow' })
  expect(await limits('show', '--client', 'trying')).toEqual([set])
  expect(await json(env, 'limits', 'drop', rate.id)).toMatchObject({ id: rate.id })
  expect(await json(env, 'limits', 'tried')).toEqual([])
  const audited = z.array(z.object({ operation: z.string() })).parse(await json(env, 'audit'))
  expect(audited.slice(0, 2).map(({ operation }) => operation)).toEqual(['limits.drop', 'limits.enforce'])
  for (const again of ['enforce', 'drop'])
    expect((await run(env, 'limits', again, id)).err).toContain(
      `no limit ${id} is tried; limits tried lists them`,
    )
})

test('a limit is raised for a while, and set again without losing the raise', async () => {
  await newClient('raised')
  await limits('set', '--client', 'raised', '--budget', '1', '--per', 'week', '--rpm', '10')
  const until = new Date(Date.now() + 86_400_000).toISOString()
  const args = ['--client', 'raised', '--budget', '2', '--per', 'week', '--rpm', '20', '--until', until]
  expect(await limits('raise', ...args)).toMatchObject([
    { limit: '1', raised_to: '2', raised_until: until, left_usd: '2' },
    { limit: 10, raised_to: 20 },
  ])
  await limits('set', '--client', 'raised', '--rpm', '11')
  expect(await limits('show', '--client', 'raised')).toMatchObject([
    { raised_to: '2' },
    { limit: 11, raised_to: 20 },
  ])
  expect((await run(env, 'limits', 'show', '--client', 'raised')).out).toContain('raised to 20 until')
})

test('a prepaid budget is topped up, once for each payment', async () => {
  await newClient('prepaid')
  await limits('set', '--client', 'prepaid', '--budget', '10', '--per', 'total')
  const topUp = ['limits', 'top-up', '--client', 'prepaid']
  await json(env, ...topUp, '--add', '5', '--reference', 'invoice 7')
  expect(await json(env, ...topUp, '--add', '5', '--reference', 'invoice 7')).toMatchObject([{ limit: '15' }])
  expect(await json(env, ...topUp, '--add', '-2.5')).toMatchObject([{ limit: '12.5' }])
  const { err } = await run(env, ...topUp, '--add', '5', '--reference', 'invoice 7')
  expect(err).toContain('the payment invoice 7 was added before, so nothing changes')
})

test('limits are removed by id, by sort, and all of a client at once', async () => {
  await newClient('removed')
  const sorts = ['--budget', '1', '--per', 'day', '--rpm', '1', '--tpm', '1']
  const [budget] = await limits('set', '--client', 'removed', ...sorts)
  expect(await limits('remove', budget?.id ?? '')).toMatchObject([{ kind: 'requests' }, { kind: 'tokens' }])
  expect(await limits('remove', '--client', 'removed', '--tpm')).toMatchObject([{ kind: 'requests' }])
  expect(await limits('remove', '--client', 'removed')).toEqual([])
  expect((await run(env, 'limits', 'show', '--client', 'removed')).out).toContain('There is no limit.')
})

test('the history says who changed what, from what to what', async () => {
  await newClient('audited')
  await limits('set', '--client', 'audited', '--budget', '1', '--per', 'month', '--by', 'ann')
  await limits('set', '--client', 'audited', '--budget', '2', '--per', 'month', '--by', 'ben')
  await limits('remove', '--client', 'audited', '--by', 'cat')
  const history = await json(env, 'limits', 'history', '--client', 'audited')
  expect(history).toMatchObject([
    { who: 'cat', action: 'remove', client: 'audited', before: { limit: '2' }, after: null },
    { who: 'ben', action: 'set', before: { limit: '1', per: 'month' }, after: { limit: '2' } },
    { who: 'ann', action: 'set', before: null, after: { limit: '1' } },
  ])
  expect((await run(env, 'limits', 'history', '--client', 'audited', '--limit', '1')).out).toContain(
    'limit=2',
  )
})

describe('what cannot be', () => {
  let key: string
  beforeAll(async () => {
    key = await newClient('wrong')
    await newClient('other')
    await limits('set', '--client', 'wrong', '--rpm', '10', '--budget', '1', '--per', 'total')
  })

  const set = (...args: string[]) => ['limits', 'set', '--client', 'wrong', ...args]
  test.each([
    [
      set('--rpm', '0'),
      'whole number from 1 to 1000000000; to refuse all calls of a client: client disable NAME',
    ],
    [set('--rpm', '-5'), 'whole number from 1'],
    [set('--rpm', '1.5'), 'whole number from 1'],
    [set('--rpm', '1e3'), 'whole number from 1'],
    [set('--tpm', '99999999999999'), 'whole number from 1 to 1000000000000'],
    [set('--concurrent', 'many'), 'whole number from 1 to 1000000'],
    [set('--budget', '0', '--per', 'day'), 'client disable NAME'],
    [set('--budget', '0.0000000000001', '--per', 'day'), 'to 12 places at most'],
    [set('--budget', '-1', '--per', 'day'), 'US dollars above 0'],
    [set('--budget', '1e3', '--per', 'day'), 'US dollars above 0'],
    [set('--budget', '1000000001', '--per', 'day'), 'up to 1000000000'],
    [set('--budget', '1', '--per', 'year'), 'day, week, month, total'],
    [set('--budget', '1'), '--per is missing: a budget needs a period'],
    [set('--per', 'day', '--rpm', '1'), '--per needs --budget'],
    [set('--soft', '--rpm', '1'), '--soft needs --budget'],
    [set(), '--budget is missing: name a budget, or --rpm, --tpm or --concurrent'],
    [set('--rpm', '1', '--cached', 'ignore'), '--cached applies only to limits of tokens'],
    [set('--rpm', '1', '--unpriced', 'allow'), '--unpriced applies only to hard budgets'],
    [set('--rpm', '1', '--when-alone', 'share'), '--when-alone applies only to hard budgets'],
    [
      set('--budget', '1', '--per', 'day', '--since', '2026-01-01'),
      '--since applies only to budgets in total',
    ],
    [set('--budget', '1', '--per', 'total', '--since', '2099-01-01'), '--since must not be after today'],
    [set('--rpm', '1', '--model', 'a*b'), 'a * may only end it'],
    [set('--rpm', '1', '--default'), '--default does not go with --client'],
    [
      ['limits', 'set', '--rpm', '1'],
      '--client is missing: name a client or group, or say --default for all clients',
    ],
    [['limits', 'set', '--default', '--key', 'key_x', '--rpm', '1'], '--key needs --client'],
    [
      ['limits', 'raise', '--client', 'wrong', '--rpm', '20'],
      "required option '--until <time>' not specified",
    ],
    [
      ['limits', 'raise', '--client', 'wrong', '--rpm', '20', '--until', '2020-01-01'],
      '--until must be a time to come',
    ],
    [
      ['limits', 'raise', '--client', 'wrong', '--rpm', '20', '--until', '2026-02-30'],
      '--until must be a time such as',
    ],
    [
      ['limits', 'raise', '--client', 'wrong', '--rpm', '20', '--until', '2099-01-01T10:00'],
      '--until must be a time such as',
    ],
    [['limits', 'top-up', '--client', 'wrong', '--add', '0'], '--add must be US dollars other than 0'],
    [['limits', 'remove', 'x'], '[ids...] must be a number that limits show shows'],
    [['limits', 'remove', '1', '--client', 'wrong'], '[ids...] does not go with options'],
    [['limits', 'remove'], '--client is missing: name a client'],
    [['limits', 'show', '--key', 'key_x'], '--key needs --client'],
  ])('%j is not understood: code 2', async (args, says) => {
    const { code, out, err } = await run(env, ...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(says)
  })

  test.each([
    [
      ['limits', 'set', '--client', 'missing', '--rpm', '1'],
      'there is no client named missing; client list shows them',
    ],
    [['limits', 'show', '--client', 'missing'], 'there is no client named missing; client list shows them'],
    [
      ['limits', 'history', '--client', 'missing'],
      'there is no client named missing; client list shows them',
    ],
    [
      set('--rpm', '1', '--key', 'key_none'),
      'there is no key with the id key_none; key list --client wrong shows them',
    ],
    [
      ['limits', 'raise', '--client', 'wrong', '--rpm', '10', '--until', '1h'],
      '--rpm must be above 10, which the limit (requests a minute) is already; limits set lowers it',
    ],
    [
      ['limits', 'raise', '--client', 'wrong', '--tpm', '20', '--until', '1h'],
      'there is no such limit (tokens a minute) to raise; limits set makes one',
    ],
    [
      ['limits', 'top-up', '--client', 'other', '--add', '1'],
      'there is no budget in total to top up; limits set --budget USD --per total makes one',
    ],
    [
      ['limits', 'top-up', '--client', 'wrong', '--add', '-1'],
      '--add takes away more than the budget has, 1 USD; limits remove removes it',
    ],
    [['limits', 'remove', '999999'], 'there is no such limit to remove; limits show lists them'],
  ])('%j fails with one line and code 1', async (args, says) => {
    expect(await run(env, ...args)).toEqual({ code: 1, out: '', err: `tallygate: ${says}\n` })
  })

  test('a key of another client is named with its client', async () => {
    expect(await run(env, 'limits', 'set', '--client', 'other', '--key', key, '--rpm', '1')).toEqual({
      code: 1,
      out: '',
      err: `tallygate: key ${key} is of the client wrong; key list --client other shows them\n`,
    })
  })
})

test('limits refused has a column for each group that was asked for, and for no other', async () => {
  await json(env, 'client', 'create', 'refused')
  await pool.query(
    `insert into tallygate.refused_calls (day, client_id, reason, calls)
     select $1, id, reason, 3 from tallygate.clients, unnest(array['budget', 'requests']) reason where name = 'refused'`,
    [utcDayOf(Date.now())],
  )
  const table = async (...by: readonly string[]) =>
    (await run(env, 'limits', 'refused', '--client', 'refused', ...by)).out
      .split('\n')
      .map((line) => line.split(/ +/))
  expect(await table()).toEqual([['CALLS'], ['', '6'], ['']])
  const [heading, ...rows] = await table('--by', 'reason,client')
  expect(heading).toEqual(['CLIENT', 'REASON', 'CALLS'])
  expect(rows.slice(0, 2).sort()).toEqual([
    ['refused', 'budget', '3'],
    ['refused', 'requests', '3'],
  ])
})
