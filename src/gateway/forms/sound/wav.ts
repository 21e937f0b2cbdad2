import { FramesScan } from './frames.ts'
import { type SoundScan, Steps } from './scan.ts'

const PCM: ReadonlySet<number> = new Set([1, 3])
/** The coding stands behind the description. */
const EXTENSIBLE = 0xfffe
const TELEPHONE: ReadonlySet<number> = new Set([6, 7])
const MPEG: ReadonlySet<number> = new Set([0x50, 0x55])
const ADPCM = 2
const IMA = 0x11
const GSM = 0x31
const CHUNKS_AT = 12
/** Name and size. */
const HEAD_OF_CHUNK = 8
/** Silence reads as chunks of no length, one at every eighth byte. */
const BYTES_OF_CHUNK = 1_024

/**
 * WAV: its bytes, at what decoders take for a second: they pass over the rate of bytes that the head says. Of codings that
 * are not known it is not known. Source: Microsoft's "Multimedia Programming Interface and Data Specifications 1.0".
 */
export class WavScan implements SoundScan {
  readonly headSeconds = 0
  readonly #head: Buffer
  readonly #frames: FramesScan | null
  #bytes = 0
  readonly #chunks = new Steps(BYTES_OF_CHUNK, HEAD_OF_CHUNK, (bytes, at) => this.#pass(bytes, at))
  #isInChunks = false
  /** The size of all chunks with sound: players go on from one to the next. */
  #saidBytes = 0

  constructor(head: Buffer) {
    this.#head = head
    const format = chunkAt(head, 'fmt ')
    this.#frames = format !== null && MPEG.has(codingAt(head, format)) ? new FramesScan() : null
  }

  push(bytes: Buffer): void {
    this.#bytes += bytes.length
    this.#frames?.push(bytes)
    this.#chunks.push(bytes)
  }

  /** Passes over the head of the file, then over chunk after chunk. */
  #pass(bytes: Buffer, at: number): number {
    if (!this.#isInChunks) {
      this.#isInChunks = true
      return CHUNKS_AT
    }
    const said = bytes.readUInt32LE(at + 4)
    const isSound = bytes.toString('latin1', at, at + 4) === 'data'
    // What is recorded as it is sent has no size yet: all that comes is sound.
    const size = isSound && said === 0 ? Number.POSITIVE_INFINITY : said
    if (isSound) this.#saidBytes += size
    return HEAD_OF_CHUNK + size + (said % 2)
  }

  end(): number | null {
    if (this.#frames !== null) return this.#frames.end()
    const format = chunkAt(this.#head, 'fmt ')
    const data = chunkAt(this.#head, 'data')
    const bytesPerSecond = format === null ? 0 : bytesPerSecondOf(this.#head, format)
    if (data === null || bytesPerSecond === 0) return 0
    // Players go on behind a size that is too small, and to the end where it is too large.
    const rest = this.#bytes - data
    const said = this.#chunks.end() ? this.#saidBytes : rest
    return (said <= rest && rest <= 2 * said ? said : rest) / bytesPerSecond
  }
}

/** Where what the chunk holds begins; `null`: it is not in the head, as far as that goes. */
function chunkAt(head: Buffer, name: string): number | null {
  for (let at = CHUNKS_AT; at + HEAD_OF_CHUNK <= head.length; ) {
    if (head.toString('latin1', at, at + 4) === name)
      return name === 'data' || at + 24 <= head.length ? at + 8 : null
    const size = head.readUInt32LE(at + 4)
    at += HEAD_OF_CHUNK + size + (size % 2)
  }
  return null
}

function codingAt(head: Buffer, format: number): number {
  const coding = head.readUInt16LE(format)
  return coding === EXTENSIBLE && format + 26 <= head.length ? head.readUInt16LE(format + 24) : coding
}

/** 0: not known. */
function bytesPerSecondOf(head: Buffer, format: number): number {
  const coding = codingAt(head, format)
  const channels = head.readUInt16LE(format + 2)
  const hz = head.readUInt32LE(format + 4)
  const block = head.readUInt16LE(format + 12)
  if (PCM.has(coding)) return (hz * channels * head.readUInt16LE(format + 14)) / 8
  if (TELEPHONE.has(coding)) return hz * channels
  if (coding === GSM) return (hz * 65) / 320
  if ((coding !== ADPCM && coding !== IMA) || head.readUInt16LE(format + 14) !== 4) return 0
  // Four bits a sample, and a head of each block that has one or two samples in it.
  const headBytes = (coding === IMA ? 4 : 7) * channels
  const samples = ((block - headBytes) * 2) / channels + (coding === IMA ? 1 : 2)
  return channels > 0 && block > headBytes ? (hz * block) / samples : 0
}
