import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Brings about what goes wrong in production, and runs load in which nothing does:
 *
 *     npm run test:faults                          # all, with 10 minutes of load
 *     npm run test:faults -- --minutes 60          # with an hour of load; 0: none
 *     npm run test:faults -- --fault 'disk is full'   # those whose name has these words, and no load
 */
const VITEST = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, fault: { type: 'string' } },
})
const chosen =
  values.fault === undefined
    ? values.minutes === '0'
      ? ['test/faults/named.faults.ts']
      : []
    : ['test/faults/named.faults.ts', '--testNamePattern', values.fault]
const child = spawn(
  process.execPath,
  [VITEST, 'run', '--config', 'vitest.faults.config.ts', '--reporter', 'verbose', ...chosen],
  { env: { ...process.env, TEST_MINUTES: values.minutes }, stdio: 'inherit' },
)
process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
