import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * `npm run test:api`: schemathesis reads `/openapi.json` of a running gateway and sends thousands of requests by it. It
 * is installed from Python's registry, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/operator/fuzz/**/*.api.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/operator/fuzz/install.ts'],
    testTimeout: 1_800_000,
    fileParallelism: false,
  },
})
