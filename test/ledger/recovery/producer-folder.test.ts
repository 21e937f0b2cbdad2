import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { acquireLivenessLock } from '../../../src/ledger/recovery/liveness-lock.ts'
import {
  createProducerFolder,
  deleteProducerFolder,
  quarantineProducerFolder,
  readJournalDirectory,
} from '../../../src/ledger/recovery/producer-folder.ts'
import { namesIn, testFolder } from '../support/folders.ts'

const LIVENESS_LOCK = new URL('../../../src/ledger/recovery/liveness-lock.ts', import.meta.url).href

describe('the lock of a folder', () => {
  test('the lock of a folder is refused while it is held, also in the same process, and free after', () => {
    const { path, lock } = createProducerFolder(testFolder())
    expect(acquireLivenessLock(path)).toBeNull()
    lock.release()
    const again = acquireLivenessLock(path)
    expect(again).not.toBeNull()
    again?.release()
  })

  test('the lock of a folder is refused to another process, and free as soon as its holder is killed', async () => {
    const { path, lock } = createProducerFolder(testFolder())
    lock.release()
    const program = `import { acquireLivenessLock } from '${LIVENESS_LOCK}'
      console.log(acquireLivenessLock('${path}') === null ? 'refused' : 'held')
      setInterval(() => {}, 1_000)`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [said] = await once(holder.stdout, 'data')
    expect(String(said).trim()).toBe('held')
    expect(acquireLivenessLock(path)).toBeNull()
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const taken = await vi.waitFor(() => {
      const lock = acquireLivenessLock(path)
      expect(lock).not.toBeNull()
      return lock
    })
    taken?.release()
  })

  test('the lock of a folder stays held when other files of the folder are opened, closed and listed', () => {
    const { path, lock } = createProducerFolder(testFolder())
    namesIn(path)
    statSync(join(path, 'alive.db'))
    expect(acquireLivenessLock(path)).toBeNull()
    expect(acquireLivenessLock(path)).toBeNull()
    lock.release()
  })
})

describe('a producer’s folder', () => {
  test('a producer’s folder is readable by its owner alone', () => {
    const { path, lock } = createProducerFolder(testFolder())
    expect(statSync(path).mode & 0o777).toBe(0o700)
    for (const name of namesIn(path)) expect(statSync(join(path, name)).mode & 0o777).toBe(0o600)
    lock.release()
  })

  test('a producer’s folder never appears before its lock is held', () => {
    const directory = testFolder()
    const { producer, lock } = createProducerFolder(directory)
    expect(readJournalDirectory(directory)).toEqual({ producers: [producer], corrupt: 0, leftovers: [] })
    expect(namesIn(directory)).toEqual([producer])
    lock.release()
  })

  test('a producer’s folder is gone in one step when it is deleted', async () => {
    const directory = testFolder()
    const { producer, lock } = createProducerFolder(directory)
    const deleting = deleteProducerFolder(directory, producer)
    expect(readJournalDirectory(directory).producers).toEqual([])
    await deleting
    lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('a quarantined folder belongs to no producer any more, is counted, and replaces no other', () => {
    const directory = testFolder()
    const { producer, lock } = createProducerFolder(directory)
    lock.release()
    quarantineProducerFolder(directory, producer)
    mkdirSync(join(directory, producer))
    quarantineProducerFolder(directory, producer)
    expect(namesIn(directory)).toEqual([`${producer}.corrupt`, `${producer}.corrupt-2`])
    expect(readJournalDirectory(directory)).toEqual({ producers: [], corrupt: 2, leftovers: [] })
  })
})

test('what a process left when it died while making or deleting a folder is found, once it is old enough', () => {
  const directory = testFolder()
  const young = join(directory, '.new-young')
  const old = join(directory, '.new-old')
  const gone = join(directory, '.gone-x')
  for (const path of [young, old, gone]) mkdirSync(path)
  const now = statSync(young).mtimeMs / 1_000
  utimesSync(old, now - 7_200, now - 7_200)
  expect(new Set(readJournalDirectory(directory).leftovers)).toEqual(new Set([gone, old]))
})

test('a folder that another process makes is none that was left, however far the clock of this one is ahead', () => {
  const directory = testFolder()
  mkdirSync(join(directory, '.new-young'))
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 365 * 86_400_000 })
  try {
    expect(readJournalDirectory(directory).leftovers).toEqual([])
  } finally {
    vi.useRealTimers()
  }
})
