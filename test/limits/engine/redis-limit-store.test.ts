import { afterAll, beforeAll, expect, test } from 'vitest'
import { gatewayChannel } from '../../../src/domain/redis/redis-names.ts'
import { listenForKeyChanges } from '../../../src/keys/key-version.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { until } from '../../../src/lib/repeat.ts'
import { RedisLimitStore } from '../../../src/limits/sharing/redis-limit-store.ts'
import { withRedis } from '../../../src/store/connection/redis.ts'
import { CLOCK_OFFSET_MS } from '../../clock/clock.ts'
import { patienceMs } from '../../support/patience.ts'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'

let server: TestServer
let store: RedisLimitStore
let connections = 0
const onConnected = () => {
  connections += 1
}

const request = (token: string, newToken: string, writes: readonly string[]) => ({
  name: 'client',
  keepMs: 60_000,
  token,
  newToken,
  gatewayId: 'one',
  writes,
})

beforeAll(async () => {
  server = await startPrivateRedis()
  store = new RedisLimitStore({ redisUrl: server.url, redisPrefix: 'test:', log: SILENT_LOG, onConnected })
  await until(() => store.exchange(request('?', '', [])).catch(() => null), { timeoutMs: patienceMs() })
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
  await expect(store.exchange(request('?', '', []))).rejects.toThrow()
  server.thaw()
  expect(
    await until(() => store.exchange(request('?', '', [])).catch(() => null), { timeoutMs: patienceMs() }),
  ).not.toBeNull()
})

test('each connection to Redis is announced, as another server may have taken over', async () => {
  const before = connections
  expect(before).toBeGreaterThan(0)
  await withRedis(server.url, 5_000, SILENT_LOG, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal'))
  await expect.poll(() => connections).toBeGreaterThan(before)
})

test('since when Redis keeps what it has is said, and begins again once it was flushed', async () => {
  const ask = async () => await until(() => store.keptSince().catch(() => null), { timeoutMs: patienceMs() })
  const first = await ask()
  const second = await ask()
  expect(second?.beganMs).toBe(first?.beganMs)
  expect(second?.ageMs).toBeGreaterThanOrEqual(first?.ageMs ?? 0)
  await withRedis(server.url, 5_000, SILENT_LOG, (redis) => redis.flushall())
  const flushed = await ask()
  expect(flushed?.beganMs).toBeGreaterThan(first?.beganMs ?? 0)
  expect(flushed?.ageMs).toBe(0)
})

test('a gateway hears on its channel for as long as it lives', async () => {
  const one = listenForKeyChanges(server.url, 'test:', SILENT_LOG, () => {}, 'one', [
    gatewayChannel('test:', 'one'),
  ])
  await expect.poll(() => store.findDeaf(['one', 'two'])).toEqual(['two'])
  one.close()
  await expect.poll(() => store.findDeaf(['one', 'two'])).toEqual(['one', 'two'])
})
