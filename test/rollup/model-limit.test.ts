import { afterAll, beforeAll, expect, test } from 'vitest'
import { selectSpent } from '../../src/limits/spent/select-spent.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import { createModelLimit } from '../../src/rollup/model-limit.ts'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aRecord, newProducer } from './records.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

/** How many statements deciding on one call of each of these clients takes. */
async function statements(limit: ReturnType<typeof createModelLimit>, clients: readonly string[]) {
  return await inTransaction(ledger.pool, async (session) => {
    const { query } = session
    let count = 0
    const counting = Object.assign(Object.create(session), {
      query: (...args: Parameters<typeof query>) => {
        count += 1
        return query.apply(session, args)
      },
    })
    const { remember } = await limit.apply(
      counting,
      clients.map((clientId) => aRecord({ clientId })),
    )
    remember()
    return count
  })
}

test('clients that call go on being known when many others come, those that do not are dropped first', async () => {
  const limit = createModelLimit(500, 3)
  expect(await statements(limit, ['a'])).toBe(1)
  expect(await statements(limit, ['b'])).toBe(1)
  for (const other of ['c', 'd', 'e', 'f']) {
    expect(await statements(limit, ['a'])).toBe(0)
    expect(await statements(limit, [other])).toBe(1)
  }
  expect(await statements(limit, ['b'])).toBe(1)
})

test('a client that is known costs no statement, however many calls it made', async () => {
  const limit = createModelLimit()
  expect(await statements(limit, ['a', 'a', 'b'])).toBe(1)
  expect(await statements(limit, ['b', 'a', 'a', 'b'])).toBe(0)
})

/** One call of 7 pico-USD for each of these models, after calls for as many made-up names as totals of a day have. */
async function callAfterMadeUpNames(clientId: string, models: readonly string[], axes?: string) {
  const made = Array.from({ length: 500 }, (_, index) => `made-up-${index}`)
  const producer = newProducer()
  const records = [...made, ...models].map((model) =>
    aRecord({ clientId, model, axes, costPico: model.startsWith('made') ? '0' : '7', priceId: 'price' }),
  )
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

test('a client that makes names up hides nothing from budgets of models', async () => {
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_x', 'x', 0)`)
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 1_000n } as const
  for (const [clientId, model] of [
    ['cli_x', 'gpt-5*'],
    ['cli_x', 'gpt-5-mini'],
    [null, 'gpt*'],
  ] as const)
    await setLimits(ledger.pool, { clientId, keyId: null, model }, [order], 'ann')
  const spending = ['gpt-5', 'gpt-5-mini', 'gpt-5-mini-2025-08-07', 'gpt-4o', 'gpt-5', 'claude']
  await callAfterMadeUpNames('cli_x', spending)
  const all = { clientId: 'cli_x', keyId: null, fromDay: '1970-01-01', toDay: null }
  const { spentPico } = await selectSpent(
    ledger.pool,
    ['gpt-5*', 'gpt-5-mini', 'gpt*', 'claude', '(other)'].map((model) => ({ ...all, model })),
    [],
  )
  expect(spentPico).toEqual([28n, 14n, 35n, 0n, 7n])
})

test('a client that makes names up hides nothing from budgets of its groups and values for models', async () => {
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_y', 'y', 0)`)
  await ledger.pool.query(
    `insert into tallygate.groups (id, name) select id, id from unnest('{grp_o, grp_t, grp_none}'::text[]) id`,
  )
  await ledger.pool.query(
    `insert into tallygate.group_members (id, from_day, group_id, version)
     values ('cli_y', '-infinity', 'grp_t', 0), ('grp_t', '-infinity', 'grp_o', 0)`,
  )
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 1_000n } as const
  const ofGroup = { clientId: null, groupId: 'grp_o', keyId: null }
  const ofUser = { clientId: 'cli_y', axis: 'user', value: null, keyId: null }
  for (const scope of [
    { ...ofGroup, model: 'opus*' },
    { ...ofGroup, groupId: 'grp_none', model: 'opus-5*' },
    { ...ofUser, model: 'haiku' },
  ])
    await setLimits(ledger.pool, scope, [order], 'ann')
  await callAfterMadeUpNames('cli_y', ['opus-5', 'haiku', 'sonnet'], 'user=ann')
  const days = { fromDay: '1970-01-01', toDay: null }
  const accounts = [
    { ...ofGroup, model: 'opus*' },
    { ...ofUser, value: 'ann', model: 'haiku' },
    { clientId: 'cli_y', keyId: null, model: '(other)' },
    { clientId: 'cli_y', keyId: null, model: 'opus-5*' },
  ].map((account) => ({ ...account, ...days }))
  const { spentPico } = await selectSpent(ledger.pool, accounts, [])
  expect(spentPico).toEqual([7n, 7n, 7n, 0n])
})

test('a client that makes names up hides nothing from budgets of which one is for a part of what the other is for', async () => {
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_z', 'z', 0)`)
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 1_000n } as const
  const budgets = [
    'o4-mini',
    'o4-mini-2025*',
    'o4-min*',
    'models/O4*',
    'o4-mini-2025-0*',
    'o4-mini-2025-05-05',
  ]
  for (const model of budgets)
    await setLimits(ledger.pool, { clientId: 'cli_z', keyId: null, model }, [order], 'ann')
  await callAfterMadeUpNames('cli_z', [
    'o4-mini-2025-05-05',
    'o4-mini-2025-04-16',
    'o4-mini-2025-10',
    'o4-mini',
    'o4-mint',
    'o4',
  ])
  const days = { fromDay: '1970-01-01', toDay: null }
  const accounts = budgets.map((model) => ({ clientId: 'cli_z', keyId: null, model, ...days }))
  const { spentPico } = await selectSpent(ledger.pool, accounts, [])
  expect(spentPico).toEqual([21n, 21n, 35n, 42n, 14n, 7n])
})
