import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * `npm run test:pages`: both pages in a real Chromium: `CHROMIUM` names it, or it is found where systems install it. A
 * browser is too much for `npm test`.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/pages/**/*.pages.ts'],
    globalSetup: ['test/support/servers/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
})
