import { defineConfig } from 'vitest/config'
import { DEFAULTS } from './test/support/suites.ts'

/**
 * All of HTTP/2, `npm run test:h2`: as h2spec checks it, the gateway beside a bare server of Node; attacks; 10,000 streams
 * on 100 connections. h2spec is built from the Go module proxy, so `npm test` leaves it out.
 */
export default defineConfig({
  test: {
    ...DEFAULTS,
    include: [
      'test/http/conformance/**/*.h2.ts',
      'test/http/http2/*.test.ts',
      'test/gateway/clients/{http2,many-streams}.test.ts',
    ],
    globalSetup: ['test/support/servers/global-setup.ts', 'test/http/conformance/install.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
  },
})
