import { afterEach, expect, test, vi } from 'vitest'
import { send } from '../../../packages/http-client/test/taken-answer.ts'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { ReloadableConfig } from '../../../src/gateway/reloadable-config.ts'
import { createLog } from '../../../src/lib/log.ts'
import { stopBehindFile } from '../../support/leave-nothing.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { startUpstream } from '../../support/upstream.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('an attempt goes to the target that its call began with, however long ago the configuration was reloaded', async () => {
  const upstream = await startUpstream()
  const config = loadGatewayConfig({
    DATABASE_URL: 'postgresql://x',
    REDIS_URL: 'redis://x',
    UPSTREAM_URL: upstream.url,
    KEY_PEPPER: 'x',
  })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const reloadable = new ReloadableConfig(config, createLog('silent', 'test'))
  const [target] = reloadable.table.all
  if (target === undefined) throw new Error('there is no upstream')
  reloadable.reload(config)
  await vi.advanceTimersByTimeAsync(3_600_000)
  vi.useRealTimers()
  expect((await send(target.pool, { path: '/v1/late' }).ended).status).toBe(200)
  expect(upstream.requests.map(({ url }) => url)).toEqual(['/v1/late'])
  // Nothing of the former configuration is kept behind it.
  await expect.poll(() => target.pool.size).toEqual({ open: 0, kept: 0 })
  reloadable.stopListing()
  await reloadable.close()
  await upstream.close()
})

test('calls of a path that was called before go where the reloaded configuration says, with its credential', async () => {
  const { upstream: former, stack } = await startOwnStack()
  const next = await startUpstream()
  stopBehindFile(() => next.close())
  const { key } = await stack.addClient('acme')
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = () => fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers, body })
  await call()
  await call()
  expect(former.requests).toHaveLength(2)
  const env = { ...stack.env, UPSTREAM_URL: next.url, UPSTREAM_API_KEY: 'sk-next' }
  stack.gateway.reload(loadGatewayConfig(env))
  await call()
  await call()
  expect(former.requests).toHaveLength(2)
  expect(next.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk-next',
    'Bearer sk-next',
  ])
})
