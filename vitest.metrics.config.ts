import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * Rules, dashboards and spans on a real Prometheus and a real collector, `npm run test:metrics`. It unpacks Prometheus
 * from the system's packages and builds a collector with Go, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/watch/**/*.watch.ts'],
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
})
