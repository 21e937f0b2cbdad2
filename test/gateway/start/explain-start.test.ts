import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { explainStart } from '../../../src/gateway/explain-start.ts'
import { createOwnFolders } from '../../../src/ledger/own-producers.ts'

const config = { host: '127.0.0.1', port: 8080, adminHost: '127.0.0.1', adminPort: 8081, journalDir: '/j' }

test('a port that is taken is named by its variable', async () => {
  const first = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void first.close())
  await new Promise((resolve) => first.once('listening', resolve))
  const { port } = first.address() as { port: number }
  const second = createServer().listen(port, '127.0.0.1')
  const error = await new Promise((resolve) => second.once('error', resolve))
  expect(explainStart(error, { ...config, port })).toBe(
    `PORT ${port} is in use by another program at 127.0.0.1`,
  )
  expect(explainStart(error, { ...config, adminPort: port })).toBe(
    `ADMIN_PORT ${port} is in use by another program at 127.0.0.1`,
  )
})

test('a folder that takes no journal is named by its variable', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-start-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const journalDir = join(file, 'journal')
  const error = await createOwnFolders(journalDir, 1).catch((thrown: unknown) => thrown)
  expect(explainStart(error, { ...config, journalDir })).toBe(
    `JOURNAL_DIR ${journalDir} is a file, or lies in one (ENOTDIR)`,
  )
})

test.each([
  ['EROFS', 'is on a file system that is read-only'],
  ['EACCES', 'may not be written by this user'],
  ['ENOSPC', 'is on a disk that is full'],
])('%s of the journal is a sentence, and of another path is not ours', (code, why) => {
  const error = { code, syscall: 'mkdir', path: '/j/.new-1' }
  expect(explainStart(error, config)).toBe(`JOURNAL_DIR /j ${why} (${code})`)
  expect(explainStart({ ...error, path: '/elsewhere' }, config)).toBeNull()
  expect(explainStart(new Error('other'), config)).toBeNull()
})
