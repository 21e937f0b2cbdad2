import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addReceiver } from '../../src/alerts/receivers.ts'
import type { CallRecord } from '../../src/call/call-record.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { selectBudgetUse } from '../../src/limits/conditions/budget-use.ts'
import { findReachedByGroups, findReachedThresholds } from '../../src/limits/conditions/budgets.ts'
import { selectMostUsed, USED_CURSOR, type UsedBudget, type UseState } from '../../src/limits/most-used.ts'
import { answerLimits } from '../../src/limits/shown-limits.ts'
import { type SpendAccount, selectSpent } from '../../src/limits/spent/select-spent.ts'
import type { LimitScope } from '../../src/limits/subject.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { emptyUsage } from '../usage/summaries/empty-usage.ts'
import { budget, scopeOf } from './limit-database.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
  await ledger.pool.query(
    `insert into tallygate.groups (id, name) values ('grp_o', 'org'), ('grp_t', 'team')`,
  )
  await ledger.pool.query(
    `insert into tallygate.group_members (id, from_day, group_id, version) values
       ('grp_t', '-infinity', 'grp_o', 1), ('grp_o', '-infinity', null, 1),
       ('cli_a', '2026-01-01', 'grp_t', 1), ('cli_b', '2026-01-01', 'grp_o', 1), ('cli_b', '2026-02-15', 'grp_t', 1)`,
  )
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyUsage(ledger.pool)
  await emptyTables(ledger.pool, [
    'budget_charges',
    'route_spending',
    'value_spending',
    'limit_changes',
    'limits',
  ])
})

async function add(...calls: readonly (Partial<CallRecord> & { readonly day: string })[]): Promise<void> {
  const producer = newProducer()
  const records = calls.map(({ day, ...changes }) =>
    aRecord({ arrivedAtMs: Date.parse(`${day}T00:00:00Z`), costPico: '100', priceId: 'p', ...changes }),
  )
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

async function spentOf(groupId: string, changes: Partial<SpendAccount> = {}): Promise<bigint | undefined> {
  const period = { fromDay: '2026-02-01', toDay: '2026-02-28' }
  const account = { clientId: null, groupId, keyId: null, model: null, ...period, ...changes }
  const { spentPico } = await selectSpent(ledger.pool, [account], [])
  return spentPico[0]
}

test('a group has spent what its clients have, below it too, on the days on which they were in it', async () => {
  await add(
    { day: '2026-02-03', clientId: 'cli_a' },
    { day: '2026-02-03', clientId: 'cli_b', costPico: '20' },
  )
  await add({ day: '2026-02-20', clientId: 'cli_b', costPico: '3' }, { day: '2026-02-20', clientId: 'cli_x' })
  expect(await spentOf('grp_t')).toBe(103n)
  expect(await spentOf('grp_o')).toBe(123n)
  expect(await spentOf('grp_t', { model: 'other*' })).toBe(0n)
  expect(await spentOf('grp_none')).toBe(0n)
})

/** The pool, and `between` once after whatever says which clients the group has. */
function interrupted(between: () => Promise<void>): Postgres {
  let isDue = true
  const over = (target: { readonly query: unknown }) =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name)
        if (typeof value !== 'function') return value
        if (name === 'connect') return async () => over(await ledger.pool.connect())
        return async (...args: readonly unknown[]) => {
          const answer: unknown = await value.apply(of, args)
          if (name !== 'query' || !isDue || !`${args[0]}`.includes('group_members')) return answer
          isDue = false
          await between()
          return answer
        }
      },
    })
  return over(ledger.pool) as Postgres
}

test('a record that is counted while a group is read is in its sums and its offsets, or in neither', async () => {
  const scope = scopeOf(null, { groupId: 'grp_t', axis: 'user' })
  await setLimits(ledger.pool, scope, [budget(150n, { per: 'day' })], 'test')
  const producer = newProducer()
  const record = aRecord({
    ...{ arrivedAtMs: Date.parse('2026-02-20T00:00:00Z'), costPico: '100', priceId: 'p' },
    ...{ clientId: 'cli_new', axes: 'user=ann' },
  })
  const pool = interrupted(async () => {
    await ledger.pool.query(
      `insert into tallygate.group_members (id, from_day, group_id, version)
       values ('cli_new', '2026-01-01', 'grp_t', 1)`,
    )
    await ledger.rollUp('test:calls', [aCandidate(producer, 1, record)])
  })
  const period = { fromDay: '2026-02-20', toDay: '2026-02-20' }
  const team = { clientId: null, groupId: 'grp_t', keyId: null, model: null, ...period }
  const accounts = [team, { ...team, axis: 'user', value: 'ann' }]
  const { spentPico, committedOffsets } = await selectSpent(pool, accounts, [producer])
  const counted = committedOffsets.has(producer) ? 100n : 0n
  expect(spentPico).toEqual([counted, counted])
  const later = await selectSpent(ledger.pool, accounts, [producer])
  await ledger.pool.query(`delete from tallygate.group_members where id = 'cli_new'`)
  expect([later.spentPico, later.committedOffsets.get(producer)]).toEqual([[100n, 100n], 1])
})

test('a value within a group has spent what it has with all clients of the group', async () => {
  const order = budget(150n, { per: 'day' })
  await setLimits(ledger.pool, scopeOf(null, { groupId: 'grp_t', axis: 'user' }), [order], 'test')
  await add({ day: '2026-02-20', clientId: 'cli_a', axes: 'user=ann' })
  await add({ day: '2026-02-20', clientId: 'cli_b', axes: 'user=ann', costPico: '20' })
  await add(
    { day: '2026-02-03', clientId: 'cli_b', axes: 'user=ann' },
    { day: '2026-02-20', axes: 'user=bob' },
  )
  expect(await spentOf('grp_t', { axis: 'user', value: 'ann' })).toBe(120n)
})

