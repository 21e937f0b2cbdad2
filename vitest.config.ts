import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { InOrder } from './test/support/order.ts'
import { DEFAULTS, findTestFiles, pathsOf, SHARED } from './test/support/suites.ts'

const files = findTestFiles().filter(({ isLong }) => !isLong)

/** `npm test`. Files share a process; one that mocks a module, or says `@alone`, gets a process of its own. */
export default defineConfig({
  test: {
    ...DEFAULTS,
    // Two thirds of the time a test waits: for a timer, another process, or one of the servers.
    maxWorkers: 3 * availableParallelism(),
    sequence: { sequencer: InOrder },
    globalSetup: ['test/support/servers/global-setup.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: pathsOf(files, ({ isAlone }) => isAlone) },
      },
      {
        extends: true,
        test: { ...SHARED, name: 'shared', include: pathsOf(files, ({ isAlone }) => !isAlone) },
      },
    ],
  },
})
