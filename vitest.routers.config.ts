import { defineConfig } from 'vitest/config'

/**
 * The attacks on real routers, `npm run test:routers`. They install the routers, so `npm test` leaves them
 * out.
 */
export default defineConfig({
  test: {
    include: ['test/routers/**/*.routers.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/routers/support/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    fileParallelism: false,
  },
})
