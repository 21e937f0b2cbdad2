import type { LogPosition } from '../format/frames.ts'
import { SegmentReader } from '../format/segment-reader.ts'
import { scanSegment } from '../format/segment-scan.ts'
import type { LogDisk } from '../log-disk.ts'
import type { LogChain } from './log-chain.ts'
import { Slices } from './slices.ts'

/** The statements of a log's end about all of it. */
export interface LastSync {
  /** Everything before this place was synced; `null`: nothing is known to be. */
  readonly synced: LogPosition | null
  /** Segments below it are not needed any more, if this frame is synced: that one of them is gone proves it. */
  readonly firstSegment: number
}

/** Reads a log backward, segment by segment, up to one that says how far the log was synced. */
export async function findLastSync({ parts, salt }: LogChain, disk: LogDisk): Promise<LastSync> {
  const slices = new Slices()
  let synced: LogPosition | null = null
  let firstSegment = 0
  for (const { segment, path, to, isMissing } of parts.toReversed()) {
    if (isMissing) continue
    const reader = new SegmentReader(await disk.readAll(path), segment, salt)
    for (const frame of scanSegment(reader, 0, to ?? reader.end)) {
      if (frame.kind === 'synced') synced = frame.proof.synced
      else if (frame.kind === 'pruned') firstSegment = Math.max(firstSegment, frame.firstSegment)
      else if (frame.kind === 'begin') firstSegment = Math.max(firstSegment, frame.begin.firstSegment)
      if (slices.isDue) await slices.pause()
    }
    if (synced !== null) break
  }
  return { synced, firstSegment }
}
