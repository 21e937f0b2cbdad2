import { defineConfig } from 'vitest/config'
import { DEFAULTS, findTestFiles, pathsOf } from './test/support/suites.ts'

/**
 * `npm run test:long`: what takes minutes. Files that say `@long`, and those of `npm test` that do more rounds here
 * (`test/support/rounds.ts`).
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: pathsOf(findTestFiles(), ({ isLong, isScaled }) => isLong || isScaled),
    env: { TEST_LONG: '1' },
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 1_200_000,
  },
})
