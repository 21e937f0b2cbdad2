import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isAlive } from '../../src/standalone/stand/child-processes.ts'

test('a test that timed out, and one whose process was ended, leave no program, no server and no folder', async () => {
  const config = 'test/fixtures/timed-out/vitest.config.ts'
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', config],
    { env: { ...process.env, NO_COLOR: '1' }, encoding: 'utf8' },
  )
  expect(status).toBe(1)
  expect(stdout + stderr).toContain('timed out in 50ms')
  const started = [...`${stdout}${stderr}`.matchAll(/started (\d+) (\S*)/g)]
  expect(started).toHaveLength(4)
  for (const [, pid, folder] of started) {
    await expect.poll(() => isAlive(Number(pid))).toBe(false)
    if (folder !== '') await expect.poll(() => existsSync(folder ?? '')).toBe(false)
  }
})
