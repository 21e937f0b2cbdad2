import { afterEach, expect, test } from 'vitest'
import { prune } from '../../workers/prune.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { type Deployment, deploy, exactly } from './support/deployment.ts'

let cluster: Cluster
let deployment: Deployment | null = null

afterEach(async () => {
  await deployment?.stop()
  deployment = null
  await cluster?.remove()
})

test('on PostgreSQL 15 the schema is made, calls are counted, and partitions come and go', async () => {
  const bin = '/usr/lib/postgresql/15/bin'
  cluster = await startCluster({ initdb: `${bin}/initdb`, postgres: `${bin}/postgres` })
  deployment = await deploy(cluster.url)
  const { rows } = await deployment.pool.query('show server_version_num')
  expect(Math.floor(Number(rows[0].server_version_num) / 10_000)).toBe(15)
  const endMs = performance.now() + 2_000
  const calls = await deployment.callUntil(() => performance.now() > endMs)
  const counted = await deployment.counted(calls)
  expect({ ...counted, ids: [...counted.ids].sort() }).toEqual(exactly(calls))
  const pruned = await prune(deployment.pool, 1)
  expect(pruned === null || pruned.dropped.length > 0).toBe(true)
})
