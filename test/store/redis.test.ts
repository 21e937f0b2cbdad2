import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoreLog } from '../../src/store/postgres.ts'
import { openRedis, type Redis, untilReady } from '../../src/store/redis.ts'
import { startPrivateRedis, type TestServer } from '../support/servers.ts'
import { quiet } from '../workers/records.ts'

let server: TestServer
const opened: Redis[] = []

beforeAll(async () => {
  server = await startPrivateRedis()
})
afterAll(async () => {
  for (const redis of opened) redis.disconnect()
  await server.stop()
})

function open(whenAway: 'fail' | 'wait', log: StoreLog = quiet): Redis {
  const redis = openRedis(server.url, { name: 'test', whenAway, silenceMs: 500, log })
  opened.push(redis)
  return redis
}

test('a command fails soon when the server accepts and never answers, and works when it does again', async () => {
  const redis = open('fail')
  await untilReady(redis, 5_000)
  server.freeze()
  await expect(redis.ping()).rejects.toThrow()
  server.thaw()
  await untilReady(redis, 5_000)
  expect(await redis.ping()).toBe('PONG')
})

test('with the server away commands fail at once or wait, as asked, and one line is logged for many attempts', async () => {
  const lines: string[] = []
  const counting = { ...quiet, warn: (_: object, message: string) => void lines.push(message) }
  const [failing, waiting] = [open('fail', counting), open('wait')]
  await Promise.all([untilReady(failing, 5_000), untilReady(waiting, 5_000)])
  await server.kill()
  await expect.poll(() => failing.status, { timeout: 10_000 }).toBe('reconnecting')
  await expect(failing.ping()).rejects.toThrow()
  const answer = waiting.ping()
  await expect(untilReady(failing, 300)).rejects.toThrow('not reachable')
  expect(lines).toEqual(['Redis is not reachable'])
  await server.start()
  expect(await answer).toBe('PONG')
  await untilReady(failing, 5_000)
  expect(await failing.ping()).toBe('PONG')
})
