// @seconds: logs that are garbled all over
import { describe, expect, test } from 'vitest'
import type { Frame } from '../../../../../src/ledger/journal/segments/format/frames.ts'
import {
  SegmentReader,
  scanSegment,
} from '../../../../../src/ledger/journal/segments/format/segment-reader.ts'
import { rounds } from '../../../../support/rounds.ts'
import { callId } from '../../../support/calls.ts'
import { MemoryDisk } from '../../../support/memory-disk.ts'
import { adopt, expectNothingLostInSilence, expectNothingWrong } from '../../../support/recovered-truth.ts'
import { type SampleLog, sampleLog } from '../../../support/sample-log.ts'

/** A log of some segments: calls that are opened, closed, discarded and left open, with syncs between. */
async function sample(): Promise<{ disk: MemoryDisk; log: SampleLog }> {
  const disk = new MemoryDisk()
  const log = sampleLog(disk, 1_500)
  for (let call = 1; call <= 12; call++) {
    await log.open(call)
    if (call % 4 === 3) log.discard(call)
    else if (call % 4 !== 0) await log.close(call)
    if (call % 3 === 0) log.journal.saveSnapshot(callId(4), () => `{"n":${call}}`)
    if (call % 5 === 0) await log.sync()
  }
  await log.close(8)
  await log.sync()
  return { disk, log }
}

/** The place of the newest proof of a sync: what is before it is known to have been synced. */
function lastProof(disk: MemoryDisk): { path: string; at: number } {
  const paths = [...disk.files.keys()].sort().toReversed()
  for (const path of paths) {
    const bytes = disk.files.get(path)?.bytes ?? Buffer.alloc(0)
    const reader = new SegmentReader(bytes, Number(path.slice(-12, -4)), 7)
    const frames = [...scanSegment(reader, 0, bytes.length)]
    const proof = frames.findLast((frame) => frame.kind === 'synced')
    if (proof !== undefined) return { path, at: proof.at }
  }
  throw new Error('nothing was synced')
}

function framesOf(disk: MemoryDisk): { path: string; frame: Frame }[] {
  return [...disk.files].sort().flatMap(([path, { bytes }]) => {
    const reader = new SegmentReader(bytes, Number(path.slice(-12, -4)), 7)
    const scanned = [...scanSegment(reader, 0, bytes.length)]
    return scanned.flatMap((frame) => (frame.kind === 'bad' ? [] : [{ path, frame }]))
  })
}

/** Bytes from one attacked place to the next. */
const STEP = rounds({ short: 7, long: 1 })

/** For positions all over every segment, a copy of the disk that `attack` has changed there. */
async function attackEverywhere(
  attack: (bytes: Buffer, at: number) => Buffer,
  check: (disk: MemoryDisk, path: string, at: number) => Promise<void>,
): Promise<void> {
  const { disk } = await prepared
  for (const [path, { bytes }] of disk.files) {
    for (let at = 0; at < bytes.length; at += STEP) {
      const copy = disk.copy()
      const changed = attack(Buffer.from(bytes), at)
      copy.files.set(path, { bytes: changed, synced: changed })
      await check(copy, path, at)
    }
  }
}

const overwritten = (bytes: Buffer, byte: number, at: number, length: number) =>
  bytes.fill(byte, at, Math.min(at + length, bytes.length))

const prepared = sample()

