import { describe, expect, test, vi } from 'vitest'
import { serialiseOpenCall } from '../../../../src/call/codec/record-codec.ts'
import { serialiseRecord } from '../../../../src/ledger/entry.ts'
import type { DiskReserve } from '../../../../src/ledger/journal/journal-store.ts'
import { callId, callRecord } from '../../support/calls.ts'
import { testFolder } from '../../support/folders.ts'
import { adoptedJournal, closed, contentsOf, diskFull, testJournal } from '../../support/journals.ts'

function fakeDiskReserve(): DiskReserve & { held: boolean; makes: number } {
  const reserve = {
    held: true,
    makes: 0,
    release: () => {
      reserve.held = false
      return true
    },
    allocate: async () => {
      reserve.makes++
      reserve.held = true
      return true
    },
  }
  return reserve as DiskReserve & { held: boolean; makes: number }
}

describe('a call', () => {
  test('a call that was opened is in the file when the callback runs, and open until it is closed', async () => {
    const { journal, folder, open, close } = testJournal()
    expect(await open(1)).toBeNull()
    expect(await contentsOf(folder)).toMatchObject({ open: [callId(1)], calls: [] })
    expect(journal.openCalls).toBe(1)
    expect(await close(1)).toBeNull()
    expect(await contentsOf(folder)).toMatchObject({ open: [], calls: [[1, callId(1)]] })
    expect(journal.openCalls).toBe(0)
  })

  test('a call that was discarded leaves nothing', async () => {
    const { journal, folder, open, close } = testJournal()
    await open(1)
    journal.discard(callId(1))
    await open(2)
    await close(2)
    expect(await contentsOf(folder)).toEqual({ open: [], seen: [], calls: [[1, callId(2)]] })
  })

  test('a call that was never opened can be closed', async () => {
    const { folder, close } = testJournal()
    expect(await close(9)).toBeNull()
    expect((await contentsOf(folder)).calls).toEqual([[1, callId(9)]])
  })

  test('a call that is opened and closed in one turn is one record', async () => {
    const { folder, open, close } = testJournal()
    expect(await Promise.all([open(1), close(1)])).toEqual([null, null])
    expect(await contentsOf(folder)).toMatchObject({ open: [], calls: [[1, callId(1)]] })
  })
})

test('the text of an open call is at hand for its record, unless the call has another model by then', async () => {
  const { journal, open, close } = testJournal()
  const call = callRecord(1)
  expect(journal.openText(call)).toBeNull()
  await open(1)
  expect(journal.openText(call)).toBe(serialiseOpenCall(call))
  expect(serialiseRecord(call, journal.openText(call))).toBe(serialiseRecord(call))
  expect(journal.openText({ ...call, requestedModel: 'named-later' })).toBeNull()
  expect(journal.openText({ ...call, webSocket: true })).toBeNull()
  expect(journal.openText(callRecord(2))).toBeNull()
  await close(1)
  expect(journal.openText(call)).toBeNull()
})

