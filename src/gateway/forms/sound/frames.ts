import { AAC_HZ } from './packets.ts'
import { type SoundScan, Steps } from './scan.ts'

const KBIT = {
  1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  low1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const
const HZ = [44_100, 48_000, 32_000] as const
/** The longest frame, and the head of the next. */
const BYTES_OF_STEP = 8
const VIEW = 8_191 + 8
const ZEROS_OF_BYTE = 4
const SYNC = 0xff
/** Heads of encoders, in a frame of its own without sound. */
const ENCODERS_HEAD = /Xing|Info|VBRI/

/** By the bits of a frame's head: AAC, and the three layers of MPEG. */
const FAMILIES = [0, 1, 2, 3] as const

/**
 * MP3 and AAC: each layer counted by itself, as a decoder of one passes over heads of the others. All of it counts, as which
 * one the server takes is not known.
 */
export class FramesScan implements SoundScan {
  readonly headSeconds = 0
  readonly #scans = FAMILIES.map((family) => new FrameScan(family))
  #bytes = 0

  push(bytes: Buffer): void {
    this.#bytes += bytes.length
    for (const scan of this.#scans) scan.push(bytes)
  }

  /** A file of another format may hold what looks like frames: of such a one they are not most. */
  end(): number | null {
    if (this.#scans.map((scan) => scan.end()).includes(false)) return null
    const most = Math.max(...this.#scans.map(({ frameBytes }) => frameBytes))
    return most * 2 < this.#bytes ? 0 : this.#scans.reduce((sum, { seconds }) => sum + seconds, 0)
  }
}

/** Frames one behind the other, each of which says its rate. Sources: ISO/IEC 11172-3, 2.4.1.3, and 13818-7, 6.2. */
class FrameScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  readonly #family: number
  seconds = 0
  frameBytes = 0
  #isChained = false
  /** Zeros that may be looked at yet: those behind one frame may be looked at for others, too. */
  #zerosLeft = VIEW
  /** What the frames before have in common; -1: there are none. */
  #kind = -1

  constructor(family: number) {
    this.#family = family
  }

  push(bytes: Buffer): void {
    this.#zerosLeft += bytes.length * ZEROS_OF_BYTE
    this.#steps.push(bytes)
  }

  /** Gives whether all was looked at. */
  end(): boolean {
    return this.#steps.end() && this.#zerosLeft > 0
  }

  #step(bytes: Buffer, at: number): number {
    const length = this.#lengthAt(bytes, at)
    // Behind other bytes, what looks like a frame is one if another follows, or it is of the kind of those before.
    if (
      length > 0 &&
      (this.#isChained || kindOf(bytes, at) === this.#kind || this.#isFollowed(bytes, at + length))
    ) {
      const isHead = this.#kind < 0 && ENCODERS_HEAD.test(bytes.toString('latin1', at + 4, at + 44))
      if (!isHead) this.seconds += frameSeconds(bytes, at)
      this.#kind = kindOf(bytes, at)
      this.#isChained = true
      this.frameBytes += length
      return length
    }
    this.#isChained = false
    const next = bytes.indexOf(SYNC, at + 1)
    return (next < 0 ? bytes.length : next) - at
  }

  /** Whether a frame of any family follows, perhaps behind zeros, which decoders pass over. */
  #isFollowed(bytes: Buffer, end: number): boolean {
    let at = end
    const last = Math.min(bytes.length, end + this.#zerosLeft)
    while (at < last && bytes[at] === 0) at += 1
    this.#zerosLeft -= at - end
    return frameBytes(bytes, at) > 0
  }

  /** Of a frame of its own family. */
  #lengthAt(bytes: Buffer, at: number): number {
    return (((bytes[at + 1] ?? 0) >> 1) & 3) === this.#family ? frameBytes(bytes, at) : 0
  }
}

function isAdts(second: number): boolean {
  return (second & 0xf6) === 0xf0
}

function kindOf(bytes: Buffer, at: number): number {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  return isAdts(second) ? third & 0x3c : ((second & 0x1e) << 8) | (third & 0x0c)
}

/** The length of the frame that begins there; 0: none does. */
function frameBytes(bytes: Buffer, at: number): number {
  const second = bytes[at + 1] ?? 0
  if (bytes[at] !== SYNC || (second & 0xe0) !== 0xe0) return 0
  const third = bytes[at + 2] ?? 0
  if (isAdts(second)) {
    const length =
      ((((bytes[at + 3] ?? 0) & 3) << 16) | ((bytes[at + 4] ?? 0) << 8) | (bytes[at + 5] ?? 0)) >> 5
    return AAC_HZ[(third >> 2) & 0x0f] === undefined || length < 7 ? 0 : length
  }
  const version = (second >> 3) & 3
  const layer = 4 - ((second >> 1) & 3)
  const kbit = ratesOf(version, layer)?.[third >> 4] ?? 0
  const hz = hzOf(version, third)
  if (version === 1 || layer === 4 || kbit === 0 || hz === 0) return 0
  const padding = (third >> 1) & 1
  return layer === 1
    ? (Math.floor((12_000 * kbit) / hz) + padding) * 4
    : Math.floor((samplesOf(version, layer) * 125 * kbit) / hz) + padding
}

function frameSeconds(bytes: Buffer, at: number): number {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  if (isAdts(second)) return (1024 * (((bytes[at + 6] ?? 0) & 3) + 1)) / (AAC_HZ[(third >> 2) & 0x0f] ?? 1)
  const version = (second >> 3) & 3
  return samplesOf(version, 4 - ((second >> 1) & 3)) / hzOf(version, third)
}

function ratesOf(version: number, layer: number): readonly number[] | undefined {
  if (version === 3) return layer === 1 ? KBIT[1] : layer === 2 ? KBIT[2] : KBIT[3]
  return layer === 1 ? KBIT.low1 : KBIT.low
}

function hzOf(version: number, third: number): number {
  return (HZ[(third >> 2) & 3] ?? 0) / (version === 3 ? 1 : version === 2 ? 2 : 4)
}

function samplesOf(version: number, layer: number): number {
  return layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152
}