describe('a log that is garbled at any byte', () => {
  test('a log that is sound is adopted with all that it had', async () => {
    const { disk, log } = await prepared
    const found = await adopt(disk.copy())
    expect(disk.files.size).toBeGreaterThan(3)
    expect(found).toMatchObject({ isDamaged: false, isTailLost: false, doubted: [], last: 7 })
    expect(found?.interrupted).toEqual([4, 12].map(callId))
    expect([...(found?.records ?? [])]).toEqual(
      [...log.truth.closed].map(([seq, call]) => [seq, callId(call)]),
    )
  })

  const garblings: [string, (bytes: Buffer, at: number) => Buffer][] = [
    ['one bit', (bytes, at) => bytes.fill((bytes[at] ?? 0) ^ 4, at, at + 1)],
    ['50 bytes of noise', (bytes, at) => overwritten(bytes, 0xa5, at, 50)],
    ['600 bytes of noise', (bytes, at) => overwritten(bytes, 0xa5, at, 600)],
    ['50 zeros', (bytes, at) => overwritten(bytes, 0, at, 50)],
    ['600 zeros', (bytes, at) => overwritten(bytes, 0, at, 600)],
  ]
  test.each(garblings)(
    'a log with %s anywhere: no call is counted twice, and nothing synced is lost in silence',
    {},
    async (_, attack) => {
      const { disk, log } = await prepared
      const proof = lastProof(disk)
      await attackEverywhere(attack, async (garbled, path, at) => {
        const found = await adopt(garbled)
        if (found === null) throw new Error(`${path} ${at}: nothing is read`)
        const bytes = disk.files.get(path)?.bytes ?? Buffer.alloc(0)
        const changed = garbled.files.get(path)?.bytes ?? Buffer.alloc(0)
        const isBeforeProof = path < proof.path || changed.subarray(proof.at).equals(bytes.subarray(proof.at))
        if (isBeforeProof) expectNothingWrong(found, log.truth)
        if (isBeforeProof) expectNothingLostInSilence(found, log.truth)
        // The next adopter finds the same, and what is damaged stays damaged.
        const again = await adopt(garbled)
        expect(again).toMatchObject({
          interrupted: found.interrupted,
          last: found.last,
          isTailLost: found.isTailLost,
        })
        expect([...(again?.records.keys() ?? [])]).toEqual([...found.records.keys()])
        if (found.isDamaged) expect(again?.isDamaged).toBe(true)
      })
    },
  )

  test('a log that is cut at any byte is read up to there', async () => {
    const { disk, log } = await prepared
    const frames = framesOf(disk)
    await attackEverywhere(
      (bytes, at) => bytes.subarray(0, at),
      async (cut, path, at) => {
        for (const other of cut.files.keys()) if (other > path) cut.files.delete(other)
        const found = await adopt(cut)
        const kept = frames.filter(
          ({ path: other, frame }) => other < path || (other === path && frame.end <= at),
        )
        const records = kept.flatMap(({ frame }) => (frame.kind === 'close' ? [frame.sequence] : []))
        expect([...(found?.records.keys() ?? [])]).toEqual(records)
        expect([found?.isDamaged ?? false, found?.isTailLost ?? false]).toEqual([false, false])
        for (const [sequence, call] of found?.records ?? [])
          expect(call).toBe(callId(log.truth.closed.get(sequence) ?? -1))
      },
    )
  })

  test('a log without one of its segments: what is missing is named', async () => {
    const { disk, log } = await prepared
    const paths = [...disk.files].filter(([, { bytes }]) => bytes.length > 0).map(([path]) => path)
    for (const path of paths.sort().slice(0, -1)) {
      const without = disk.copy()
      without.files.delete(path)
      const found = await adopt(without)
      if (found === null) throw new Error('nothing is read')
      expectNothingWrong(found, log.truth)
      expectNothingLostInSilence(found, log.truth)
      expect(found.isDamaged).toBe(true)
    }
  })

  test('a log with two frames in each other’s place, or one in that of another segment', async () => {
    const { disk, log } = await prepared
    const proof = lastProof(disk)
    const frames = framesOf(disk).filter(({ path, frame }) => path < proof.path || frame.end <= proof.at)
    for (const [index, one] of frames.entries()) {
      for (const other of frames.slice(index + 1)) {
        if (other.frame.end - other.frame.at !== one.frame.end - one.frame.at) continue
        const swapped = disk.copy()
        const from = disk.files.get(one.path)?.bytes ?? Buffer.alloc(0)
        const to = disk.files.get(other.path)?.bytes ?? Buffer.alloc(0)
        to.copy(
          swapped.files.get(one.path)?.bytes ?? Buffer.alloc(0),
          one.frame.at,
          other.frame.at,
          other.frame.end,
        )
        from.copy(
          swapped.files.get(other.path)?.bytes ?? Buffer.alloc(0),
          other.frame.at,
          one.frame.at,
          one.frame.end,
        )
        const found = await adopt(swapped)
        if (found === null) throw new Error('nothing is read')
        expectNothingWrong(found, log.truth)
      }
    }
  })
})
