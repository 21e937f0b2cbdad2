import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { startPrivateRedis, type TestServer } from '../support/servers/servers.ts'
import { type Deployment, startDeployment } from './support/deployment.ts'

/** What the streams may take beside what Redis needs for itself. */
const ROOM_BYTES = 1_500_000

let server: TestServer | null = null
let deployment: Deployment | null = null
let redis: Redis | null = null

afterEach(async () => {
  redis?.disconnect()
  await deployment?.stop()
  await server?.stop()
})

test.each([
  ['one producer', 1, {}],
  ['eight producers', 24, { GATEWAY_PROCESSES: '2', STREAM_SHARDS: '4' }],
])('a Redis that records of %s have filled costs no call, and is emptied by a worker that starts into it', async (_, clients, settings) => {
  server = await startPrivateRedis()
  deployment = await startDeployment(server.url, settings, clients)
  redis = new Redis(server.url)
  const direct = redis
  const { worker, loadWhile } = deployment
  await deployment.call(clients)
  await deployment.expectExact()

  await worker.kill()
  const used = Number(/used_memory:(\d+)/.exec(await direct.info('memory'))?.[1])
  await direct.config('SET', 'maxmemory', `${used + ROOM_BYTES}`)
  const isFull = () =>
    direct.set('one more', 'x'.repeat(1_000)).then(
      () => false,
      (error) => /OOM/.test(String(error)),
    )
  await loadWhile(async () => {
    await expect.poll(isFull, { timeout: 60_000 }).toBe(true)
  }, 2_000)
  await direct.config('SET', 'maxmemory', `${used + ROOM_BYTES / 2}`)
  expect(await isFull()).toBe(true)

  await loadWhile(async () => {
    await worker.start()
    await delay(3_000)
  })
  await deployment.expectExact(120_000)
})
