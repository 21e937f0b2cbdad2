import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * Limits of real processes, `npm run test:limits`: four gateways on one budget, stores that go away, midnights, and a
 * client that takes all of its tokens. It starts many processes and waits for minutes, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/limits/proof/**/*.limits.ts'],
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 600_000,
    fileParallelism: false,
  },
})
