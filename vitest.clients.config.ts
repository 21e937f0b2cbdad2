import { defineConfig } from 'vitest/config'

/**
 * Real client libraries through the gateway, `npm run clients`. They are installed from their registries, and some need
 * Python, so `npm test` leaves them out.
 */
export default defineConfig({
  test: {
    include: ['test/clients/real/**/*.clients.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/clients/real/install.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    fileParallelism: false,
  },
})
