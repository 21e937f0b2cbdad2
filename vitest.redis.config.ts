import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * Redis as people run it, `npm run test:redis`: clusters, Sentinels, TLS, users with few rights, sockets, and failovers
 * under load. It starts some twenty servers, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/redis/**/*.redis.ts'],
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 180_000,
    fileParallelism: false,
  },
})
