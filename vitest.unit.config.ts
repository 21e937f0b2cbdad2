import { defineConfig } from 'vitest/config'
import { findUnitTests } from './test/support/unit-tests.ts'

/** `npm run test:unit`: the tests that need no PostgreSQL, no Redis and no program beside them. */
export default defineConfig({
  test: {
    include: [...findUnitTests()],
    // Random and exhaustive tests are shorter here than in `npm test`, so that all of it takes under 30 s.
    env: {
      ORACLE_CALLS: '20000',
      FUZZ_SECONDS: '0.5',
      FUZZ_SEED: '1',
      CUT_BYTES: '512',
      CUT_PLACES: '50',
      MODEL_SCHEDULES: '500',
    },
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
  },
})
