import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { raiseAlerts } from '../../src/alerts/raise-alerts.ts'
import { addReceiver } from '../../src/alerts/receivers.ts'
import { addDays } from '../../src/domain/utc-day.ts'
import { findReachedThresholds } from '../../src/limits/conditions/budgets.ts'
import { SPENT_OF_BUDGETS } from '../../src/limits/conditions/spent-budgets.ts'
import type { BudgetPeriod } from '../../src/limits/limit.ts'
import { budgetPeriodOf } from '../../src/limits/limit.ts'
import { selectSpent } from '../../src/limits/spent/select-spent.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { summarise } from '../../src/usage/summaries/summarise.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { emptyUsage } from '../usage/summaries/empty-usage.ts'
import { addAccount, addBudget, addSpending } from './budget-usage.ts'

const TODAY = holdClockAtNoon()
const USD = 1_000_000_000_000n

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url, { max: 4, statementTimeoutMs: 20_000 })
  for (const client of ['acme', 'beta', 'gamma']) await addAccount(pool, client, `${client}-1`, `${client}-2`)
})
beforeEach(() => receive())
afterEach(async () => {
  await emptyUsage(pool)
  await emptyTables(pool, [
    'alerts',
    'alert_deliveries',
    'alert_receivers',
    'alert_receiver_changes',
    'limits',
    'limit_changes',
  ])
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function receive(thresholds: readonly number[] = [50, 80, 100], client: string | null = null) {
  const order = {
    url: 'http://localhost:1/',
    kinds: ['budget'] as const,
    format: 'generic' as const,
    secret: null,
  }
  return await addReceiver(pool, { ...order, thresholds, client }, 'somebody')
}

/** What is found is raised, so that it is not found again. */
async function reached(day = TODAY): Promise<string[]> {
  const found = await findReachedThresholds(pool, day)
  await raiseAlerts(
    pool,
    found.map((one) => ({ ...one, kind: 'budget' })),
  )
  return found.map(({ subject, threshold }) => `${subject} ${threshold}`)
}

const spend = (client: string, costPico: bigint, more = {}) =>
  addSpending(pool, [{ client, day: TODAY, costPico, ...more }])

test('each threshold is found when it is reached to the last pico-dollar, and once', async () => {
  const id = await addBudget(pool, { client: 'acme', per: 'day', amount: USD })
  await spend('acme', USD / 2n - 1n)
  expect(await reached()).toEqual([])
  await spend('acme', 1n)
  expect(await reached()).toEqual([`${id}/acme 50`])
  expect(await reached()).toEqual([])
  await spend('acme', USD)
  expect(await reached()).toEqual([`${id}/acme 80`, `${id}/acme 100`])
  expect(await reached()).toEqual([])
})

test('an alert says who spent how much of which budget, with exact amounts', async () => {
  const id = await addBudget(pool, { client: 'acme', model: 'gpt-*', per: 'month', amount: USD, soft: true })
  await spend('acme', USD / 2n + 1n, { adjustedPico: -1n })
  const { fromDay, toDay } = budgetPeriodOf('month', null, TODAY)
  expect(await findReachedThresholds(pool, TODAY)).toEqual([
    {
      subject: `${id}/acme`,
      period: fromDay,
      threshold: 50,
      clientId: 'acme',
      payload: {
        message: `acme has spent 0.5 USD of 1 USD from ${fromDay} to ${toDay} for gpt-*: 50 % of its soft budget are reached.`,
        limit: {
          ...{ id, per: 'month', soft: true, key: null, model: 'gpt-*' },
          ...{ axis: null, value: null, default: false },
        },
        threshold: 50,
        spent_usd: '0.5',
        limit_usd: '1',
        period_from: fromDay,
        period_to: toDay,
      },
    },
  ])
})

test('a default has an account for each client that spent and has no budget like it of its own', async () => {
  const shared = await addBudget(pool, { per: 'day', amount: USD })
  const own = await addBudget(pool, { client: 'beta', per: 'day', amount: 10n * USD })
  await addBudget(pool, { client: 'gamma', per: 'day', amount: 10n * USD, soft: true })
  await addBudget(pool, { client: 'gamma', key: 'gamma-1', per: 'day', amount: 10n * USD })
  for (const client of ['acme', 'beta', 'gamma']) await spend(client, (USD * 6n) / 10n)
  expect(await reached()).toEqual([`${shared}/acme 50`, `${shared}/gamma 50`])
  await spend('beta', 5n * USD)
  expect(await reached()).toEqual([`${own}/beta 50`])
})

test('a budget for a key or for models counts their calls alone, revisions of a model among them', async () => {
  const amount = USD
  const ofKey = await addBudget(pool, { client: 'acme', key: 'acme-1', per: 'day', amount })
  const ofModel = await addBudget(pool, { client: 'acme', model: 'gpt-4o', per: 'day', amount })
  const ofBoth = await addBudget(pool, { client: 'acme', key: 'acme-2', model: 'o*', per: 'day', amount })
  await spend('acme', (USD * 6n) / 10n, { key: 'acme-1', model: 'gpt-5' })
  expect(await reached()).toEqual([`${ofKey}/acme 50`])
  await spend('acme', (USD * 6n) / 10n, { key: 'acme-2', model: 'gpt-4o-2024-08-06' })
  expect(await reached()).toEqual([`${ofModel}/acme 50`])
  await spend('acme', (USD * 6n) / 10n, { key: 'acme-2', model: 'o3' })
  expect(await reached()).toEqual([`${ofBoth}/acme 50`])
})

test('a raised budget counts by its higher amount as long as that holds', async () => {
  const id = await addBudget(pool, { client: 'acme', per: 'day', amount: USD })
  await pool.query(`update tallygate.limits set raised_to = $1, raised_until = now() + interval '1 hour'`, [
    2n * USD,
  ])
  await spend('acme', (USD * 9n) / 10n)
  expect(await reached()).toEqual([])
  await pool.query(`update tallygate.limits set raised_until = now() - interval '1 second'`)
  expect(await reached()).toEqual([`${id}/acme 50`, `${id}/acme 80`])
})

test('a prepaid budget has its thresholds once for each amount that it is topped up to', async () => {
  const id = await addBudget(pool, { client: 'acme', per: 'total', since: TODAY, amount: USD })
  await spend('acme', USD)
  expect(await reached()).toEqual([50, 80, 100].map((percent) => `${id}/acme/${USD} ${percent}`))
  await pool.query('update tallygate.limits set amount = $1', [4n * USD])
  expect(await reached()).toEqual([])
  await pool.query(`update tallygate.limits set raised_to = $1, raised_until = now() + interval '1 hour'`, [
    5n * USD,
  ])
  await spend('acme', 3n * USD)
  expect(await reached()).toEqual([50, 80].map((percent) => `${id}/acme/${4n * USD} ${percent}`))
  await pool.query('update tallygate.limits set raised_to = null, raised_until = null')
  expect(await reached()).toEqual([`${id}/acme/${4n * USD} 100`])
})

test('each period begins at nothing, and the day before is still found after midnight', async () => {
  const id = await addBudget(pool, { client: 'acme', per: 'day', amount: USD })
  await spend('acme', USD)
  expect(await reached(addDays(TODAY, 1))).toEqual([])
  expect(await reached(TODAY)).toHaveLength(3)
  await addSpending(pool, [{ client: 'acme', day: addDays(TODAY, 1), costPico: USD }])
  expect(await reached(addDays(TODAY, 1))).toEqual([50, 80, 100].map((percent) => `${id}/acme ${percent}`))
})

test('thresholds are those that receivers asked for, and one that comes later gets what was reached', async () => {
  const id = await addBudget(pool, { client: 'acme', per: 'day', amount: USD })
  await spend('acme', (USD * 6n) / 10n)
  expect(await reached()).toEqual([`${id}/acme 50`])
  await receive([10, 50], 'beta')
  expect(await reached()).toEqual([])
  await receive([10, 50, 90], 'acme')
  expect(await reached()).toEqual([`${id}/acme 10`, `${id}/acme 50`])
  expect(await reached()).toEqual([])
})

test('removed budgets and other limits are not looked at', async () => {
  await addBudget(pool, { client: 'acme', per: 'day', amount: 1n })
  await pool.query('update tallygate.limits set removed_at = now()')
  await pool.query(
    `insert into tallygate.limits (client_id, kind, amount, version) values ('acme', 'requests', 1, 1)`,
  )
  await spend('acme', USD)
  expect(await reached()).toEqual([])
})

test('what was spent of any budget is what its answers about usage say, over summed days and months', async () => {
  const clients = ['acme', 'beta', 'gamma']
  const models = ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-mini', 'o3']
  let seed = 20_260_131
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const pick = (texts: readonly string[]) => texts[random(texts.length)] ?? ''
  const rows = (count: number) =>
    Array.from({ length: count }, () => {
      const client = pick(clients)
      return {
        client,
        key: `${client}-${1 + random(2)}`,
        model: pick(models),
        day: addDays(TODAY, -random(100)),
        costPico: BigInt(random(2_000_000_000)),
        adjustedPico: BigInt(random(1_000) - 500),
      }
    })
  await addSpending(pool, rows(600))
  await summarise(pool, 60_000)
  await addSpending(
    pool,
    rows(60).map((row) => ({ ...row, day: addDays(TODAY, -random(40)) })),
  )
  const charges = Array.from({ length: 60 }, () => {
    const client = pick(clients)
    const key = `${client}-${1 + random(2)}`
    return { client, key, model: pick(models), day: addDays(TODAY, -random(60)), pico: random(900_000) }
  })
  await pool.query(
    `insert into tallygate.budget_charges
     select client, day, key, model, 'u', '', sum(pico), 3
     from json_to_recordset($1) r (client text, day date, key text, model text, pico numeric) group by 1, 2, 3, 4`,
    [JSON.stringify(charges)],
  )
  await pool.query(
    `insert into tallygate.objects (upstream, folded_id, id, kind, client_id, key_id, call_id, path, model, created_at,
       job, reserved_pico, deleted_at)
     select 'u', 'b' || n, 'b' || n, 'batch', 'acme', 'acme-' || n % 3, gen_random_uuid(), '/v1/batches',
       case when n % 2 = 0 then 'gpt-4o' end, $1::date - n * interval '3 hours', true, n, case when n % 5 = 0 then now() end
     from generate_series(1, 60) n`,
    [TODAY],
  )
  await pool.query(
    `insert into tallygate.route_spending (client_id, day, key_id, model, upstream, price_id, route, cost_pico,
       unpriced, unpriced_pico, without_figures_pico)
     select 'acme', $1::date - n, 'acme-' || n % 3, case when n % 4 = 0 then 'gpt-4o' else 'other' end, 'routed', '',
       'gpt-4o', 1000 + n, 0, 0, n
     from generate_series(0, 60) n`,
    [TODAY],
  )
  const closed = await pool.query(`select count(*)::int as months from tallygate.summarised_months`)
  expect(closed.rows[0].months).toBeGreaterThan(0)

  const budgets = new Map<
    string,
    { key: string | null; model: string | null; per: BudgetPeriod; since: string | null }
  >()
  for (const client of [...clients, null])
    for (const key of client === null ? [null] : [null, `${client}-1`])
      for (const model of [null, 'gpt-4o', 'gpt*'])
        for (const per of ['day', 'week', 'month', 'total'] as const) {
          const since = per === 'total' ? addDays(TODAY, -random(100)) : null
          const soft = client === null // else every client had one of its own
          const id = await addBudget(pool, { client, key, model, per, amount: 1n, soft, since })
          budgets.set(id, { key, model, per, since })
        }
  const week = budgetPeriodOf('week', null, TODAY)
  const month = budgetPeriodOf('month', null, TODAY)
  const { rows: spent } = await pool.query<{ id: string; client_id: string; pico: string }>(
    `with ${SPENT_OF_BUDGETS} select id, client_id, pico from spent`,
    [TODAY, week.fromDay, week.toDay, month.fromDay, month.toDay],
  )
  const accounts = spent.map(({ id, client_id: clientId }) => {
    const budget = budgets.get(id)
    if (budget === undefined) throw new Error(`there is no budget ${id}`)
    const { key: keyId, model, per, since } = budget
    return { clientId, keyId, model, ...budgetPeriodOf(per, since, TODAY) }
  })
  const { spentPico } = await selectSpent(pool, accounts, [])
  expect(spent.map(({ pico }) => BigInt(pico))).toEqual(spentPico)
  expect(spent.length).toBeGreaterThan(60)
})
