import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { InOrder } from './test/support/order.ts'
import { DEFAULTS, findTestFiles, pathsOf, SHARED } from './test/support/suites.ts'

const files = findTestFiles().filter(({ isLong, isScaled }) => isLong || isScaled)

/**
 * `npm run test:long`: what takes minutes. Files that say `@long`, and those of `npm test` that do more rounds here
 * (`test/support/rounds.ts`).
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    env: { TEST_LONG: '1' },
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 1_200_000,
    // Half of the time they wait for servers and for processes that start.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    sequence: { sequencer: InOrder },
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: pathsOf(files, ({ isAlone }) => isAlone) },
      },
      {
        extends: true,
        test: {
          experimental: SHARED.experimental,
          name: 'long',
          include: pathsOf(files, ({ isLong, isAlone, isMeasured }) => isLong && !isAlone && !isMeasured),
        },
      },
      {
        extends: true,
        test: {
          experimental: SHARED.experimental,
          name: 'measured',
          include: pathsOf(files, ({ isMeasured }) => isMeasured),
          // Behind all others, one file at a time.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...SHARED,
          name: 'more rounds',
          include: pathsOf(files, ({ isLong, isAlone }) => !isLong && !isAlone),
        },
      },
    ],
  },
})
