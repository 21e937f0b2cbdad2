import { statSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { systemDisk } from '../../../../src/ledger/journal/segments/log-disk.ts'
import { testJournal } from '../../support/journals.ts'

test('a record that is written during a sync is synced by the next one, which needs no other record', async () => {
  const { journal, disk, close } = testJournal()
  const syncs: (() => void)[] = []
  disk.sync = (descriptor) =>
    new Promise((resolve, reject) => {
      syncs.push(() => systemDisk.sync(descriptor).then(resolve, reject))
    })
  onTestFinished(() => {
    disk.sync = systemDisk.sync
    for (const end of syncs) end()
  })
  const synced: number[] = []
  journal.onSynced(() => synced.push(journal.synced))
  await close(1)
  await expect.poll(() => syncs).toHaveLength(1)
  await close(2)
  syncs[0]?.()
  await expect.poll(() => syncs).toHaveLength(2)
  expect(synced).toEqual([1])
  syncs[1]?.()
  await expect.poll(() => synced).toEqual([1, 2])
})

test('records are not synced before the name of their segment is', async () => {
  const { journal, disk, close } = testJournal()
  disk.syncFolder = () => Promise.reject(new Error('EIO: i/o error, fsync'))
  await close(1)
  await expect.poll(() => journal.refuses).toBe(true)
  expect(journal.synced).toBe(0)
  disk.syncFolder = systemDisk.syncFolder
  await expect.poll(() => journal.synced).toBe(1)
  expect(journal.refuses).toBe(false)
})

test('a segment grows on while the name of the next one cannot be synced', async () => {
  const segmentBytes = 4_096
  const { journal, path, disk, close } = testJournal({ segmentBytes })
  await close(1)
  await expect.poll(() => journal.synced).toBe(1)
  disk.syncFolder = () => Promise.reject(new Error('EIO: i/o error, fsync'))
  for (let number = 2; number <= 40; number++) await close(number)
  await expect.poll(() => journal.synced).toBe(40)
  expect(statSync(path).size).toBeGreaterThan(3 * segmentBytes)
})
