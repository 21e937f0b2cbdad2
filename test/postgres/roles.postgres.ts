import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { deliver } from '../../src/alerts/deliver-due.ts'
import { raiseAlerts } from '../../src/alerts/raise-alerts.ts'
import { addReceiver, removeReceiver, selectReceivers } from '../../src/alerts/receivers.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { rebuildDay } from '../../src/corrections/rebuild.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import { createGroup } from '../../src/keys/groups/groups.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { findFullJournals } from '../../src/ledger/conditions/journals.ts'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { findReachedThresholds } from '../../src/limits/conditions/budgets.ts'
import { signInMember } from '../../src/limits/members/sign-in-member.ts'
import { removeLimits, setLimits } from '../../src/limits/table/change-limits.ts'
import { raiseLimits, topUpBudget } from '../../src/limits/table/raise-limits.ts'
import { addRefusedCalls } from '../../src/limits/table/refused-calls.ts'
import { rotateLimitedKey } from '../../src/limits/table/rotate-limited-key.ts'
import { countTried } from '../../src/limits/tried/count-tried.ts'
import { enforceTried, tryLimit } from '../../src/limits/tried/tried-table.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { recordGatewayJournal } from '../../src/store/ledger/gateway-journals.ts'
import { Outbox } from '../../src/usage/outbox/outbox.ts'
import { holdOutbox, measureOutbox, selectOutboxState } from '../../src/usage/outbox/outbox-state.ts'
import { deletePages, selectPages, truncateOutbox } from '../../src/usage/outbox/outbox-table.ts'
import { summarise } from '../../src/usage/summaries/summarise.ts'
import { prune } from '../../workers/prune.ts'
import { startReceiver } from '../alerts/receiver.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { expectLimitsAndAlerts } from '../support/limited-client.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { type Deployment, deploy, exactly } from './support/deployment.ts'

const ROLES = ['migrate', 'worker', 'gateway'] as const
const WHO = { who: 'test', why: 'test' }

let cluster: Cluster
let deployment: Deployment | null = null

afterEach(async () => {
  await deployment?.stop()
  deployment = null
  await cluster?.remove()
})

