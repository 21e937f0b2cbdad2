import { randomInt } from 'node:crypto'
import { fsyncSync } from 'node:fs'
import { join } from 'node:path'
import { FrameWriter } from '../../segments/format/frame-writer.ts'
import { type LogPosition, SEGMENT_VERSION } from '../../segments/format/frames.ts'
import { segmentName } from '../../segments/format/segment-files.ts'
import type { LogDisk } from '../../segments/log-disk.ts'

const WRITE_BYTES = 1024 * 1024

export interface ConvertedJournal {
  readonly stream: string
  readonly prunedTo: number
  readonly isTailLost: boolean
}

export interface ConversionOptions {
  readonly disk: LogDisk
  /** A segment of this length is followed by the next. */
  readonly segmentBytes: number
}

/** A log that is written at once, from a journal of another format. It blocks on the disk. */
export class ConvertedLog {
  readonly #folder: string
  readonly #disk: LogDisk
  readonly #segmentBytes: number
  readonly #journal: ConvertedJournal
  readonly #salt = randomInt(1, 2 ** 32)
  readonly #frames = new FrameWriter(0, this.#salt)
  #segment = 0
  #descriptor: number | null = null
  #end = 0
  #last: number
  #bytesTotal = 0
  #nextCall = 1

  constructor(folder: string, { disk, segmentBytes }: ConversionOptions, journal: ConvertedJournal) {
    this.#folder = folder
    this.#disk = disk
    this.#segmentBytes = segmentBytes
    this.#journal = journal
    this.#last = journal.prunedTo
  }

  /** Adds the next record. `bytesTotal` is that of all bodies with this one. */
  addRecord(sequence: number, bytesTotal: number, body: string): void {
    const bytesBefore = bytesTotal - Buffer.byteLength(body)
    if (this.#segment === 0) this.#bytesTotal = bytesBefore
    this.#makeRoom()
    this.#bytesTotal = this.#frames.close(0, sequence, bytesBefore, body)
    this.#last = sequence
  }

  addOpenCall(call: string, snapshot: string | null): void {
    this.#makeRoom()
    this.#frames.carried(this.#nextCall++, call, snapshot)
  }

  /** All was added: it is on the disk when this returns. The names of the segments are not. */
  finish(): void {
    this.#makeRoom()
    this.#write()
    this.#frames.synced({ synced: this.#position, last: this.#last, nextCall: this.#nextCall, discards: 0 })
    this.#endSegment()
  }

  close(): void {
    if (this.#descriptor !== null) this.#disk.close(this.#descriptor)
    this.#descriptor = null
  }

  get #position(): LogPosition {
    return { segment: this.#segment, position: this.#end }
  }

  #makeRoom(): void {
    if (this.#frames.length >= Math.min(WRITE_BYTES, this.#segmentBytes)) this.#write()
    if (this.#descriptor !== null && this.#end < this.#segmentBytes) return
    const previousEnd = this.#position
    if (this.#descriptor !== null) this.#endSegment()
    this.#segment++
    this.#end = 0
    this.#descriptor = this.#disk.create(join(this.#folder, segmentName(this.#segment)))
    this.#frames.useSegment(this.#segment, this.#salt)
    this.#frames.clear()
    this.#frames.begin({
      ...this.#journal,
      version: SEGMENT_VERSION,
      salt: this.#salt,
      previousEnd,
      rewrites: false,
      firstSegment: 1,
      nextCall: this.#nextCall,
      nextSequence: this.#last + 1,
      bytesTotal: this.#bytesTotal,
      discards: 0,
    })
  }

  #write(): void {
    const { buffer, length } = this.#frames
    for (let written = 0; written < length && this.#descriptor !== null; ) {
      const count = this.#disk.write(this.#descriptor, buffer, written, length - written, this.#end + written)
      if (count === 0) throw new Error('the disk took no byte of a write')
      written += count
    }
    this.#end += length
    this.#frames.clear(this.#end)
  }

  #endSegment(): void {
    this.#write()
    if (this.#descriptor !== null) fsyncSync(this.#descriptor)
    this.close()
  }
}
