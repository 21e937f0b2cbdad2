import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { segmentName, segmentNumbers } from '../../../../src/ledger/journal/segments/format/frames.ts'
import { type LogDisk, systemDisk } from '../../../../src/ledger/journal/segments/log-disk.ts'
import { SegmentFile } from '../../../../src/ledger/journal/segments/log-segment.ts'
import { testFolder } from '../../support/folders.ts'

/** A disk that takes so many bytes more, in pieces of 5, and that may not even cut what it took. */
function smallDisk(): LogDisk & { room: number; cuts: boolean } {
  const disk = {
    ...systemDisk,
    room: Number.POSITIVE_INFINITY,
    cuts: true,
    write: (descriptor: number, bytes: Buffer, offset: number, length: number, position: number) => {
      const count = Math.min(5, length, disk.room)
      if (count === 0) throw new Error('ENOSPC: no space left on device')
      disk.room -= count
      return systemDisk.write(descriptor, bytes, offset, count, position)
    },
    truncate: (descriptor: number, length: number) => {
      if (!disk.cuts) throw new Error('EIO: i/o error')
      systemDisk.truncate(descriptor, length)
    },
  }
  return disk
}

function segmentOn(disk: LogDisk) {
  const folder = testFolder()
  const path = join(folder, segmentName(1))
  const file = new SegmentFile(disk, 1, disk.create(path))
  const append = (text: string) => file.append(Buffer.from(`${text}###`), text.length)
  return { folder, file, append, text: () => readFileSync(path, 'latin1') }
}

test('a write that the disk takes in pieces is whole', () => {
  const { file, append, text } = segmentOn(smallDisk())
  append('one, two, three, ')
  append('four')
  expect([text(), file.end]).toEqual(['one, two, three, four', 21])
  file.close()
})

test('a write that is refused leaves nothing, however much of it the disk took', () => {
  for (let room = 0; room < 12; room++) {
    const disk = smallDisk()
    const { file, append, text } = segmentOn(disk)
    append('kept, ')
    disk.room = room
    expect(() => append('refused, all')).toThrow('ENOSPC')
    expect([text(), file.end]).toEqual(['kept, ', 6])
    disk.room = 100
    append('taken')
    expect(text()).toBe('kept, taken')
    file.close()
  }
})

test('what could not be cut is cut before anything else is written', () => {
  const disk = smallDisk()
  const { file, append, text } = segmentOn(disk)
  disk.room = 9
  disk.cuts = false
  expect(() => append('refused, all')).toThrow('ENOSPC')
  expect(text()).toBe('refused, ')
  disk.room = 100
  expect(() => append('a')).toThrow('EIO')
  disk.cuts = true
  append('a')
  expect(text()).toBe('a')
  file.close()
})

test('segments are listed by their numbers, and no other file is', async () => {
  const folder = testFolder()
  for (const name of [segmentName(2), segmentName(10), segmentName(1), segmentName(123_456_789)])
    systemDisk.close(systemDisk.create(join(folder, name)))
  for (const name of ['journal.db', '00000003.log.part', '3.log', '00000000.log', 'x00000004.log'])
    systemDisk.close(systemDisk.create(join(folder, name)))
  expect(segmentNumbers(await systemDisk.list(folder))).toEqual([1, 2, 10, 123_456_789])
})
