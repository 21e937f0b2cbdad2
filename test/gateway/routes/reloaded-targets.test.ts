import { afterEach, expect, test, vi } from 'vitest'
import { send } from '../../../packages/http-client/test/taken-answer.ts'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { ReloadableConfig } from '../../../src/gateway/reloadable-config.ts'
import { createLog } from '../../../src/lib/log.ts'
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
