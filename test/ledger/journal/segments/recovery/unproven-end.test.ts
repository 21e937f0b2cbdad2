import { describe, expect, test } from 'vitest'
import { FrameWriter } from '../../../../../src/ledger/journal/segments/format/frame-writer.ts'
import {
  SegmentReader,
  scanSegment,
} from '../../../../../src/ledger/journal/segments/format/segment-reader.ts'
import { callId } from '../../../support/calls.ts'
import { MemoryDisk } from '../../../support/memory-disk.ts'
import { adopt } from '../../../support/recovered-truth.ts'
import { type SampleLog, sampleLog } from '../../../support/sample-log.ts'

const SECTOR_BYTES = 512

type BadOrFrame = ReturnType<typeof scanSegment> extends Generator<infer Item> ? Item : never
type FrameOf<Kind> = Extract<BadOrFrame, { readonly kind: Kind }>

/** Of the newest segment that has one: the last frame of a kind. */
function lastFrame<Kind extends BadOrFrame['kind']>(disk: MemoryDisk, kind: Kind) {
  for (const [path, file] of [...disk.files].sort().toReversed()) {
    const reader = new SegmentReader(file.bytes, Number(path.slice(-12, -4)), 7)
    const frames = [...scanSegment(reader, 0, file.bytes.length)]
    const frame = frames.findLast((other): other is FrameOf<Kind> => other.kind === kind)
    if (frame !== undefined) return { path, file, frame }
  }
  throw new Error(`no frame ${kind}`)
}

/** A log whose first segment holds nothing but the opening of call 1, which has not ended. */
async function heldByOneCall(disk: MemoryDisk): Promise<SampleLog> {
  const log = sampleLog(disk, 1_000)
  for (let call = 1; call <= 4; call++) {
    await log.open(call)
    if (call > 1) await log.close(call)
    await log.sync()
  }
  while (log.journal.prune(log.journal.synced, 100));
  await log.sync()
  expect([...disk.files.keys()].sort()[0]).toContain('00000001.log')
  return log
}

describe('power loss that keeps a later page and not an earlier one', () => {
  test('a call whose end was not synced is still open, also where what follows its end says that nothing is needed of it', async () => {
    const disk = new MemoryDisk()
    const log = await heldByOneCall(disk)
    await Promise.all([1, 1_001, 1_002, 1_003, 1_004, 1_005].map(log.close))
    const { path, frame: end } = lastFrame(disk, 'close')
    const left = disk.copy()
    const file = left.files.get(path)
    if (file === undefined) throw new Error('no such segment')
    // As one wrote it that did not wait for the sync of what makes it true.
    const claim = new FrameWriter(Number(path.slice(-12, -4)), 7)
    claim.clear(end.end)
    claim.pruned(log.journal.prunedTo, 2)
    file.bytes = Buffer.concat([file.bytes.subarray(0, end.end), claim.buffer.subarray(0, claim.length)])
    // The page with the end of call 1, and those up to the one with the claim, are not written.
    file.bytes.fill(0, disk.files.get(path)?.synced?.length ?? 0, end.end - (end.end % SECTOR_BYTES))
    const found = await adopt(left)
    expect(found).toMatchObject({ isDamaged: false, isTailLost: false, doubted: [] })
    expect(found?.interrupted).toContain(callId(1))
  })
})

describe('an end of the log that is garbled', () => {
  test('calls that one adopter does not count are not counted by the next one', async () => {
    const disk = new MemoryDisk()
    const log = sampleLog(disk, 100_000)
    for (const call of [1, 2, 3]) await log.open(call)
    await log.sync()
    log.discard(1)
    await log.close(2)
    const { frame, file } = lastFrame(disk, 'discard')
    file.bytes.fill(0xa5, frame.at, frame.end)
    const first = await adopt(disk)
    expect(first).toMatchObject({ isDamaged: true, interrupted: [], doubted: [callId(1), callId(3)] })
    expect(await adopt(disk)).toMatchObject({
      isDamaged: true,
      interrupted: [],
      doubted: [callId(1), callId(3)],
    })
  })
})