test('records are numbered 1, 2, 3, ... in the order of their closing, calls being opened and dropped between', async () => {
  const { journal, folder, open, close } = testJournal()
  const closing: Promise<Error | null>[] = []
  for (let number = 1; number <= 300; number++) {
    void open(number)
    if (number % 3 === 0) journal.discard(callId(number))
    else if (number > 10) closing.push(close(number))
    if (number % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(closing)
  const expected = Array.from({ length: 290 }, (_, index) => index + 11).filter((number) => number % 3 !== 0)
  expect((await contentsOf(folder)).calls).toEqual(
    expected.map((number, index) => [index + 1, callId(number)]),
  )
  expect((await contentsOf(folder)).open.sort()).toEqual([1, 2, 4, 5, 7, 8, 10].map(callId))
})

test('who ends a call learns the number of its record, and none where none was written', async () => {
  const { journal, disk, folder, open } = testJournal()
  const numbers = new Map<string, number>()
  const heard = (number: number) =>
    new Promise<void>((resolve) => {
      const record = callRecord(number)
      journal.close(record.callId, serialiseRecord(record), (error, sequence) => {
        numbers.set(record.callId, error === null ? sequence : -sequence)
        resolve()
      })
    })
  await open(1)
  await open(2)
  await Promise.all([heard(2), open(3), heard(1)])
  await heard(3)
  const { calls } = await contentsOf(folder)
  expect([...numbers]).toEqual([
    [callId(2), 1],
    [callId(1), 2],
    [callId(3), 3],
  ])
  expect(calls).toEqual([...numbers].map(([id, number]) => [number, id]))
  await open(4)
  disk.failure = diskFull()
  await heard(4)
  expect(Math.abs(numbers.get(callId(4)) ?? 1)).toBe(0)
  disk.failure = null
})

test('what happens in one turn of the event loop is one write', async () => {
  const { disk, open, close } = testJournal()
  const before = disk.writes
  await Promise.all(Array.from({ length: 50 }, (_, number) => open(number)))
  await Promise.all(Array.from({ length: 50 }, (_, number) => close(number)))
  expect(disk.writes - before).toBe(2)
})

test('usage seen is written once a second for all calls, the last of each', async () => {
  const { journal, disk, folder, open, close } = testJournal()
  await Promise.all([open(1), open(2), open(3)])
  const before = disk.writes
  for (let count = 1; count <= 500; count++) {
    journal.saveSnapshot(callId(1), () => `{"n":${count}}`)
    journal.saveSnapshot(callId(2), () => `{"m":${count}}`)
  }
  journal.saveSnapshot(callId(3), () => '{}')
  await close(3)
  await vi.waitFor(async () => expect((await contentsOf(folder)).seen).toEqual(['{"n":500}', '{"m":500}']))
  expect(disk.writes - before).toBe(2)
})

test('a snapshot saved now is in the file when its callback runs, and is not overtaken by an earlier one', async () => {
  const { journal, folder, open } = testJournal()
  await open(1)
  journal.saveSnapshot(callId(1), () => '{"early":1}')
  await new Promise((resolve) => journal.saveSnapshotNow(callId(1), () => '{"final":1}', resolve))
  expect((await contentsOf(folder)).seen).toEqual(['{"final":1}'])
  await journal.flush()
  expect((await contentsOf(folder)).seen).toEqual(['{"final":1}'])
})

test('what was seen is asked for when it is written, and kept from none that has nothing', async () => {
  const { journal, folder, open } = testJournal()
  await Promise.all([open(1), open(2)])
  let seen = 0
  journal.saveSnapshot(callId(1), () => `{"n":${seen}}`)
  journal.saveSnapshot(callId(2), () => null)
  seen = 7
  await journal.flush()
  seen = 8
  expect((await contentsOf(folder)).seen).toEqual(['{"n":7}', null])
})

test('of many running calls a part is written in each turn of the event loop, and all in a flush', async () => {
  const { journal, disk, folder, open } = testJournal()
  const calls = Array.from({ length: 200 }, (_, number) => number)
  await Promise.all(calls.map(open))
  const before = disk.writes
  for (const number of calls) journal.saveSnapshot(callId(number), () => '{}')
  await vi.waitFor(async () => expect((await contentsOf(folder)).seen).not.toContain(null))
  expect(disk.writes - before).toBe(4)
  for (const number of calls) journal.saveSnapshot(callId(number), () => '{"n":1}')
  await journal.flush()
  expect(disk.writes - before).toBe(5)
})

test('a snapshot of a call that is closed in the same turn is left to its record', async () => {
  const { journal, folder, open, close } = testJournal()
  await open(1)
  let asked = 0
  const written = new Promise((resolve) =>
    journal.saveSnapshotNow(
      callId(1),
      () => {
        asked += 1
        return '{}'
      },
      resolve,
    ),
  )
  await close(1)
  expect(await written).toBeNull()
  expect(asked).toBe(0)
  expect(await contentsOf(folder)).toEqual({ open: [], seen: [], calls: [[1, callId(1)]] })
})

describe('synced', () => {
  test('the synced sequence follows the last record', async () => {
    const { journal, close } = testJournal()
    for (let number = 1; number <= 5; number++) await close(number)
    await vi.waitFor(() => expect(journal.synced).toBe(5))
  })

  test('a flush syncs the last record at once', async () => {
    const { journal, close } = testJournal()
    void close(1)
    await journal.flush()
    expect([journal.last, journal.synced]).toEqual([1, 1])
  })
})

describe('reading', () => {
  test('reading gives records in order, from memory or from the file', async () => {
    const { journal, close } = testJournal()
    for (let number = 1; number <= 20; number++) await close(number)
    const fromMemory = journal.read(5, 10, 1e9)
    journal.dropRecent(20)
    const fromFile = journal.read(5, 10, 1e9)
    expect(fromFile).toEqual(fromMemory)
    expect(fromFile.map(({ sequence }) => sequence)).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
    expect(fromFile[0]?.body).toBe(serialiseRecord(callRecord(6)))
  })

  test('reading stops at the bytes asked for, but always gives the first record', async () => {
    const { journal, close } = testJournal()
    for (let number = 1; number <= 5; number++) await close(number)
    journal.dropRecent(5)
    expect(journal.read(0, 10, 1)).toHaveLength(1)
    expect(journal.read(0, 10, serialiseRecord(callRecord(1)).length * 2 + 5)).toHaveLength(2)
  })

  test('reading gives the size of any range', async () => {
    const { journal, close } = testJournal()
    for (let number = 1; number <= 5; number++) await close(number)
    const size = Buffer.byteLength(serialiseRecord(callRecord(3)))
    expect(journal.bytesTotalAt(3) - journal.bytesTotalAt(2)).toBe(size)
    expect(journal.bytesTotal).toBe(journal.bytesTotalAt(5))
    while (journal.prune(3, 500));
    expect(journal.bytesTotal - journal.bytesTotalAt(0)).toBe(2 * size)
  })
})

describe('deleting', () => {
  test('deleting works in small steps and never beyond what is asked', async () => {
    const { journal, folder, close } = testJournal()
    await Promise.all(Array.from({ length: 30 }, (_, number) => close(number)))
    expect(journal.prune(25, 10)).toBe(true)
    expect(journal.prunedTo).toBe(10)
    while (journal.prune(25, 10));
    expect(journal.prunedTo).toBe(25)
    expect((await contentsOf(folder)).calls.map(([sequence]) => sequence)).toEqual([26, 27, 28, 29, 30])
  })

  test('deleting does not make a sequence be used again, also when nothing is left', async () => {
    const folder = testFolder()
    const first = testJournal({ folder })
    await Promise.all([first.close(1), first.close(2)])
    while (first.journal.prune(2, 500));
    await first.journal.stop()
    const second = await adoptedJournal(folder)
    expect([second.last, second.prunedTo]).toEqual([2, 2])
    await closed(second, 3)
    expect((await contentsOf(folder)).calls).toEqual([[3, callId(3)]])
  })
})

test('a call that an adopter has made a record is under way no longer, and its text is not kept', async () => {
  const folder = testFolder()
  const first = testJournal({ folder })
  await Promise.all([first.open(1), first.open(2), first.open(3)])
  await first.journal.stop()
  const adopter = await adoptedJournal(folder)
  const [row] = adopter.selectInterrupted(1, 1)
  if (row === undefined) throw new Error('no call')
  const body = serialiseRecord(callRecord(2))
  expect(await new Promise((resolve) => adopter.closeInterrupted(row, body, resolve))).toBeNull()
  expect(adopter.selectInterrupted(0, 10).map(({ slot }) => slot)).toEqual([1, 3])
})

describe('a disk that refuses', () => {
  test('a full disk refuses new calls, and takes the end of running ones with the reserve', async () => {
    const reserve = fakeDiskReserve()
    const { journal, disk, folder, open, close, log } = testJournal({ reserve })
    await open(1)
    disk.failure = diskFull()
    reserve.release = () => {
      reserve.held = false
      disk.failure = null
      return true
    }
    const [refused, ended] = await Promise.all([open(2), close(1)])
    expect(refused).toMatchObject({ code: 'ENOSPC' })
    expect(ended).toBeNull()
    expect(journal.refuses).toBe(true)
    expect(journal.openCalls).toBe(0)
    expect(await contentsOf(folder)).toMatchObject({ open: [], calls: [[1, callId(1)]] })
    expect(log.lines).toMatchObject([{ level: 'error', event: 'journal.full' }])
  })

  test('a disk that fails is not called full', async () => {
    const { journal, disk, open, log } = testJournal({ reserve: fakeDiskReserve() })
    disk.failure = Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' })
    expect(await open(1)).not.toBeNull()
    expect(journal.refuses).toBe(true)
    expect(log.lines).toMatchObject([{ level: 'error', event: 'journal.unwritable' }])
  })

  test('a disk that has room again takes new calls, with the reserve allocated again', async () => {
    const reserve = fakeDiskReserve()
    const { journal, disk, open, close } = testJournal({ reserve })
    disk.failure = diskFull()
    expect(await open(1)).not.toBeNull()
    disk.failure = null
    await vi.waitFor(() => expect(journal.refuses).toBe(false))
    expect(reserve.makes).toBe(1)
    expect(await open(2)).toBeNull()
    expect(await close(2)).toBeNull()
    expect(journal.last).toBe(1)
  })

  test('a disk that refuses an ended call never loses it in silence: its caller gets the error, and it is recorded once when that works', async () => {
    const { journal, disk, folder, open, close } = testJournal({ reserve: fakeDiskReserve() })
    await Promise.all([open(1), open(2), open(3)])
    await close(1)
    disk.failure = diskFull()
    expect(await close(2)).not.toBeNull()
    expect(await close(3)).not.toBeNull()
    disk.failure = null
    await vi.waitFor(() => expect(journal.last).toBe(3))
    expect(await contentsOf(folder)).toMatchObject({
      open: [],
      calls: [
        [1, callId(1)],
        [2, callId(2)],
        [3, callId(3)],
      ],
    })
  })

  test('a disk that refuses does not mix up calls whose slot was reused', async () => {
    const { journal, disk, folder, open, close } = testJournal({ reserve: fakeDiskReserve() })
    await Promise.all([open(1), open(2)])
    disk.failure = diskFull()
    expect(await Promise.all([close(1), open(3), open(4)])).not.toContain(null)
    disk.failure = null
    await vi.waitFor(() => expect(journal.last).toBe(1))
    expect(await Promise.all([open(5), open(6)])).toEqual([null, null])
    expect((await contentsOf(folder)).open.sort()).toEqual([2, 5, 6].map(callId))
  })
})
