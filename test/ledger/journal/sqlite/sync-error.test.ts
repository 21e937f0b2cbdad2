import type * as fs from 'node:fs'
import { expect, test, vi } from 'vitest'
import { testJournal } from '../../support/journals.ts'

/** The disk's answers to syncs, of which only errors can be made here. */
const disk = vi.hoisted(() => ({ error: null as Error | null, failed: 0 }))

vi.mock('node:fs', async (importOriginal) => {
  const original = await importOriginal<typeof fs>()
  return {
    ...original,
    fdatasync: (descriptor: number, callback: fs.NoParamCallback) => {
      if (disk.error === null) return original.fdatasync(descriptor, callback)
      disk.failed++
      const { error } = disk
      setImmediate(() => callback(error))
    },
  }
})

test('after a sync that failed, a later one that succeeds proves nothing: only a checkpoint makes records fit to ship', async () => {
  const { journal, close, log } = testJournal()
  await close(1)
  await vi.waitFor(() => expect(journal.synced).toBe(1))
  disk.error = new Error('EIO: i/o error, fdatasync')
  await close(2)
  await vi.waitFor(() => expect(disk.failed).toBe(1))
  expect(journal.refuses).toBe(true)
  disk.error = null
  expect(await close(3)).toBeNull()
  await journal.flush()
  expect(journal.synced).toBe(1)
  await vi.waitFor(() => expect(journal.refuses).toBe(false), { timeout: 5_000 })
  await vi.waitFor(() => expect(journal.synced).toBe(3))
  expect(log.lines.map(({ event }) => event)).toEqual(['journal.sync_failed', 'journal.recovered'])
})
