import { MOST_OPUS_SAMPLES, opusSamples, vorbisSeconds } from './packets.ts'
import { type SoundScan, Steps } from './scan.ts'

const BYTES_OF_STEP = 8
const VIEW = 96
const ID = {
  segment: 0x18538067,
  cluster: 0x1f43b675,
  info: 0x1549a966,
  tracks: 0x1654ae6b,
  entry: 0xae,
  audio: 0xe1,
  group: 0xa0,
  scale: 0x2ad7b1,
  duration: 0x4489,
  number: 0xd7,
  codec: 0x86,
  codecPrivate: 0x63a2,
  hz: 0xb5,
  time: 0xe7,
  simpleBlock: 0xa3,
  block: 0xa1,
} as const
const HOLDERS: ReadonlySet<number> = new Set([
  ID.segment,
  ID.cluster,
  ID.info,
  ID.tracks,
  ID.entry,
  ID.audio,
  ID.group,
])
const OPUS_HZ = 48_000
/** Of codings of speech and music. */
const MOST_HZ = 96_000

interface Track {
  number: number
  codec: string
  hz: number
  packetSeconds: number
  seconds: number
}

/**
 * Matroska and WebM: the frames of each track, and the length that its head and its times say. What a browser records has
 * no length in its head. Source: RFC 9559.
 */
export class MatroskaScan implements SoundScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  readonly #tracks: Track[] = []
  #scaleNs = 1_000_000
  #length = 0
  #time = 0
  #lastTime = 0

  push(bytes: Buffer): void {
    this.#steps.push(bytes)
  }

  end(): number | null {
    return this.#steps.end() ? Math.max(0, ...this.#tracks.map(({ seconds }) => seconds)) : null
  }

  get headSeconds(): number {
    return (Math.max(this.#length, this.#lastTime) * this.#scaleNs) / 1e9
  }

  #step(bytes: Buffer, at: number): number {
    const idBytes = lengthBytes(bytes[at] ?? 0)
    const sizeAt = at + idBytes
    const sizeBytes = lengthBytes(bytes[sizeAt] ?? 0)
    if (idBytes > 4 || sizeBytes > 8) return 1
    const id = bytes.readUIntBE(at, idBytes)
    const start = sizeAt + sizeBytes
    if (HOLDERS.has(id)) {
      if (id === ID.entry && this.#tracks.length < 64)
        this.#tracks.push({ number: 0, codec: '', hz: 0, packetSeconds: 0, seconds: 0 })
      return start - at
    }
    const size = sizeIn(bytes, sizeAt, sizeBytes)
    this.#read(id, bytes, start, Math.min(size, VIEW - 16))
    return start - at + size
  }

  #read(id: number, bytes: Buffer, at: number, size: number): void {
    const track = this.#tracks.at(-1)
    if (id === ID.scale) this.#scaleNs = unsigned(bytes, at, size)
    else if (id === ID.duration) this.#length = Math.max(this.#length, float(bytes, at, size))
    else if (id === ID.time) this.#time = unsigned(bytes, at, size)
    else if (id === ID.simpleBlock || id === ID.block) this.#takeBlock(bytes, at)
    else if (track === undefined) return
    else if (id === ID.number) track.number = unsigned(bytes, at, size)
    else if (id === ID.codec) track.codec = bytes.toString('latin1', at, at + size).replaceAll('\0', '')
    else if (id === ID.hz) track.hz = Math.min(float(bytes, at, size), MOST_HZ)
    else if (id === ID.codecPrivate) {
      const ident = bytes.subarray(at, at + size).indexOf('\x01vorbis')
      if (ident >= 0 && ident < 16) track.packetSeconds = vorbisSeconds(bytes, at + ident)
    }
  }

  #takeBlock(bytes: Buffer, at: number): void {
    const numberBytes = lengthBytes(bytes[at] ?? 0)
    if (numberBytes > 2) return
    const number = sizeIn(bytes, at, numberBytes)
    const head = at + numberBytes
    this.#lastTime = Math.max(this.#lastTime, this.#time + bytes.readInt16BE(head))
    const track = this.#tracks.find((known) => known.number === number)
    if (track === undefined) return
    // Several frames in one block: how many stands first.
    const isLaced = ((bytes[head + 2] ?? 0) & 0x06) !== 0
    const frames = isLaced ? (bytes[head + 3] ?? 0) + 1 : 1
    if (track.codec === 'A_OPUS') {
      track.seconds += (isLaced ? frames * MOST_OPUS_SAMPLES : opusSamples(bytes, head + 3)) / OPUS_HZ
      return
    }
    const seconds = track.hz > 0 ? samplesOf(track) / track.hz : 0
    track.seconds += frames * (track.packetSeconds || seconds)
  }
}

/** The samples of a frame; 0: not known. */
function samplesOf({ codec, hz }: Track): number {
  if (codec === 'A_AAC') return 1_024
  if (codec === 'A_AC3') return 1_536
  return codec === 'A_MPEG/L3' ? (hz < 32_000 ? 576 : 1_152) : 0
}

/** The bytes of a number whose first byte says how many: 9 where it says too many. */
function lengthBytes(first: number): number {
  return Math.clz32(first) - 23
}

/** 0: not known. */
function sizeIn(bytes: Buffer, at: number, length: number): number {
  let size = (bytes[at] ?? 0) & (0xff >> length)
  let isKnown = size !== 0xff >> length
  for (let byte = 1; byte < length; byte += 1) {
    const next = bytes[at + byte] ?? 0
    isKnown ||= next !== 0xff
    size = size * 256 + next
  }
  return isKnown ? size : 0
}

function unsigned(bytes: Buffer, at: number, size: number): number {
  return size < 1 || size > 6 ? 0 : bytes.readUIntBE(at, size)
}

function float(bytes: Buffer, at: number, size: number): number {
  const value = size === 4 ? bytes.readFloatBE(at) : size === 8 ? bytes.readDoubleBE(at) : 0
  return value > 0 ? value : 0
}
