import { afterAll, beforeAll, expect, test } from 'vitest'
import { RedisLimitStore } from '../../../src/gateway/limits/sharing/redis-limit-store.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { until } from '../../../src/lib/until.ts'
import { CLOCK_OFFSET_MS } from '../../clock/clock.ts'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'

let server: TestServer
let store: RedisLimitStore

const request = (token: string, newToken: string, writes: readonly string[]) => ({
  clientId: 'client',
  token,
  newToken,
  gatewayId: 'one',
  writes,
})

beforeAll(async () => {
  server = await startPrivateRedis()
  store = new RedisLimitStore({ redisUrl: server.url, redisPrefix: 'test:', log: SILENT_LOG })
  await until(() => store.exchange(request('?', '', [])).catch(() => null), { timeoutMs: 5_000 })
})

afterAll(async () => {
  store.close()
  await server.stop()
})

test('Redis writes where the token is known, and otherwise answers with all that it has', async () => {
  const first = await store.exchange(request('', 't1', ['g:one', 'text', 'g:two', 'other']))
  expect(first).toMatchObject({ isTaken: true, fields: new Map() })
  expect(Math.abs(first.redisMs + CLOCK_OFFSET_MS - Date.now())).toBeLessThan(5_000)
  const late = await store.exchange(request('', 't2', ['g:one', 'late']))
  expect(late.isTaken).toBe(false)
  expect(Object.fromEntries(late.fields)).toEqual({
    'g:one': 'text',
    'g:two': 'other',
    'a:one': `${first.redisMs}`,
    t: 't1',
  })
  expect((await store.exchange(request('t1', 't3', ['g:two', '']))).isTaken).toBe(true)
  expect([...(await store.exchange(request('?', '', []))).fields.keys()].sort()).toEqual([
    'a:one',
    'g:one',
    't',
  ])
})

test('a Redis that is silent counts as away within a moment, and is used again once it answers', async () => {
  server.freeze()
  const askedAtMs = performance.now()
  await expect(store.exchange(request('?', '', []))).rejects.toThrow()
  expect(performance.now() - askedAtMs).toBeLessThan(2_000)
  server.thaw()
  expect(
    await until(() => store.exchange(request('?', '', [])).catch(() => null), { timeoutMs: 10_000 }),
  ).not.toBeNull()
})
