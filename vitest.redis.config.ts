import { defineConfig } from 'vitest/config'

/**
 * Redis as people run it, `npm run test:redis`: clusters, Sentinels, TLS, users with few rights, sockets, and failovers
 * under load. It starts some twenty servers, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    include: ['test/redis/**/*.redis.ts'],
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    pool: 'forks',
    fileParallelism: false,
  },
})
