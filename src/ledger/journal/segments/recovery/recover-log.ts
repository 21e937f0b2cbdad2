import { join } from 'node:path'
import { type LogPosition, type SegmentBegin, segmentName, segmentNumbers } from '../format/frames.ts'
import { SegmentReader, scanSegment } from '../format/segment-reader.ts'
import type { LogDisk } from '../log-disk.ts'
import { LogReplay } from './log-replay.ts'

/** A `begin` is no longer, with any name of a stream. */
const BEGIN_MAX_BYTES = 64 * 1024

/** A segment as far as it is part of the log. */
interface LogPart {
  readonly segment: number
  readonly path: string
  /** The place where the log goes on with the next part; `null`: at the segment's end. */
  readonly to: number | null
  /** Another part says that it is there, and it is not. */
  readonly isMissing: boolean
}

/** The parts of a log, in order. */
interface LogChain {
  readonly parts: readonly LogPart[]
  readonly salt: number
  readonly stream: string
  /** No segment has a higher number. */
  readonly highest: number
}

/** `absent`: there is no segment, or nothing was ever written to one. `unreadable`: none tells how it begins. */
type FoundLog = LogChain | 'absent' | 'unreadable'

/** Finds which segments of a folder make up its log: from the newest backward, each tells what it continues from. */
async function findLog(folder: string, disk: LogDisk): Promise<FoundLog> {
  const begins = new Map<number, SegmentBegin | null>()
  let isBlank = true
  const numbers = segmentNumbers(await disk.list(folder))
  for (const segment of numbers) {
    const bytes = disk.read(join(folder, segmentName(segment)), 0, BEGIN_MAX_BYTES)
    if (bytes.length === 0) continue // It was made ahead of need.
    const first = new SegmentReader(bytes, segment, null).read(0)
    begins.set(segment, first?.kind === 'begin' ? first.begin : null)
    isBlank &&= bytes.every((byte) => byte === 0)
  }
  const newest = [...begins].findLast(([, begin]) => begin !== null)
  if (newest === undefined) return isBlank ? 'absent' : 'unreadable'
  const [top, begin] = newest
  if (begin === null) return 'unreadable'
  const part = (segment: number, to: number | null): LogPart => ({
    segment,
    path: join(folder, segmentName(segment)),
    to,
    isMissing: !begins.has(segment),
  })
  const later = [...begins.keys()].filter((segment) => segment > top).map((segment) => part(segment, null))
  const parts = chain(begins, top).map(({ segment, to }) => part(segment, to))
  return {
    parts: [...parts, ...later],
    salt: begin.salt,
    stream: begin.stream,
    highest: numbers.at(-1) ?? top,
  }
}

type Link = Pick<LogPart, 'segment' | 'to'>

/**
 * Segments that are said not to be needed are read as long as they are there. Power loss may keep what says so, and not
 * the ends of calls that came before it. One of them is deleted only after all that is synced: that it is gone proves
 * it.
 */
function chain(begins: ReadonlyMap<number, SegmentBegin | null>, top: number): Link[] {
  const needed = Math.max(...[...begins.values()].map((begin) => begin?.firstSegment ?? 0))
  const links: Link[] = []
  let link: Link | null = { segment: top, to: null }
  while (link !== null && link.segment > 0) {
    if (link.segment < needed && !begins.has(link.segment)) break
    links.push(link)
    link = previous(begins, link.segment)
  }
  return links.reverse()
}

/** A segment that does not tell what it continues from continues the one before. */
function previous(begins: ReadonlyMap<number, SegmentBegin | null>, segment: number): Link | null {
  const begin = begins.get(segment) ?? null
  if (begin !== null) return { segment: begin.previousEnd.segment, to: begin.previousEnd.position }
  const before = [...begins.keys()].findLast((other) => other < segment)
  return before === undefined ? null : { segment: before, to: null }
}

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

/** Longer than this no reading of a log may hold the event loop. */
const SLICE_MS = 3
/** The clock is read once in so many steps. */
const STEPS = 64

/** Divides long work on the event loop, so that calls go on meanwhile. */
export class Slices {
  #startedAtMs = performance.now()
  #steps = 0

  /** To be asked between two steps. True: `pause` must be awaited. */
  get isDue(): boolean {
    if (++this.#steps % STEPS !== 0) return false
    return performance.now() - this.#startedAtMs > SLICE_MS
  }

  /** Lets the event loop run. */
  async pause(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#startedAtMs = performance.now()
  }
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

/** The statements of a log's end about all of it. */
interface LastSync {
  /** Everything before this place was synced; `null`: nothing is known to be. */
  readonly synced: LogPosition | null
  /** Segments below it are not needed any more, if this frame is synced: that one of them is gone proves it. */
  readonly firstSegment: number
}

/** Reads a log backward, segment by segment, up to one that says how far the log was synced. */
async function findLastSync({ parts, salt }: LogChain, disk: LogDisk): Promise<LastSync> {
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
