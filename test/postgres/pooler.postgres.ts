import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { addDays } from '../../src/domain/utc-day.ts'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { inTransaction, openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { addCallDay, selectToday } from '../../src/usage/calls/call-partitions.ts'
import { prune } from '../../workers/prune.ts'
import { expectLimitsAndAlerts } from '../support/limited-client.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { type Deployment, deploy, exactly } from './support/deployment.ts'
import { type PgBouncer, startPgBouncer } from './support/pgbouncer.ts'

let cluster: Cluster
let pooler: PgBouncer
let deployment: Deployment | null = null

afterEach(async () => {
  await deployment?.stop()
  deployment = null
  await pooler.remove()
  await cluster.remove()
})

function after(ms: number): () => boolean {
  const endMs = performance.now() + ms
  return () => performance.now() > endMs
}

const SHOWN = `select current_setting('lock_timeout') as lock_timeout,
  current_setting('statement_timeout') as statement_timeout,
  current_setting('idle_in_transaction_session_timeout') as idle_timeout,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('search_path') as search_path`
const OURS = { lock_timeout: '5s', statement_timeout: '10s', idle_timeout: '10s', synchronous_commit: 'on' }
const THEIRS = { lock_timeout: '0', statement_timeout: '0', idle_timeout: '0', synchronous_commit: 'off' }
const DEFAULT_PATH = '"$user", public'

test.each([
  { poolMode: 'transaction', ignoresOptions: false },
  { poolMode: 'transaction', ignoresOptions: true },
  { poolMode: 'session', ignoresOptions: true },
] as const)('%o: under load each call counts once, limits and our settings hold, and nothing of them reaches other clients', async (options) => {
  cluster = await startCluster()
  const direct = new pg.Client({ connectionString: cluster.url })
  direct.on('error', () => {})
  await direct.connect()
  await direct.query('alter database postgres set synchronous_commit = off')
  pooler = await startPgBouncer(cluster, options)
  deployment = await deploy(pooler.url)
  const { pool } = deployment

  const calls = await deployment.callUntil(after(5_000))
  const counted = await deployment.counted(calls)
  expect({ ...counted, ids: [...counted.ids].sort() }).toEqual(exactly(calls))
  expect(calls.length).toBeGreaterThan(20)
  await expectLimitsAndAlerts(deployment)

  expect((await pool.query(SHOWN)).rows[0]).toMatchObject(OURS)
  expect(await inTransaction(pool, async (session) => (await session.query(SHOWN)).rows[0])).toMatchObject(
    OURS,
  )
  // Another program behind the same pooler.
  for (let round = 0; round < 20; round += 1) {
    const other = new pg.Client({ connectionString: pooler.url })
    await other.connect()
    expect((await other.query(SHOWN)).rows[0]).toEqual({ ...THEIRS, search_path: DEFAULT_PATH })
    await other.end()
  }

  const today = await selectToday(pool)
  await inTransaction(pool, (session) => addCallDay(session, addDays(today, -50)))
  await inTransaction(pool, (session) => addCallDay(session, addDays(today, -51)))
  expect((await pruneAgain(pool))?.dropped).toHaveLength(2)
  expect((await pruneAgain(pool))?.dropped).toEqual([])
  const { rows } = await direct.query(`select count(*)::int as locks from pg_locks where locktype = 'advisory'
    and pid in (select pid from pg_stat_activity where state = 'idle')`)
  expect(rows).toEqual([{ locks: 0 }])
  await direct.end()
})

/** The worker may be at it. */
async function pruneAgain(pool: Postgres) {
  for (;;) {
    const pruned = await prune(pool, 35)
    if (pruned !== null) return pruned
  }
}

test('a pooler that is killed under load costs no call and counts none twice', async () => {
  cluster = await startCluster()
  pooler = await startPgBouncer(cluster, { poolMode: 'transaction', ignoresOptions: false })
  deployment = await deploy(pooler.url)
  const isOver = after(6_000)
  const calling = deployment.callUntil(isOver)
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, 800))
    await pooler.kill()
    await new Promise((resolve) => setTimeout(resolve, 200))
    await pooler.start()
  }
  const calls = await calling
  const counted = await deployment.counted(calls)
  expect({ ...counted, ids: [...counted.ids].sort() }).toEqual(exactly(calls))
})

test('two poolers in one URL: one that is away is passed over', async () => {
  cluster = await startCluster()
  pooler = await startPgBouncer(cluster, { poolMode: 'transaction', ignoresOptions: true })
  const url = new URL(pooler.url)
  const pool = openPostgres(
    `postgres://${url.username}:${url.password}@127.0.0.1:1,${url.host}/postgres?target_session_attrs=read-write`,
    { max: 2, statementTimeoutMs: 10_000, applicationName: 'test', log: SILENT_LOG },
  )
  expect((await pool.query(SHOWN)).rows[0]).toMatchObject({ lock_timeout: '5s' })
  await pool.end()
})
