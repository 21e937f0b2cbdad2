import { afterAll, beforeAll, expect, test } from 'vitest'
import { offsetsName, queuePrefix, streamName } from '../../src/domain/redis/redis-names.ts'
import { startCluster, type TestCluster } from './support/cluster.ts'
import { type Deployment, PREFIX, startDeployment } from './support/deployment.ts'
import { type RedisNode, waitUntil } from './support/redis-node.ts'

const STREAM = streamName(PREFIX, 0)

let cluster: TestCluster
let deployment: Deployment

beforeAll(async () => {
  cluster = await startCluster()
  deployment = await startDeployment(cluster.url)
})
afterAll(async () => {
  await deployment?.stop()
  await cluster?.stop()
})

test('calls are counted over a cluster, and the job queue works on it', async () => {
  await deployment.call(20)
  await deployment.expectExact()
  const { master } = await cluster.ownerOf(STREAM)
  // A hint: it is written after the commit, and the first pruning clears it away.
  const isHinted = async () => {
    await deployment.call(1)
    return await master.ask('EXISTS', offsetsName(PREFIX, STREAM))
  }
  await expect.poll(isHinted, { timeout: 10_000 }).toBe(1)
  const queue = `${queuePrefix(PREFIX)}:jobs:repeat`
  const owner = await cluster.ownerOf(queue)
  expect(Number(await owner.master.ask('ZCARD', queue))).toBeGreaterThan(1)
})

test('a master that is killed with -9 under load costs no call and doubles none', async () => {
  await deployment.loadWhile(async () => {
    await deployment.loadWhile(async () => {}, 1_500)
    const { master, replica } = await cluster.ownerOf(STREAM)
    await master.kill()
    await waitUntil('the replica is master', () => isMaster(replica))
    await master.start()
  }, 4_000)
  await deployment.expectExact()
})

test('a failover on demand under load, there and back, costs no call and doubles none', async () => {
  await deployment.loadWhile(async () => {
    for (let round = 0; round < 2; round += 1) {
      const { replica } = await cluster.ownerOf(STREAM)
      await expect
        .poll(() => replica.ask('CLUSTER', 'FAILOVER').catch(String), { timeout: 30_000 })
        .toBe('OK')
      await waitUntil('the replica is master', () => isMaster(replica))
      await deployment.loadWhile(async () => {}, 1_500)
    }
  })
  await deployment.expectExact()
})

test('the master of the job queue killed with -9 stops no counting, and its schedules are there again', async () => {
  const queue = `${queuePrefix(PREFIX)}:jobs:repeat`
  await deployment.loadWhile(async () => {
    const { master, replica } = await cluster.ownerOf(queue)
    await master.kill()
    await waitUntil('the replica is master', () => isMaster(replica))
    await replica.ask('DEL', queue) // what the replica had not got yet
    await master.start()
  }, 4_000)
  await deployment.expectExact()
  const schedules = async () => {
    const { master } = await cluster.ownerOf(queue)
    return Number(await master.ask('ZCARD', queue))
  }
  await expect.poll(schedules, { timeout: 30_000 }).toBeGreaterThan(1)
})

async function isMaster(node: RedisNode): Promise<boolean> {
  return /^master/.test(String(await node.ask('ROLE')))
}
