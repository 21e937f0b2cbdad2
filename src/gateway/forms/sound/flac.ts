import { type SoundScan, Steps } from './scan.ts'

/** The longest head of a frame, with the sum behind it. */
const BYTES_OF_STEP = 8
const VIEW = 17
const SYNC = 0xff
const KHZ_CODES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]

/** FLAC: the heads of its frames, each with a sum of its own. Source: RFC 9639, 9.1. */
export class FlacScan implements SoundScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  /** For frames that say none. */
  readonly #headHz: number
  readonly headSeconds: number
  #seconds = 0

  /** @param head The file's beginning. Source: RFC 9639, 8.2. */
  constructor(head: Buffer) {
    const samples = (head.readUInt8(21) & 0x0f) * 2 ** 32 + head.readUInt32BE(22)
    this.#headHz = head.readUIntBE(18, 3) >> 4
    this.headSeconds = this.#headHz > 0 ? samples / this.#headHz : 0
  }

  push(bytes: Buffer): void {
    this.#steps.push(bytes)
  }

  end(): number | null {
    return this.#steps.end() ? this.#seconds : null
  }

  #step(bytes: Buffer, at: number): number {
    if (bytes[at] === SYNC && ((bytes[at + 1] ?? 0) & 0xfe) === 0xf8) {
      const seconds = this.#secondsOf(bytes, at)
      this.#seconds += seconds
      if (seconds > 0) return 6
    }
    const next = bytes.indexOf(SYNC, at + 1)
    return (next < 0 ? bytes.length : next) - at
  }

  /** Of the frame whose head begins there; 0: none does. */
  #secondsOf(bytes: Buffer, at: number): number {
    const third = bytes[at + 2] ?? 0
    const block = third >> 4
    const rate = third & 0x0f
    let end = at + 4 + numberBytes(bytes[at + 4] ?? 0)
    let samples = block === 1 ? 192 : block < 6 ? 576 << (block - 2) : 256 << (block - 8)
    if (block === 6) {
      samples = (bytes[end] ?? 0) + 1
      end += 1
    } else if (block === 7) {
      samples = bytes.readUInt16BE(end) + 1
      end += 2
    }
    let hz = rate === 0 ? this.#headHz : (KHZ_CODES[rate] ?? 0)
    if (rate === 12) {
      hz = (bytes[end] ?? 0) * 1_000
      end += 1
    } else if (rate === 13 || rate === 14) {
      hz = bytes.readUInt16BE(end) * (rate === 14 ? 10 : 1)
      end += 2
    }
    const isHead = block !== 0 && rate !== 15 && hz > 0 && sumOf(bytes, at, end) === bytes[end]
    return isHead ? samples / hz : 0
  }
}

/** Of the frame's number, in as many bytes as UTF-8 would take. */
function numberBytes(first: number): number {
  return first < 0x80 ? 1 : Math.min(7, Math.max(2, Math.clz32(~(first << 24))))
}

/** A cyclic redundancy check with the polynomial x^8 + x^2 + x + 1. */
function sumOf(bytes: Buffer, start: number, end: number): number {
  let sum = 0
  for (let at = start; at < end; at += 1) {
    sum ^= bytes[at] ?? 0
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80 ? ((sum << 1) ^ 0x07) & 0xff : sum << 1
  }
  return sum
}
