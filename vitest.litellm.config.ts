import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/** A LiteLLM of its real package, `npm run test:litellm`. It needs Python, so `npm test` leaves it out. */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: ['test/litellm/real/**/*.litellm.ts'],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/litellm/real/install.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
})
