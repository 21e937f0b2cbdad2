import type { LogPosition } from '../format/frames.ts'
import { SegmentReader } from '../format/segment-reader.ts'
import { scanSegment } from '../format/segment-scan.ts'
import type { LogDisk } from '../log-disk.ts'
import { findLastSync } from './last-sync.ts'
import { findLog, type LogChain } from './log-chain.ts'
import { LogReplay } from './log-replay.ts'
import { Slices } from './slices.ts'

/** A dead producer's log as it was read. */
export interface RecoveredLog {
  readonly replay: LogReplay
  readonly found: LogChain
  /** Up to here the log was read. What stands behind it is what power loss left of writes that were never synced. */
  readonly end: LogPosition
}

/** Reads a dead producer's log. Rejects when the disk cannot be read. */
export async function recoverLog(
  folder: string,
  disk: LogDisk,
): Promise<RecoveredLog | 'absent' | 'unreadable'> {
  const found = await findLog(folder, disk)
  if (found === 'absent' || found === 'unreadable') return found
  const lastSync = await findLastSync(found, disk)
  // Whatever is gone below it was not needed, nor is anything before that.
  const gone = found.parts.findLastIndex((part) => part.isMissing && part.segment < lastSync.firstSegment)
  const parts = found.parts.slice(gone + 1)
  const { synced } = lastSync
  const isKnown = synced !== null && parts.some(({ segment }) => segment === synced.segment)
  const replay = new LogReplay(isKnown ? synced : null)
  const end = await replayParts({ ...found, parts }, replay, isKnown ? synced : null, disk)
  replay.end()
  return { replay, found: { ...found, parts }, end }
}

/** Returns where the log ends. */
async function replayParts(
  { parts, salt }: LogChain,
  replay: LogReplay,
  synced: LogPosition | null,
  disk: LogDisk,
): Promise<LogPosition> {
  const slices = new Slices()
  let end: LogPosition = { segment: 0, position: 0 }
  let isBehindSync = synced === null
  for (const { segment, path, to, isMissing } of parts) {
    replay.startSegment(segment)
    if (isMissing) {
      replay.damage()
      continue
    }
    const reader = new SegmentReader(await disk.readAll(path), segment, salt)
    const partEnd = to ?? reader.end
    for (const frame of scanSegment(reader, 0, partEnd)) {
      if (!isBehindSync && synced?.segment === segment && frame.at >= synced.position) {
        isBehindSync = true
        replay.passSync()
      }
      if (frame.kind !== 'bad') replay.frame(frame)
      else if (isBehindSync && frame.isTorn) return { segment, position: frame.at }
      else replay.damage()
      if (slices.isDue) await slices.pause()
    }
    if (synced?.segment === segment) {
      isBehindSync = true
      replay.passSync()
    }
    end = { segment, position: partEnd }
  }
  return end
}
