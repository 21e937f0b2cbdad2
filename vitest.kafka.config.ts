import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/** Calls to a real Kafka, `npm run test:kafka`. It needs Java and Maven, so `npm test` leaves it out. */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/kafka/**/*.kafka.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/kafka/support/global-setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
})
