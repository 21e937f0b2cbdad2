import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * Real client libraries through the gateway, `npm run clients`. They are installed from their registries, and some need
 * Python, so `npm test` leaves them out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    // A client that is not there shows nothing: such a test is skipped aloud, or fails.
    expect: { ...DEFAULTS.expect, requireAssertions: true },
    include: ['test/clients/**/*.clients.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/clients/real/install.ts'],
    fileParallelism: false,
  },
})
