import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { chooseServerAccount } from '../../../src/standalone/servers/server-account.ts'

const closed = mkdtempSync(join(tmpdir(), 'tallygate-test-account-')) // 0700, as root's home is
afterAll(() => rmSync(closed, { recursive: true, force: true }))

test('a server is never root, and reaches its folder and its programs below a closed one', () => {
  const program = join(closed, 'program')
  writeFileSync(program, '#!/bin/sh\nexit 0\n')
  chmodSync(program, 0o755)
  const folder = join(closed, 'server')
  mkdirSync(folder, { mode: 0o700 })
  const runAs = chooseServerAccount(folder, { file: program, args: [] })
  const { file, args, account } = runAs('/bin/sh', [
    '-c',
    'id -u; touch "$1/server/mine" && echo wrote',
    'sh',
    closed,
  ])
  const [uid, wrote] = execFileSync(file, args, { encoding: 'utf8', cwd: '/', ...account }).split('\n')
  expect(Number(uid)).not.toBe(0)
  expect(wrote).toBe('wrote')
})

test('where nothing helps, the error says what does', () => {
  const folder = join(closed, 'other')
  mkdirSync(folder, { mode: 0o700 })
  const choose = () => chooseServerAccount(folder, { file: join(closed, 'missing'), args: [] })
  if (process.getuid?.() === 0) expect(choose).toThrow(/cannot reach .* set DATABASE_URL/)
  else expect(choose()('x', [])).toEqual({ file: 'x', args: [] })
})
