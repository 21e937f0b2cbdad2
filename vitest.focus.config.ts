import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/** The FinOps Foundation's validator, `npm run test:focus`. It needs Python, so `npm test` leaves it out. */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/focus/**/*.focus.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/focus/install.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
})
