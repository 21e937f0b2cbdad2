import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('a Node.js too old for the rest says so, and how to fix it', () => {
  const pretend =
    'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } })'
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, 'src/standalone/start.mjs'],
    { encoding: 'utf8' },
  )
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain('node scripts/postinstall.mjs')
})
