import { fork } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { takeDataFolder } from '../../src/standalone/data-folder/data-folder.ts'

const root = mkdtempSync(join(tmpdir(), 'tallygate-test-folder-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Another process that takes the folder and says what it got. */
async function takeElsewhere(path: string) {
  const child = fork(join(import.meta.dirname, 'take-data-folder.ts'), [path])
  const [got] = await new Promise<unknown[]>((resolve) =>
    child.once('message', (...message) => resolve(message)),
  )
  return {
    got,
    async kill() {
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
    },
  }
}

test('a folder is one process’s at a time, and the next learns who has it', async () => {
  const path = join(root, 'one')
  const folder = takeDataFolder(path)
  if ('heldBy' in folder) throw new Error('not held by another process')
  folder.announce({ state: 'running', baseUrl: 'http://127.0.0.1:1' })
  const other = await takeElsewhere(path)
  expect(other.got).toEqual({ heldBy: { pid: process.pid, state: 'running', baseUrl: 'http://127.0.0.1:1' } })
  await other.kill()
  folder.release()
  const next = await takeElsewhere(path)
  expect(next.got).toBe('taken')
  await next.kill()
})

test('kill -9 of its holder frees it', async () => {
  const path = join(root, 'two')
  const holder = await takeElsewhere(path)
  expect(takeDataFolder(path)).toHaveProperty('heldBy')
  await holder.kill()
  const folder = takeDataFolder(path)
  expect(folder).not.toHaveProperty('heldBy')
})

test('a data folder is closed to others, also one that was open before', () => {
  const path = join(root, 'three')
  const folder = takeDataFolder(path)
  if ('heldBy' in folder) throw new Error('not held by another process')
  folder.announce({ state: 'starting', baseUrl: null })
  expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(statSync(folder.folder('below')).mode & 0o777).toBe(0o700)
  expect(statSync(join(path, 'holder.json')).mode & 0o777).toBe(0o600)
})
