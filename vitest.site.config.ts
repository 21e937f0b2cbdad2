import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/** `npm run test:site`: the site of docs/ in a real Chromium, and before Lighthouse. It is built first. */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/site/**/*.site.ts'],
    globalSetup: ['test/site/serve-site.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
})
