import { closeSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { FrameWriter } from '../../../src/ledger/journal/segments/format/frame-writer.ts'
import type { Frame } from '../../../src/ledger/journal/segments/format/frames.ts'
import { SegmentReader, scanSegment } from '../../../src/ledger/journal/segments/format/segment-reader.ts'

/** The files of a producer's log, in order. */
export function segmentPaths(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'))
  return names.sort().map((name) => join(folder, name))
}

/** The frames of a segment that can be read. */
export function framesIn(path: string): Frame[] {
  const bytes = readFileSync(path)
  const segment = Number(/(\d+)\.log$/.exec(path)?.[1])
  const begin = new SegmentReader(bytes, segment, null).read(0)
  const reader = new SegmentReader(bytes, segment, begin?.kind === 'begin' ? begin.begin.salt : 0)
  return [...scanSegment(reader, 0, bytes.length)].filter((frame) => frame.kind !== 'bad')
}

/** Overwrites a part of a file with bytes that are in no log. */
export function garble(path: string, offset: number, bytes: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, offset)
  closeSync(file)
}

/** Makes the records from one sequence to another unreadable, with all that stands between them. */
export function garbleRecords(folder: string, from: number, to: number): void {
  for (const path of segmentPaths(folder)) {
    const records = framesIn(path).filter(
      (frame) => frame.kind === 'close' && frame.sequence >= from && frame.sequence <= to,
    )
    const [first, last] = [records[0], records.at(-1)]
    if (first !== undefined && last !== undefined) garble(path, first.at, last.end - first.at)
  }
}

/** Gives an open call another text of at most its length, as a writer with a fault would have written it. */
export function replaceOpenText(path: string, call: number, text: string): void {
  const bytes = readFileSync(path)
  const frames = framesIn(path)
  const [begin] = frames
  const open = frames.find((frame) => frame.kind === 'open' && frame.call === call)
  if (begin?.kind !== 'begin' || open?.kind !== 'open') throw new Error('no such call')
  const writer = new FrameWriter(Number(/(\d+)\.log$/.exec(path)?.[1]), begin.begin.salt)
  writer.clear(open.at)
  writer.open(call, text.padEnd(Buffer.byteLength(open.text)))
  writer.buffer.copy(bytes, open.at, 0, writer.length)
  writeFileSync(path, bytes)
}