test('roles with the least rights are enough, and a gateway cannot change a total', async () => {
  cluster = await startCluster()
  const admin = new pg.Client({ connectionString: cluster.url })
  await admin.connect()
  await admin.query(readFileSync('examples/postgres/roles.sql', 'utf8'))
  const urlOf = (role: (typeof ROLES)[number]) =>
    `postgres://tallygate_${role}:${cluster.password}@${cluster.host}:${cluster.port}/postgres`
  for (const role of ROLES) await admin.query(`alter role tallygate_${role} password '${cluster.password}'`)
  await migrate(urlOf('migrate'), SILENT_LOG)
  await admin.query(readFileSync('examples/postgres/grants.sql', 'utf8'))

  // Keys are made by the gateway's role, as its admin interface makes them.
  deployment = await deploy(urlOf('gateway'), { migrate: urlOf('migrate'), worker: urlOf('worker') })
  const endMs = performance.now() + 3_000
  const calls = await deployment.callUntil(() => performance.now() > endMs)
  const counted = await deployment.counted(calls)
  expect({ ...counted, ids: [...counted.ids].sort() }).toEqual(exactly(calls))
  await expectLimitsAndAlerts(deployment)
  await expectMember(deployment.pool)

  for (const statement of [
    'update tallygate.daily_usage set requests = 0',
    'delete from tallygate.call_rows',
    'delete from tallygate.producers',
    'drop table tallygate.call_rows',
    'create table tallygate.more (number int)',
  ]) {
    await expect(deployment.pool.query(statement)).rejects.toMatchObject({
      code: '42501',
    })
  }

  const worker = openPostgres(urlOf('worker'), {
    max: 4,
    statementTimeoutMs: 10_000,
    applicationName: 'test worker',
    log: SILENT_LOG,
  })
  // The gateway reads every table that there is, those of later migrations too.
  const { rows: unread } = await admin.query(
    `select tablename from pg_tables where schemaname = 'tallygate' and tablename <> 'migrations'
       and not has_table_privilege('tallygate_gateway', schemaname || '.' || tablename, 'select')`,
  )
  expect(unread).toEqual([])

  // What a worker does beside counting: Kafka's outbox, days and months that are over, corrections.
  const outbox = new Outbox({ maxBytes: 1, checkEveryMs: 0 })
  const rollUp = createRollUp({
    pool: worker,
    callDays: createCallDays(worker, 35, SILENT_LOG),
    otherSinks: [outbox],
  })
  const pastMs = Date.parse(`${addDays(utcDayOf(Date.now()), -40)}T12:00:00Z`)
  const count = async (priceId: string) => {
    const record = aRecord({ arrivedAtMs: pastMs, priceId, costPico: '0' })
    expect(await rollUp('test:calls', [aCandidate(newProducer(), 1, record)])).toMatchObject({ counted: 1 })
  }
  await count('unknown/price#a')
  expect(await holdOutbox(worker, 'test')).toBe(true)
  await measureOutbox(worker)
  await count('unknown/price#b') // it is full now
  const pages = await selectPages(worker, '0', 10)
  expect(pages).toHaveLength(1)
  await deletePages(
    worker,
    pages.map(({ id }) => id),
  )
  expect(await truncateOutbox(worker, 0)).toBe(true)
  expect((await selectOutboxState(deployment.pool))?.skipped?.calls).toBe(1)
  await addCredit(worker, { ...WHO, clientId: 'cli_a', day: utcDayOf(pastMs), model: null, pico: 5n })
  const summed = await summarise(worker, 60_000)
  expect([summed.failed, summed.months.length, summed.isDone]).toEqual([[], 1, true])
  expect(await rebuildDay(worker, { ...WHO, day: utcDayOf(Date.now()) })).toMatchObject({ kind: 'unchanged' })

  await changeLimits(deployment.pool, worker, cluster.password)
  await sendAlerts(deployment.pool, worker)

  let pruned = await prune(worker, 1)
  while (pruned === null) pruned = await prune(worker, 1)
  await worker.end()
  const { rows } = await admin.query(
    `select distinct tableowner as owner from pg_tables where schemaname = 'tallygate'`,
  )
  expect(rows).toEqual([{ owner: 'tallygate_owner' }])
  // The next migration finds everything its own.
  await migrate(urlOf('migrate'), SILENT_LOG)
  const again = new pg.Client({ connectionString: urlOf('migrate') })
  await again.connect()
  await again.query('begin; alter table tallygate.call_rows add column later text; rollback')
  await again.end()
  await admin.end()
})

