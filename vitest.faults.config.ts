import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * What goes wrong in production, brought about with real processes and servers: `npm run test:faults`. Each fault has to
 * be named within seconds, and repaired by what is printed. It starts processes for minutes, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/faults/**/*.faults.ts'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    fileParallelism: false,
  },
})
