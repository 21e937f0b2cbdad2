import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Frame } from '../../../../src/ledger/journal/segments/format/frames.ts'
import { SegmentReader, scanSegment } from '../../../../src/ledger/journal/segments/format/segment-reader.ts'
import { systemDisk } from '../../../../src/ledger/journal/segments/log-disk.ts'
import { testJournal } from '../../support/journals.ts'

const SEGMENT_BYTES = 4_000

function framesOf(folder: string): (Frame & { readonly segment: number })[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'))
  return names.sort().flatMap((name) => {
    const segment = Number.parseInt(name, 10)
    const bytes = readFileSync(join(folder, name))
    const begin = new SegmentReader(bytes, segment, null).read(0)
    const salt = begin?.kind === 'begin' ? begin.begin.salt : null
    const frames = [...scanSegment(new SegmentReader(bytes, segment, salt), 0, bytes.length)]
    return frames.flatMap((frame) => (frame.kind === 'bad' ? [] : [{ ...frame, segment }]))
  })
}

test('a log says that a segment is not needed when what makes it so is synced, not before', async () => {
  const { folder, journal, disk, open, close } = testJournal({ segmentBytes: SEGMENT_BYTES })
  await open(1)
  for (let number = 2; number <= 20; number++) await close(number)
  await journal.flush()
  for (let number = 21; number <= 40; number++) await close(number)
  await journal.flush()
  journal.prune(journal.last, 1_000)
  await journal.flush()
  let endSync: (() => void) | null = null
  disk.sync = (descriptor) =>
    new Promise((resolve) => {
      // It may be asked again when the journal has closed the file.
      endSync = () => void systemDisk.sync(descriptor).then(resolve, () => {})
    })
  await close(41)
  await vi.waitFor(() => expect(endSync).not.toBeNull())
  await close(1) // while the sync is under way, which does not have it then
  const firstNeeded = () =>
    Math.max(...framesOf(folder).map((frame) => (frame.kind === 'pruned' ? frame.firstSegment : 1)))
  const proofs = () => framesOf(folder).filter(({ kind }) => kind === 'synced').length
  const before = proofs()
  expect(firstNeeded()).toBe(1)
  await vi.waitFor(() => {
    endSync?.()
    expect(proofs()).toBe(before + 1)
  })
  expect(firstNeeded()).toBe(1)
  disk.sync = systemDisk.sync
  await vi.waitFor(() => {
    endSync?.()
    expect(firstNeeded()).toBeGreaterThan(1)
  })
  const frames = framesOf(folder)
  const pruned = frames.findIndex((frame) => frame.kind === 'pruned' && frame.firstSegment > 1)
  const proven = frames.slice(0, pruned).findLast(({ kind }) => kind === 'synced')
  expect(proven?.kind === 'synced' ? proven.proof.last : 0).toBe(journal.last)
})
