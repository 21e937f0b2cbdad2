import { join } from 'node:path'
import type { SegmentBegin } from '../format/frames.ts'
import { segmentName, segmentNumbers } from '../format/segment-files.ts'
import { SegmentReader } from '../format/segment-reader.ts'
import type { LogDisk } from '../log-disk.ts'

/** A `begin` is no longer, with any name of a stream. */
const BEGIN_MAX_BYTES = 64 * 1024

/** A segment as far as it is part of the log. */
export interface LogPart {
  readonly segment: number
  readonly path: string
  /** The place where the log goes on with the next part; `null`: at the segment's end. */
  readonly to: number | null
  /** Another part says that it is there, and it is not. */
  readonly isMissing: boolean
}

/** The parts of a log, in order. */
export interface LogChain {
  readonly parts: readonly LogPart[]
  readonly salt: number
  readonly stream: string
  /** No segment has a higher number. */
  readonly highest: number
}

/** `absent`: there is no segment, or nothing was ever written to one. `unreadable`: none tells how it begins. */
export type FoundLog = LogChain | 'absent' | 'unreadable'

/** Finds which segments of a folder make up its log: from the newest backward, each tells what it continues from. */
export async function findLog(folder: string, disk: LogDisk): Promise<FoundLog> {
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
