import { defineConfig } from 'vitest/config'
import { findUnitTests } from './test/support/unit-tests.ts'

/** `npm run test:unit`: the tests that need no PostgreSQL, no Redis and no program beside them. */
export default defineConfig({
  test: {
    include: [...findUnitTests()],
    // Random and exhaustive tests are shorter here than in `npm test`, so that all of it takes under 30 s.
    env: {
      ORACLE_CALLS: '5000',
      CUT_BYTES: '256',
      CUT_PLACES: '25',
      MODEL_SCHEDULES: '200',
    },
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
  },
})
