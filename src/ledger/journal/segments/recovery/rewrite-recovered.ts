import { join } from 'node:path'
import { FrameWriter } from '../format/frame-writer.ts'
import { SEGMENT_VERSION, segmentName } from '../format/frames.ts'
import { SegmentReader } from '../format/segment-reader.ts'
import type { LogDisk } from '../log-disk.ts'
import { LogSegment, SegmentFile } from '../log-segment.ts'
import { RecordIndex } from '../record-index.ts'
import type { SyncedState } from '../upkeep/log-sync.ts'
import type { RecoveredLog } from './recover-log.ts'
import { Slices } from './recover-log.ts'

const WRITE_BYTES = 1024 * 1024

/** The parts of a log after it was read and its end was written once more. */
export interface RewrittenLog {
  /** The last is the new one; all of them survive power loss. */
  readonly segments: LogSegment[]
  readonly synced: SyncedState
}

/**
 * Continues a dead producer's log in a new segment, which begins with all that was not known to be synced: it may be
 * only in the memory of the kernel, which believes after a failed sync that it is on the disk. The new segment gets its
 * name when it is synced, so that an adopter that dies on the way leaves the log as it was. Rejects when the disk
 * refuses.
 */
export async function rewriteRecovered(
  folder: string,
  recovered: RecoveredLog,
  disk: LogDisk,
): Promise<RewrittenLog> {
  const { replay, found } = recovered
  const { counts } = replay
  const number = found.highest + 1
  const path = join(folder, segmentName(number))
  const from = rewrittenFrom(recovered)
  const index = new RecordIndex(from.last, from.bytesTotal)
  const part = `${path}.part`
  if (replay.isDamaged)
    for (const { path: kept, isMissing } of found.parts) if (!isMissing) await disk.syncFile(kept)
  const file = new SegmentFile(disk, number, await disk.createLater(part))
  try {
    const frames = new FrameWriter(number, found.salt)
    const slices = new Slices()
    const write = async (isDue: boolean): Promise<void> => {
      if (isDue) file.append(frames.buffer, frames.length)
      if (isDue) frames.clear(file.end)
      if (slices.isDue) await slices.pause()
    }
    frames.begin({
      version: SEGMENT_VERSION,
      salt: found.salt,
      previousEnd: from.end,
      rewrites: true,
      firstSegment: counts.firstSegment,
      nextCall: counts.nextCall,
      nextSequence: from.last + 1,
      bytesTotal: from.bytesTotal,
      prunedTo: counts.prunedTo,
      discards: from.discards,
      isTailLost: replay.isTailLost,
      stream: found.stream,
    })
    if (from.end.segment > 0)
      frames.synced({ synced: from.end, last: from.last, nextCall: counts.nextCall, discards: from.discards })
    if (!replay.isDamaged) for (const call of replay.discarded) frames.discard(call)
    for await (const { call, sequence, bytesBefore, body } of recordsAfter(from.last, recovered, disk)) {
      const position = file.end + frames.length
      index.add(sequence, position, frames.close(call, sequence, bytesBefore, body))
      await write(frames.length >= WRITE_BYTES)
    }
    for (const { number: call, text, snapshot } of replay.calls.underWay) {
      frames.carried(call, text, snapshot)
      await write(frames.length >= WRITE_BYTES)
    }
    await write(true)
    await file.sync()
    disk.rename(part, path)
    await disk.syncFolder(folder)
  } catch (error) {
    file.close()
    await disk.removeLater(part).catch(() => {}) // The next try empties it.
    throw error
  }
  const { last, bytesTotal, discards } = counts
  const segment = new LogSegment(number, path, index, file)
  const synced = { end: { segment: number, position: file.end }, last, bytesTotal, discards }
  return { segments: [...keptSegments(recovered, from), segment], synced }
}

/**
 * The place where the new segment continues the log. A damaged log is continued at its end: what the next adopter is to
 * conclude from the damage depends on all that stands around it.
 */
function rewrittenFrom({ replay, end }: RecoveredLog): SyncedState {
  const { last, bytesTotal, discards } = replay.counts
  if (replay.isDamaged || replay.synced === null) return { end, last, bytesTotal, discards }
  return replay.synced
}

function keptSegments({ replay, found }: RecoveredLog, from: SyncedState): LogSegment[] {
  const kept: LogSegment[] = []
  if (from.end.segment === 0) return kept
  for (const { segment, path, isMissing } of found.parts) {
    const index = replay.indexes.get(segment)
    if (!isMissing && index !== undefined) kept.push(new LogSegment(segment, path, index, null))
    if (segment === from.end.segment) break
  }
  kept.at(-1)?.index.dropAfter(from.last)
  return kept
}

interface ReadRecord {
  readonly call: number
  readonly sequence: number
  readonly bytesBefore: number
  readonly body: string
}

async function* recordsAfter(
  sequence: number,
  { replay, found }: RecoveredLog,
  disk: LogDisk,
): AsyncGenerator<ReadRecord> {
  for (const { segment, path } of found.parts) {
    const index = replay.indexes.get(segment)
    const first = index?.firstAfter(sequence) ?? 0
    if (index === undefined || first === index.length) continue
    const reader = new SegmentReader(await disk.readAll(path), segment, found.salt)
    for (let at = first; at < index.length; at++) {
      const frame = reader.read(index.position(at))
      if (frame?.kind !== 'close') throw new Error(`record ${index.sequence(at)} cannot be read from ${path}`)
      const { call, bodyAt, end } = frame
      const body = reader.text(bodyAt, end)
      yield { call, sequence: frame.sequence, bytesBefore: index.bytesTotal(at) - (end - bodyAt), body }
    }
  }
}
