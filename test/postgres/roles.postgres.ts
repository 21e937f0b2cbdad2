import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'
import { prune } from '../../workers/prune.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { type Deployment, deploy, exactly } from './support/deployment.ts'

const ROLES = ['migrate', 'worker', 'gateway'] as const

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

  for (const statement of [
    'update tallygate.daily_usage set requests = 0',
    'delete from tallygate.calls',
    'delete from tallygate.producers',
    'drop table tallygate.calls',
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
  await again.query('begin; alter table tallygate.calls add column later text; rollback')
  await again.end()
  await admin.end()
})
