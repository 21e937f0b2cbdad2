import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * `npm run test:recordings`: answers that upstreams really sent, in the folder RECORDINGS_DIR. They are not a part of
 * the project, so `npm test` does without.
 */
process.env.RECORDINGS_DIR = resolve(process.env.RECORDINGS_DIR || '../shared/recordings')

export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/**/*.recordings.ts'],
    globalSetup: ['test/providers/recordings/global-setup.ts', 'test/support/servers/global-setup.ts'],
  },
})
