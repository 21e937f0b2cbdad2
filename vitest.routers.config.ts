import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * The attacks on real routers, `npm run test:routers`. They install the routers, so `npm test` leaves them
 * out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/routers/**/*.routers.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/routers/support/global-setup.ts'],
    fileParallelism: false,
  },
})
