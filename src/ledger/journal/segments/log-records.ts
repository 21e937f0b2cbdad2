import type { JournalRow } from '../journal.ts'
import { CLOSE_NUMBERS_BYTES, FRAME_HEADER_BYTES } from './format/frames.ts'
import { SegmentReader } from './format/segment-reader.ts'
import type { LogSegment } from './log-segment.ts'
import type { SegmentLog } from './segment-log.ts'

/** A record, and the number that its call had while it was open; 0: none. */
export interface LogRow extends JournalRow {
  readonly call: number
}

/** More bytes of a segment are not read at once, but for one record. */
const READ_BYTES = 4 * 1024 * 1024
const MAX_ROWS = 10_000

/** A very busy gateway writes this much in a second; more is read back from the journal. */
const MAX_BYTES = 2 * 1024 * 1024
/** Bound of records that a disk does not sync: until then memory is the only place that surely has them. */
const MAX_UNSYNCED_BYTES = 32 * 1024 * 1024

/** The records committed last, so that the shipper need not read from disk what was just written. */
export class RecentRows<Row extends JournalRow = JournalRow> {
  /**
   * One run of sequences without a gap. Places before `#start` are empty: of a row that lingered there, V8 would make
   * an old object, and those cost many times as much to free.
   */
  #rows: (Row | null)[] = []
  #start = 0
  #bytes = 0
  /** The records above it are dropped for want of room only when there are very many. */
  #keptAfter = Number.POSITIVE_INFINITY

  add(row: Row): void {
    this.#rows.push(row)
    this.#bytes += row.body.length
    while (this.#bytes > (this.#isNeeded() ? MAX_UNSYNCED_BYTES : MAX_BYTES)) this.#drop()
  }

  /** The records above `sequence` are needed in memory; the others are read back. Before the first call, none is. */
  keepAfter(sequence: number): void {
    this.#keptAfter = sequence
  }

  /** Drops the records at or under `sequence`. */
  dropThrough(sequence: number): void {
    for (let first = this.#first(); first !== null; first = this.#first()) {
      if (first.sequence > sequence) return
      this.#drop()
    }
  }

  /**
   * The records after `sequence`: at most `maxRows` and, but for the first, at most `maxBytes` of bodies. None when
   * the first of them is not in memory.
   */
  after(sequence: number, maxRows: number, maxBytes: number): Row[] {
    const first = this.#first()
    if (first === null || sequence + 1 < first.sequence) return []
    const from = this.#start + (sequence + 1 - first.sequence)
    const rows: Row[] = []
    let bytes = 0
    for (let at = from; at < this.#rows.length && rows.length < maxRows; at++) {
      const row = this.#rows[at] ?? null
      if (row === null) break
      bytes += row.body.length
      if (rows.length > 0 && bytes > maxBytes) break
      rows.push(row)
    }
    return rows
  }

  #isNeeded(): boolean {
    const first = this.#first()
    return first !== null && first.sequence > this.#keptAfter
  }

  #first(): Row | null {
    return this.#rows[this.#start] ?? null
  }

  #drop(): void {
    this.#bytes -= this.#first()?.body.length ?? 0
    this.#rows[this.#start] = null
    this.#start++
    if (this.#start === this.#rows.length || this.#start >= 1_024) {
      this.#rows = this.#rows.slice(this.#start)
      this.#start = 0
    }
  }
}

/** The numbered records of a log: the newest from memory, the others from the segments' files. */
export class LogRecords {
  readonly #log: SegmentLog
  readonly #recent = new RecentRows<LogRow>()

  constructor(log: SegmentLog) {
    this.#log = log
  }

  /** A record was written to the current segment, the next one in order. */
  add(row: LogRow, position: number): void {
    this.#log.current.index.add(row.sequence, position, row.bytesTotal)
    this.#recent.add(row)
  }

  /** The records at or under `sequence` survive power loss: memory may lack them. */
  synced(sequence: number): void {
    this.#recent.keepAfter(sequence)
  }

  dropRecent(sequence: number): void {
    this.#recent.dropThrough(sequence)
  }

  /** As `JournalRecords.read`. */
  read(sequence: number, maxRows: number, maxBytes: number): readonly LogRow[] {
    const after = Math.max(sequence, this.#log.counts.prunedTo)
    const recent = this.#recent.after(after, maxRows, maxBytes)
    return recent.length > 0 ? recent : this.#readFiles(after, maxRows, maxBytes)
  }

  /** All records above `sequence`. Throws when one of them cannot be read. */
  readAfter(sequence: number): LogRow[] {
    const rows: LogRow[] = []
    const { last } = this.#log.counts
    for (let after = sequence; after < last; ) {
      const read = this.read(after, MAX_ROWS, READ_BYTES)
      if (read[0]?.sequence !== after + 1) throw new Error(`record ${after + 1} cannot be read`)
      rows.push(...read)
      after = read.at(-1)?.sequence ?? last
    }
    return rows
  }

  hasAnyOf(from: number, to: number): boolean {
    const after = Math.max(from - 1, this.#log.counts.prunedTo)
    for (const { index } of this.#log.segments) {
      const first = index.firstAfter(after)
      if (first < index.length) return index.sequence(first) <= to
    }
    return false
  }

  bytesTotalAt(sequence: number): number {
    const { counts, segments } = this.#log
    const upTo = Math.max(sequence, counts.prunedTo)
    if (upTo >= counts.last) return counts.bytesTotal
    for (let at = segments.length - 1; at >= 0; at--) {
      const index = segments[at]?.index
      if (index === undefined || index.length === 0) continue
      const next = index.firstAfter(upTo)
      if (next > 0) return index.bytesTotal(next - 1)
    }
    return segments.find(({ index }) => index.length > 0)?.index.bytesBefore ?? 0
  }

  /** From one segment only: callers ask again for what comes next. */
  #readFiles(sequence: number, maxRows: number, maxBytes: number): LogRow[] {
    for (const segment of this.#log.segments) {
      const first = segment.index.firstAfter(sequence)
      if (first < segment.index.length) return this.#readSegment(segment, first, maxRows, maxBytes)
    }
    return []
  }

  #readSegment(segment: LogSegment, first: number, maxRows: number, maxBytes: number): LogRow[] {
    const { index } = segment
    const bytesBefore = first === 0 ? index.bytesBefore : index.bytesTotal(first - 1)
    const from = index.position(first)
    let end = first + 1
    while (
      end < index.length &&
      end - first < maxRows &&
      index.bytesTotal(end) - bytesBefore <= maxBytes &&
      index.position(end) - from <= READ_BYTES
    )
      end++
    const lastBody =
      index.bytesTotal(end - 1) - (end - 1 === 0 ? index.bytesBefore : index.bytesTotal(end - 2))
    const to = index.position(end - 1) + FRAME_HEADER_BYTES + CLOSE_NUMBERS_BYTES + lastBody
    const bytes = this.#log.options.disk.read(segment.path, from, to - from)
    const reader = new SegmentReader(bytes, segment.number, this.#log.options.salt, from)
    return Array.from({ length: end - first }, (_, row) => readRow(reader, segment, first + row))
  }
}

/** Throws when the record is not as it was written. */
function readRow(reader: SegmentReader, { index, path }: LogSegment, at: number): LogRow {
  const frame = reader.read(index.position(at))
  if (frame?.kind !== 'close' || frame.sequence !== index.sequence(at))
    throw new Error(`record ${index.sequence(at)} cannot be read from ${path}`)
  const { call, sequence, bytesTotal, bodyAt, end } = frame
  return { call, sequence, bytesTotal, body: reader.text(bodyAt, end) }
}
