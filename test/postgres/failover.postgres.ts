import { afterEach, expect, test } from 'vitest'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { type Deployment, deploy, exactly } from './support/deployment.ts'

let primary: Cluster
let standby: Cluster
let deployment: Deployment | null = null

afterEach(async () => {
  await deployment?.stop()
  deployment = null
  await standby?.remove()
  await primary?.remove()
})

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const hostsUrl = (attrs: string) =>
  `postgres://${primary.user}:${primary.password}@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres` +
  `?target_session_attrs=${attrs}`

async function onStandby<T>(work: (pool: Postgres) => Promise<T>): Promise<T> {
  const pool = openPostgres(standby.url, {
    max: 1,
    statementTimeoutMs: 30_000,
    applicationName: 'test standby',
    log: SILENT_LOG,
  })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

test('a primary killed under load and its standby promoted: no restart, no call lost, none counted twice', async () => {
  primary = await startCluster()
  standby = await primary.addStandby()
  deployment = await deploy(hostsUrl('read-write'))
  let isOver = false
  const calling = deployment.callUntil(() => isOver)
  await wait(4_000)
  await primary.kill()
  await wait(2_000)
  await onStandby((pool) => pool.query('select pg_promote()'))
  await wait(5_000)
  isOver = true
  const calls = await calling
  const counted = await deployment.counted(calls)
  expect(calls.length).toBeGreaterThan(50)
  expect({ ...counted, ids: [...counted.ids].sort() }).toEqual(exactly(calls))
  // The old primary returns as a primary of its own, and is left alone.
  await primary.start()
  await wait(1_000)
  let again = false
  const more = deployment.callUntil(() => again)
  await wait(2_000)
  again = true
  const all = [...calls, ...(await more)]
  const after = await deployment.counted(all)
  expect({ ...after, ids: [...after.ids].sort() }).toEqual(exactly(all))
})

test('each target_session_attrs leads to the server that it names', async () => {
  primary = await startCluster()
  standby = await primary.addStandby()
  const isStandby = async (attrs: string, readsOnly = false) => {
    const pool = openPostgres(hostsUrl(attrs), {
      max: 1,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
      readsOnly,
      log: SILENT_LOG,
    })
    try {
      return (await pool.query('select pg_is_in_recovery() as it')).rows[0].it
    } finally {
      await pool.end()
    }
  }
  expect(await isStandby('read-write')).toBe(false)
  expect(await isStandby('primary')).toBe(false)
  expect(await isStandby('standby')).toBe(true)
  expect(await isStandby('read-only')).toBe(true)
  expect(await isStandby('prefer-standby')).toBe(true)
  expect(await isStandby('any')).toBe(false)
  await primary.stop()
  expect(await isStandby('prefer-standby')).toBe(true)
  expect(await isStandby('any', true)).toBe(true)
  await expect(isStandby('any')).rejects.toThrow('cannot be written to')
  await primary.start()
  await standby.stop()
  expect(await isStandby('prefer-standby')).toBe(false)
})
