import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * HTTP/2 as h2spec checks it, `npm run test:h2`: the gateway beside a bare server of Node. It is built from the Go module
 * proxy, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/http/conformance/**/*.h2.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/http/conformance/install.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
  },
})
