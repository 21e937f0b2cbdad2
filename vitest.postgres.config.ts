import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * Postgres as people run it, `npm run test:postgres`: behind a pooler, with a standby, in its oldest release at hand. It
 * installs PgBouncer and PostgreSQL 15, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/postgres/**/*.postgres.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/postgres/support/install.ts'],
    testTimeout: 300_000,
    fileParallelism: false,
  },
})
