import { Boxes } from './boxes.ts'
import { AAC_SAMPLES, aacHz, opusSamples, vorbisSeconds } from './packets.ts'
import { type SoundScan, Steps } from './scan.ts'

const BYTES_OF_STEP = 8
const VIEW = 96
const ID = {
  segment: 0x18538067,
  cluster: 0x1f43b675,
  info: 0x1549a966,
  tracks: 0x1654ae6b,
  entry: 0xae,
  group: 0xa0,
  scale: 0x2ad7b1,
  duration: 0x4489,
  number: 0xd7,
  codec: 0x86,
  codecPrivate: 0x63a2,
  encodings: 0x6d80,
  time: 0xe7,
  simpleBlock: 0xa3,
  block: 0xa1,
} as const
const HOLDERS: ReadonlySet<number> = new Set([ID.segment, ID.cluster, ID.info, ID.tracks, ID.entry, ID.group])
const OPUS_HZ = 48_000
const MOST_TRACKS = 64

interface Track {
  number: number
  codec: string
  /** Of a packet of AAC or Vorbis, by the decoder's configuration; 0: that does not say it. */
  aacSeconds: number
  vorbisSeconds: number
  seconds: number
}

/**
 * Matroska and WebM: the frames of each track, and the length that its head and its times say. What a browser records has
 * no length in its head. Source: RFC 9559.
 */
export class MatroskaScan implements SoundScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  readonly #boxes = new Boxes()
  readonly #tracks: Track[] = []
  #isInDoubt = false
  #scaleNs = 1_000_000
  #length = 0
  #time = 0
  #lastTime = 0

  push(bytes: Buffer): void {
    this.#steps.push(bytes)
  }

  end(): number | null {
    const isKnown = this.#steps.end() && !this.#isInDoubt && !this.#boxes.isBroken
    return isKnown ? Math.max(0, ...this.#tracks.map(({ seconds }) => seconds)) : null
  }

  get headSeconds(): number {
    return (Math.max(this.#length, this.#lastTime) * this.#scaleNs) / 1e9
  }

  #step(bytes: Buffer, at: number): number {
    const idBytes = lengthBytes(bytes[at] ?? 0)
    const sizeAt = at + idBytes
    const sizeBytes = lengthBytes(bytes[sizeAt] ?? 0)
    this.#isInDoubt ||= idBytes > 4 || sizeBytes > 8
    if (this.#isInDoubt) return Number.MAX_SAFE_INTEGER
    const id = bytes.readUIntBE(at, idBytes)
    const head = idBytes + sizeBytes
    const size = sizeIn(bytes, sizeAt, sizeBytes)
    if (id === ID.entry) this.#addTrack()
    if (HOLDERS.has(id)) return this.#boxes.enter(head, size)
    this.#isInDoubt ||= size === Number.POSITIVE_INFINITY || id === ID.encodings
    this.#read(id, bytes, at + head, Math.min(size, VIEW - 16))
    return this.#boxes.pass(head, size)
  }

  #addTrack(): void {
    this.#isInDoubt ||= this.#tracks.length >= MOST_TRACKS
    this.#tracks.push({ number: 0, codec: '', aacSeconds: 0, vorbisSeconds: 0, seconds: 0 })
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
    else if (id === ID.codecPrivate) describe(track, bytes.subarray(at, at + size))
  }

  #takeBlock(bytes: Buffer, at: number): void {
    const numberBytes = lengthBytes(bytes[at] ?? 0)
    const number = sizeIn(bytes, at, Math.min(numberBytes, 8))
    const head = at + numberBytes
    this.#lastTime = Math.max(this.#lastTime, this.#time + bytes.readInt16BE(head))
    const track = this.#tracks.find((known) => known.number === number)
    // Several frames in one block: how many stands first.
    const isLaced = ((bytes[head + 2] ?? 0) & 0x06) !== 0
    const packet = track === undefined ? 0 : packetSeconds(track)
    if (track === undefined) this.#isInDoubt = true
    else if (packet > 0) track.seconds += packet * (isLaced ? (bytes[head + 3] ?? 0) + 1 : 1)
    else if (track.codec.startsWith('A_OPUS') && !isLaced)
      track.seconds += opusSamples(bytes, head + 3) / OPUS_HZ
    else this.#isInDoubt ||= track.codec.startsWith('A_')
  }
}

/** Of those that are all alike; 0: they are not, or it is not known. */
function packetSeconds({ codec, aacSeconds, vorbisSeconds: seconds }: Track): number {
  return codec.startsWith('A_AAC') ? aacSeconds : codec.startsWith('A_VORBIS') ? seconds : 0
}

/** @param config The decoder's configuration. */
function describe(track: Track, config: Buffer): void {
  const hz = aacHz(config, 0)
  const ident = config.indexOf('\x01vorbis')
  track.aacSeconds = hz === 0 ? 0 : AAC_SAMPLES / hz
  track.vorbisSeconds =
    ident >= 0 && ident < 16 && ident + 29 <= config.length ? vorbisSeconds(config, ident) : 0
}

/** The bytes of a number whose first byte says how many: 9 where it says too many. */
function lengthBytes(first: number): number {
  return Math.clz32(first) - 23
}

/** `Infinity`: it does not say. */
function sizeIn(bytes: Buffer, at: number, length: number): number {
  let size = (bytes[at] ?? 0) & (0xff >> length)
  let isKnown = size !== 0xff >> length
  for (let byte = 1; byte < length; byte += 1) {
    const next = bytes[at + byte] ?? 0
    isKnown ||= next !== 0xff
    size = size * 256 + next
  }
  return isKnown ? size : Number.POSITIVE_INFINITY
}

function unsigned(bytes: Buffer, at: number, size: number): number {
  return size < 1 || size > 6 ? 0 : bytes.readUIntBE(at, size)
}

function float(bytes: Buffer, at: number, size: number): number {
  const value = size === 4 ? bytes.readFloatBE(at) : size === 8 ? bytes.readDoubleBE(at) : 0
  return value > 0 ? value : 0
}
