import { defineConfig } from 'vitest/config'
import { DEFAULTS, findTestFiles, pathsOf, SHARED } from './test/support/suites.ts'

/** `npm run test:unit`: the tests that need no PostgreSQL, no Redis and no program beside them. */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: pathsOf(findTestFiles(), ({ isUnit, isAlone }) => isUnit && !isAlone),
    ...SHARED,
  },
})
