import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/**
 * Runs when the image is built. It starts each program once without a configuration, so that it loads everything and
 * ends, and Node keeps what it compiled in NODE_COMPILE_CACHE. Containers cannot do that: their files are read-only.
 *
 *     NODE_COMPILE_CACHE=/app/compiled node src/standalone/container/compile-programs.ts
 */
const PROGRAMS = [
  ['src/gateway/server.ts'],
  ['workers/main.ts'],
  ['src/cli/main.ts', '--version'],
  ['src/standalone/container/own-address.ts'],
  ['src/standalone/container/write-secrets.ts'],
] as const

/** A program that starts in less than a second must have ended by then. */
const END_WITHIN_MS = 60_000

const { NODE_COMPILE_CACHE = '', PATH = '' } = process.env
for (const program of PROGRAMS) {
  const { status, stderr } = spawnSync(process.execPath, program, {
    env: { PATH, NODE_COMPILE_CACHE },
    timeout: END_WITHIN_MS,
    encoding: 'utf8',
  })
  if (status !== null && !stderr.includes('MODULE_NOT_FOUND')) continue
  throw new Error(`${program[0]} was to load everything and end, but: ${status ?? 'it ran on'}\n${stderr}`)
}
if (!existsSync(NODE_COMPILE_CACHE)) throw new Error('nothing was kept: NODE_COMPILE_CACHE names no folder')