test('limits of a client, a group, and values within each are apart, and none is a default', async () => {
  const order = budget(150n, { per: 'day' })
  const scopes = [
    scopeOf(null),
    scopeOf(null, { groupId: 'grp_t' }),
    scopeOf(null, { groupId: 'grp_o' }),
    scopeOf(null, { groupId: 'grp_t', axis: 'user' }),
    scopeOf(null, { groupId: 'grp_t', axis: 'user', value: 'ann' }),
    scopeOf(null, { groupId: 'grp_t', model: 'gpt-5*' }),
  ]
  const ids = new Set<string | undefined>()
  for (const scope of scopes) {
    const [set] = await setLimits(ledger.pool, scope, [order], 'test')
    const [again] = await setLimits(ledger.pool, scope, [order], 'test')
    expect(again).toEqual(set)
    expect(set).toMatchObject({
      groupId: scope.groupId ?? null,
      axis: scope.axis ?? null,
      model: scope.model,
    })
    ids.add(set?.id)
  }
  expect(ids.size).toBe(scopes.length)
})

test('a client is shown what its group has left, and of limits for each value what each has', async () => {
  const today = utcDayOf(Date.now())
  const set = async (scope: LimitScope) => await setLimits(ledger.pool, scope, [order], 'test')
  const order = budget(150n, { per: 'day' })
  const limits = [
    ...(await set(scopeOf(null, { groupId: 'grp_t' }))),
    ...(await set(scopeOf(null, { groupId: 'grp_t', axis: 'user' }))),
    ...(await set(scopeOf(null, { axis: 'user', value: 'ann' }))),
  ]
  await add(
    { day: today, clientId: 'cli_b', costPico: '20' },
    { day: today, clientId: 'cli_a', axes: 'user=ann' },
  )
  const shown = await answerLimits(ledger.pool, 'cli_a', limits, () => null, Date.parse(`${today}T00:00:00Z`))
  expect(shown).toMatchObject([
    { group: 'team', left_usd_text: '0.00000000003' },
    { group: 'team', axis: 'user', value: null, limit_usd_text: '0.00000000015' },
    { axis: 'user', value: 'ann', left_usd_text: '0.00000000005' },
  ])
  expect(shown[1]).not.toHaveProperty('left_usd')
})

test('an alert names the group that has spent a threshold of its budget', async () => {
  const today = utcDayOf(Date.now())
  await setLimits(ledger.pool, scopeOf(null, { groupId: 'grp_t' }), [budget(150n, { per: 'day' })], 'test')
  const wanted = { url: 'http://localhost:1/', format: 'generic' as const, secret: null, client: null }
  await addReceiver(ledger.pool, { ...wanted, kinds: ['budget'], thresholds: [50, 100] }, 'test')
  await add({ day: today, clientId: 'cli_a' })
  const reached = await findReachedByGroups(ledger.pool, today)
  expect(reached).toMatchObject([{ threshold: 50, subject: expect.stringMatching(/^\d+\/grp_t$/) }])
  expect(reached[0]?.payload.message).toContain(
    'the group team has spent 0.0000000001 USD of 0.00000000015 USD',
  )
  expect(await findReachedThresholds(ledger.pool, today)).toEqual([])
})

test('budgets of groups stand among those of clients, those nearest their end first, page by page', async () => {
  await ledger.pool.query(
    `insert into tallygate.clients (id, name, version) values ('cli_a', 'a', 0), ('cli_b', 'b', 0)`,
  )
  const scopes = [
    [scopeOf('cli_a'), 200n],
    [scopeOf(null, { groupId: 'grp_t' }), 150n],
    [scopeOf(null, { groupId: 'grp_o' }), 1_000n],
    [scopeOf('cli_b'), 250n],
  ] as const
  for (const [scope, amount] of scopes)
    await setLimits(ledger.pool, scope, [budget(amount, { per: 'day' })], 'test')
  await add(
    { day: '2026-02-20', clientId: 'cli_a' },
    { day: '2026-02-20', clientId: 'cli_b', costPico: '20' },
  )
  const { rows } = await ledger.pool.query<{ id: string; whose: string }>(
    'select id::text, coalesce(group_id, client_id) as whose from tallygate.limits',
  )
  const whoseOf = new Map(rows.map(({ id, whose }) => [id, whose]))
  const noonMs = Date.parse('2026-02-20T12:00:00Z')
  const listed = async (state: UseState, pageRows: number) => {
    const found: (string | undefined)[] = []
    for (let cursor: string | null = null; found.length < scopes.length; ) {
      const page: readonly UsedBudget[] = await selectMostUsed(ledger.pool, noonMs, {
        ...{ state, cursor, rows: pageRows },
      })
      found.push(...page.map(({ id }) => whoseOf.get(id)))
      cursor = page.at(-1)?.cursor ?? null
      if (cursor === null) break
      expect(cursor).toMatch(USED_CURSOR)
    }
    return found
  }
  const all = ['grp_t', 'cli_a', 'grp_o', 'cli_b']
  expect(await listed('all', 10)).toEqual(all)
  expect(await listed('all', 1)).toEqual(all)
  expect(await listed('near', 1)).toEqual(['grp_t'])
  const use = await selectBudgetUse(ledger.pool, noonMs, false)
  expect(use.map(({ limit, used }) => [whoseOf.get(limit), used])).toEqual([
    ['grp_t', 0.8],
    ['cli_a', 0.5],
    ['grp_o', 0.12],
    ['cli_b', 0.08],
  ])
})
