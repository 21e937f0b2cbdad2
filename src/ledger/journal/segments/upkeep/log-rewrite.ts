import { join } from 'node:path'
import { segmentName } from '../format/frames.ts'
import type { LogRow } from '../log-records.ts'
import { LogSegment, SegmentFile } from '../log-segment.ts'
import { RecordIndex } from '../record-index.ts'
import type { SegmentLog } from '../segment-log.ts'
import type { OpenCalls } from '../turns/open-calls.ts'
import type { SyncedState } from './log-sync.ts'

/** The part of a log that may not be on the disk, though it was written. */
export interface UnsyncedPart {
  /** The end of the log at the last sync that succeeded. */
  readonly synced: SyncedState
  /** The records after it. */
  readonly rows: readonly LogRow[]
  /** The numbers of the calls that were discarded after it. */
  readonly discarded: readonly number[]
  /** All calls that are open in the log, whether or not they were then. */
  readonly calls: OpenCalls
}

/**
 * Writes once more, to a new segment, what a sync that failed left in doubt; the log goes on behind it. The segment
 * gets its name when all of it is written, so that a process killed on the way leaves the log as it was.
 *
 * @returns the paths of segments that are not part of the log any more.
 * @throws When the disk refuses: the log is as it was.
 */
export function rewriteUnsynced(log: SegmentLog, { synced, rows, discarded, calls }: UnsyncedPart): string[] {
  const { folder, salt } = log.options
  const { frames } = log
  const number = log.takeNumber()
  const index = new RecordIndex(synced.last, synced.bytesTotal)
  frames.clear()
  frames.useSegment(number, salt)
  let segment: LogSegment
  try {
    frames.begin({ ...log.beginning(synced.end, synced), rewrites: true })
    for (const call of discarded) frames.discard(call)
    let { bytesTotal } = synced
    for (const { sequence, call, body } of rows) {
      const position = frames.length
      bytesTotal = frames.close(call, sequence, bytesTotal, body)
      index.add(sequence, position, bytesTotal)
    }
    for (const { number: call, text, snapshot } of calls.written) frames.carried(call, text, snapshot)
    const path = join(folder, segmentName(number))
    segment = new LogSegment(number, path, index, writeFile(log, number, path))
  } finally {
    frames.useSegment(log.current.number, salt)
  }
  log.isFolderDirty = true
  const kept = log.segments.filter((other) => other.number <= synced.end.segment)
  const dropped = log.segments.filter((other) => other.number > synced.end.segment)
  for (const other of log.segments) other.close()
  for (const call of calls.written) calls.moved(call, segment)
  kept.at(-1)?.index.dropAfter(synced.last)
  log.replace(kept, segment)
  return dropped.map(({ path }) => path)
}

function writeFile(log: SegmentLog, number: number, path: string): SegmentFile {
  const { disk } = log.options
  const part = `${path}.part`
  disk.remove(part)
  const file = new SegmentFile(disk, number, disk.create(part))
  try {
    file.append(log.frames.buffer, log.frames.length)
    disk.rename(part, path)
    return file
  } catch (error) {
    file.close()
    disk.remove(part)
    throw error
  }
}
