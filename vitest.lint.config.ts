import { defineConfig } from 'vitest/config'
import { DEFAULTS, SHARED } from './test/support/suites.ts'

/** Rules of the tree and of its prose: the second half of `npm run lint`. */
export default defineConfig({
  test: { ...DEFAULTS, ...SHARED, include: ['test/**/*.lint.ts'] },
})
