import { describe, expect, test, vi } from 'vitest'
import { testJournal } from '../../support/journals.ts'

describe('a sync that failed', () => {
  test('after a sync that failed, a later one that succeeds proves nothing: only one of another file makes records fit to ship', async () => {
    const { journal, disk, close, log } = testJournal()
    await close(1)
    await vi.waitFor(() => expect(journal.synced).toBe(1))
    disk.syncFailure = new Error('EIO: i/o error, fdatasync')
    await close(2)
    await vi.waitFor(() => expect(journal.refuses).toBe(true))
    disk.syncFailure = null
    expect(await close(3)).toBeNull()
    await journal.flush()
    expect(journal.synced).toBe(1)
    await vi.waitFor(() => expect(journal.refuses).toBe(false))
    await vi.waitFor(() => expect(journal.synced).toBe(3))
    expect(log.lines.map(({ event }) => event)).toEqual(['journal.sync_failed', 'journal.recovered'])
  })
})