/** What the operator's listener of a gateway does to limits, and what a gateway counts. */
async function changeLimits(gateway: Postgres, worker: Postgres, pepper: string): Promise<void> {
  const client = await createClient(gateway, 'changed')
  if (client === null) throw new Error('there is such a client')
  const order = { client: client.name, name: 'limited', models: null, expiresInSeconds: null }
  const key = await createClientKey(gateway, order, pepper)
  const scope = { clientId: client.id, keyId: key?.id ?? '', model: null }
  const prepaid = { kind: 'budget', per: 'total', isSoft: false, amount: 5n } as const
  const untilMs = Date.now() + 60_000
  expect(await setLimits(gateway, scope, [prepaid], 'test')).toHaveLength(1)
  expect((await raiseLimits(gateway, scope, [{ ...prepaid, amount: 9n }], untilMs, 'test')).kind).toBe(
    'raised',
  )
  const payment = { isSoft: false, pico: 1n, reference: 'invoice 1' }
  expect((await topUpBudget(gateway, scope, payment, 'test')).kind).toBe('topped_up')
  const tried = await tryLimit(gateway, scope, prepaid, utcDayOf(Date.now()))
  expect(await countTried(worker, Date.now())).toBe(1)
  expect((await rotateLimitedKey(gateway, scope.keyId, 60, pepper, 'test')).kind).toBe('rotated')
  expect(await enforceTried(gateway, tried ?? '', 'test')).toMatchObject({ amount: prepaid.amount })
  expect(await removeLimits(gateway, { clientId: client.id }, 'test')).toHaveLength(1)
  const unnamed = { keyId: '', model: '', limitId: '' }
  const refused = { day: utcDayOf(Date.now()), clientId: client.id, ...unnamed, reason: 'budget', calls: 2 }
  await addRefusedCalls(gateway, [refused])
  await addRefusedCalls(gateway, [refused])
  await expect(gateway.query('delete from tallygate.limit_changes')).rejects.toMatchObject({ code: '42501' })
  await expect(gateway.query(`update tallygate.limit_changes set who = 'x'`)).rejects.toMatchObject({
    code: '42501',
  })
  const { rows: changes } = await gateway.query(
    `select action from tallygate.limit_changes where who = 'test' order by id`,
  )
  expect(changes.map(({ action }) => action)).toEqual(['set', 'raise', 'top_up', 'rotate', 'set', 'remove'])
}

/** Receivers are the gateway's to add and remove, alerts the worker's to find and send. */
async function sendAlerts(gateway: Postgres, worker: Postgres): Promise<void> {
  const receiver = await startReceiver()
  const order = {
    url: receiver.url,
    format: 'generic',
    thresholds: [50],
    client: null,
    secret: null,
  } as const
  const added = await addReceiver(gateway, { ...order, kinds: ['budget', 'journal'] }, 'test')
  const journal = { uncommittedRecords: 1, uncommittedBytes: 9, maxBytes: 10, oldestUncommittedMs: 0 }
  await recordGatewayJournal(gateway, 'gateway-1', journal)
  await recordGatewayJournal(gateway, 'gateway-1', journal)
  const day = utcDayOf(Date.now())
  const soft = { kind: 'budget', per: 'day', isSoft: true, amount: 1n } as const
  await setLimits(gateway, { clientId: null, keyId: null, model: null }, [soft], 'test')
  const found = [
    ...(await findReachedThresholds(worker, day)).map((one) => ({ ...one, kind: 'budget' })),
    ...(await findFullJournals(worker, day)).map((one) => ({ ...one, kind: 'journal' })),
  ]
  const made = await raiseAlerts(worker, found)
  for (const id of made) expect((await deliver(worker, id)).kind).toBe('delivered')
  const types = receiver.received.map(({ body }) => JSON.parse(body).type)
  expect([types.includes('journal'), types.length, made.length]).toEqual([true, found.length, found.length])
  expect((await selectReceivers(gateway))[0]?.lastDelivery?.state).toBe('delivered')
  expect(await removeReceiver(gateway, added?.id ?? '', 'test')).not.toBeNull()
  await receiver.stop()
}

/** A group is made, and a member of it signs in and moves on to another one. */
async function expectMember(pool: Postgres): Promise<void> {
  const today = utcDayOf(Date.now())
  const terms = { memberDays: 30, mostMembers: 1, sessionSeconds: 3_600 }
  const person = {
    issuer: 'https://login.example.com/',
    subject: 'ann',
    name: 'ann',
    from: '::1',
    isOwner: true,
  }
  for (const group of ['search', 'ads']) {
    expect(await createGroup(pool, group, null)).toMatch(/^grp_/)
    const policy = {
      ...{ group, members: [group], owners: [group], mostKeys: 1, models: null },
      memberBudgetPico: 1n,
    }
    expect(await signInMember(pool, { ...person, policy }, terms, 'pepper', today)).toMatchObject({
      made: { client: 'member:ann' },
    })
  }
}
