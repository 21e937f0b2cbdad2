import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Deployment, startDeployment } from './support/deployment.ts'
import { waitUntil } from './support/redis-node.ts'
import { MASTER, startSentinels, type TestSentinels } from './support/sentinels.ts'

let redis: TestSentinels
let deployment: Deployment

beforeAll(async () => {
  redis = await startSentinels()
  deployment = await startDeployment(redis.url)
})
afterAll(async () => {
  await deployment?.stop()
  await redis?.stop()
})

test('calls are counted on the master that the Sentinels name', async () => {
  await deployment.call(20)
  await deployment.expectExact()
})

test('a master that is killed with -9 under load costs no call and doubles none', async () => {
  await deployment.loadWhile(async () => {
    const before = await redis.master()
    await before.kill()
    await waitUntil('another is master', async () => (await redis.master()) !== before)
    await before.start()
  }, 4_000)
  await deployment.expectExact()
})

test('no gateway stays at a master that comes back empty after its failover', async () => {
  const before = await redis.master()
  await deployment.loadWhile(async () => {
    await before.kill()
    await waitUntil('another is master', async () => (await redis.master()) !== before)
    await before.start()
    const ours = async () =>
      String(await before.ask('CLIENT', 'LIST'))
        .split('\n')
        .filter((line) => /\bname=tallygate-limits\b/.test(line) && !/\bage=[012]\b/.test(line)).length
    for (let times = 0; times < 20; times += 1) {
      await delay(250)
      expect(await ours()).toBe(0)
    }
    // The Sentinels have not made a replica of it yet: what was written to it would be lost.
    expect(await before.ask('ROLE')).toContain('master')
  }, 6_000)
  await deployment.expectExact()
})

test('a failover on demand under load, with a Sentinel dead, costs no call and doubles none', async () => {
  await deployment.loadWhile(async () => {
    const [first, second] = redis.sentinels
    await first?.kill()
    const before = await redis.master()
    const failover = async () => (await second?.ask('SENTINEL', 'FAILOVER', MASTER)) === 'OK'
    await waitUntil('the failover begins', failover)
    await waitUntil('another is master', async () => (await redis.master()) !== before)
  }, 4_000)
  await deployment.expectExact()
  const answered = deployment.answered
  await deployment.call(1)
  expect(deployment.answered).toBe(answered + 1)
  await deployment.expectExact()
})
