/** How long a file of sound plays, as its bytes pass: by what a decoder finds in them, as a client may write any head. */

import { FlacScan } from './sound/flac.ts'
import { FramesScan } from './sound/frames.ts'
import { MatroskaScan } from './sound/matroska.ts'
import { MP4_BEGINS, Mp4Scan } from './sound/mp4.ts'
import { OggScan } from './sound/ogg.ts'
import type { SoundScan } from './sound/scan.ts'
import { WavScan } from './sound/wav.ts'

/** What a file says of its format stands within. */
const HEAD_BYTES = 16 * 1024
const MAX_MS = 7 * 86_400_000
const EBML = 0x1a45dfa3

/**
 * A second has no more bytes than formats allow. Sources: the largest rates of Vorbis and Opus, FLAC at 96 kHz; films at
 * 16 Mbit.
 */
const OGG_BYTES = 80_000
const FLAC_BYTES = 384_000
const FILM_BYTES = 2_000_000
/** Speech at the lowest rate in use. */
const LEAST_BYTES = 1_000
/** What a decoder finds beyond what a file says: silence of the encoder's at both ends. */
const ENDS_SECONDS = 0.15

interface Format {
  readonly scan: SoundScan
  /** The most bytes of a second; `null`: its frames say it. */
  readonly mostBytes: number | null
}

/** Counts one file. */
export class SoundFile {
  #head: Buffer = Buffer.alloc(0)
  #format: Format | null = null
  #skip = 0
  #bytes = 0
  #seconds: number | null = null
  #saidSeconds = 0

  /** Borrowed. */
  push(bytes: Buffer): void {
    const kept = this.#withoutTag(bytes)
    this.#bytes += kept.length
    if (this.#format !== null) {
      this.#format.scan.push(kept)
      return
    }
    const room = HEAD_BYTES - this.#head.length
    this.#head = Buffer.concat([this.#head, kept.subarray(0, room)])
    if (kept.length >= room) this.#begin().scan.push(kept.subarray(room))
  }

  /** All of it has passed. */
  end(): void {
    const { scan, mostBytes } = this.#format ?? this.#begin()
    const found = scan.end()
    this.#saidSeconds = scan.headSeconds
    // A head alone may say anything.
    if (found === null || found === 0) return
    const seconds = found > scan.headSeconds + ENDS_SECONDS ? found : scan.headSeconds || found
    this.#seconds = mostBytes === null ? seconds : Math.max(this.#bytes / mostBytes, seconds)
  }

  /** Whole milliseconds; `null`: the file is not whole, or does not say. */
  get lengthMs(): number | null {
    return wholeMs(this.#seconds ?? 0)
  }

  /** What its head says, which a client may have made up. */
  get saidMs(): number | null {
    return wholeMs(this.#saidSeconds)
  }

  /** How long it may play at most, by its bytes alone. */
  get mostMs(): number {
    return Math.min(Math.round((this.#bytes / LEAST_BYTES) * 1000), MAX_MS)
  }

  #begin(): Format {
    const format = formatOf(this.#head)
    format.scan.push(this.#head)
    this.#format = format
    this.#head = Buffer.alloc(0)
    return format
  }

  /** The bytes behind an ID3 tag at the beginning. */
  #withoutTag(bytes: Buffer): Buffer {
    if (this.#bytes === 0 && this.#skip === 0 && bytes.length >= 10 && isTag(bytes)) {
      this.#skip = 10 + [6, 7, 8, 9].reduce((size, at) => size * 128 + ((bytes[at] ?? 0) & 0x7f), 0)
    }
    const skipped = Math.min(this.#skip, bytes.length)
    this.#skip -= skipped
    return bytes.subarray(skipped)
  }
}

/** Whether a decoder takes what begins there as a tag. Source: ID3v2.4, 3.1. */
function isTag(bytes: Buffer): boolean {
  const isOfVersion = bytes[3] !== 0xff && bytes[4] !== 0xff
  return (
    bytes.toString('latin1', 0, 3) === 'ID3' &&
    isOfVersion &&
    bytes.subarray(6, 10).every((byte) => byte < 0x80)
  )
}

/** The files of one form. Servers differ in which one they take, and the client chooses their names. */
export class SoundFiles {
  #current: SoundFile | null = null
  #longestMs: number | null = null
  /** How long one that does not say may play. */
  #unsaidMs = 0

  begin(): void {
    this.#current = new SoundFile()
  }

  /** Of the file that began last. Borrowed. */
  push(bytes: Buffer): void {
    this.#current?.push(bytes)
  }

  end(): void {
    const file = this.#current
    if (file === null) return
    file.end()
    this.#current = null
    const { lengthMs } = file
    if (lengthMs === null) this.#unsaidMs = Math.max(this.#unsaidMs, file.mostMs)
    else this.#longestMs = Math.max(this.#longestMs ?? 0, lengthMs)
  }

  /**
   * That of the longest, with one beside it that does not say at its most: no client library sends two. `null`: none says,
   * or one is not whole.
   */
  get lengthMs(): number | null {
    return this.#longestMs === null || this.#current !== null
      ? null
      : Math.max(this.#longestMs, this.#unsaidMs)
  }
}

/** How long a file of sound plays that is at hand; `null`: it does not say. */
export function soundLengthMs(file: Buffer): number | null {
  return wholeFile(file).lengthMs
}

/** How long a film at hand is, which may be without sound; `null`: it does not say. */
export function filmLengthMs(file: Buffer): number | null {
  const film = wholeFile(file)
  return film.lengthMs ?? film.saidMs
}

function wholeFile(file: Buffer): SoundFile {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  return sound
}

function wholeMs(seconds: number): number | null {
  const ms = Math.round(seconds * 1000)
  return ms > 0 && ms <= MAX_MS ? ms : null
}

function formatOf(head: Buffer): Format {
  const magic = head.toString('latin1', 0, 4)
  if (magic === 'RIFF' && head.toString('latin1', 8, 12) === 'WAVE')
    return { scan: new WavScan(head), mostBytes: null }
  if (magic === 'fLaC' && head.length >= 26) return { scan: new FlacScan(head), mostBytes: FLAC_BYTES }
  if (magic === 'OggS') return { scan: new OggScan(), mostBytes: OGG_BYTES }
  if (MP4_BEGINS.has(head.toString('latin1', 4, 8))) return { scan: new Mp4Scan(), mostBytes: FILM_BYTES }
  const isMatroska = head.length > 4 && head.readUInt32BE(0) === EBML
  return isMatroska
    ? { scan: new MatroskaScan(), mostBytes: FILM_BYTES }
    : { scan: new FramesScan(), mostBytes: null }
}
