import { opusSamples, vorbisSeconds } from './packets.ts'
import { Occurrences, type SoundScan, Steps } from './scan.ts'

const PAGE = Buffer.from('OggS\0')
/** What stands beside sound: films, and tables of what is in the file. */
const NOT_SOUND = /^(?:\x80theora|fishead)/
const TAGS = Buffer.from('OpusTags')
const PAGE_HEAD = 27
/** A page's head with its table of segments. */
const BYTES_OF_STEP = 3
const VIEW = PAGE_HEAD + 255
const CONTINUES = 1
const BEGINS = 2
const OPUS_HZ = 48_000
const MOST_STREAMS = 64

interface Stream {
  readonly codec: 'opus' | 'vorbis' | 'none' | 'unknown'
  /** Of the positions that pages say; 0: not known. */
  readonly hz: number
  /** Samples before the first that is heard. */
  readonly skipped: number
  /** Of a packet of Vorbis. */
  readonly packetSeconds: number
}

const UNKNOWN: Stream = { codec: 'unknown', hz: 0, skipped: 0, packetSeconds: 0 }
const NONE: Stream = { ...UNKNOWN, codec: 'none' }

/** Ogg: its packets of Opus and Vorbis, and the positions that its pages say. Sources: RFC 3533, 6; RFC 7845, 4; Vorbis I, 4.2.2. */
export class OggScan implements SoundScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  readonly #streams = new Map<number, Stream>()
  /** Where a decoder begins to read again behind a page that it does not take. */
  readonly #capturePatterns = new Occurrences(PAGE)
  #pages = 0
  #isInDoubt = false
  #seconds = 0
  #headSeconds = 0
  /** The newest: a page's whose own is not known. */
  #newest = UNKNOWN
  #serial = 0
  #begins = false
  /** What stands on the page: sizes of packets, negative where one goes on that began before. */
  #sizes: number[] = []

  push(bytes: Buffer): void {
    this.#capturePatterns.push(bytes)
    this.#steps.push(bytes)
  }

  end(): number | null {
    const isKnown = this.#steps.end() && !this.#isInDoubt && this.#pages === this.#capturePatterns.count
    return isKnown ? this.#seconds : null
  }

  get headSeconds(): number {
    return this.#headSeconds
  }

  #step(bytes: Buffer, at: number): number {
    const size = this.#sizes.pop()
    if (size !== undefined) {
      if (size > 0) this.#takePacket(bytes, at)
      return Math.abs(size)
    }
    if (PAGE.equals(bytes.subarray(at, at + PAGE.length))) return this.#openPage(bytes, at)
    const next = bytes.indexOf(PAGE, at + 1)
    return (next < 0 ? Math.max(at + 1, bytes.length - PAGE.length) : next) - at
  }

  #openPage(bytes: Buffer, at: number): number {
    this.#pages += 1
    const flags = bytes[at + 5] ?? 0
    const segments = bytes[at + 26] ?? 0
    this.#serial = bytes.readUInt32LE(at + 14)
    this.#begins = (flags & BEGINS) !== 0
    if (!this.#begins) this.#takePosition(Number(bytes.readBigInt64LE(at + 6)))
    let isStart = (flags & CONTINUES) === 0
    let size = 0
    for (let segment = 0; segment < segments; segment += 1) {
      const length = bytes[at + PAGE_HEAD + segment] ?? 0
      size += length
      if (length === 255 && segment + 1 < segments) continue
      if (size > 0) this.#sizes.push(isStart ? size : -size)
      isStart = true
      size = 0
    }
    this.#sizes.reverse()
    return PAGE_HEAD + segments
  }

  #takePosition(samples: number): void {
    const { hz, skipped } = this.#streams.get(this.#serial) ?? this.#newest
    if (hz > 0) this.#headSeconds = Math.max(this.#headSeconds, (samples - skipped) / hz)
  }

  #takePacket(bytes: Buffer, at: number): void {
    const isNew = this.#begins && !this.#streams.has(this.#serial)
    this.#begins = false
    if (isNew) {
      this.#addStream(streamOf(bytes, at))
      return
    }
    const { codec, packetSeconds } = this.#streams.get(this.#serial) ?? this.#newest
    const first = bytes[at] ?? 0
    const isTags = first === TAGS[0] && TAGS.equals(bytes.subarray(at, at + TAGS.length))
    if (codec === 'opus' && !isTags) this.#seconds += opusSamples(bytes, at) / OPUS_HZ
    // Odd ones are heads.
    else if (codec === 'vorbis' && (first & 1) === 0) this.#seconds += packetSeconds
    else this.#isInDoubt ||= codec === 'unknown'
  }

  #addStream(stream: Stream): void {
    this.#newest = stream
    this.#streams.set(this.#serial, stream)
    this.#isInDoubt ||= this.#streams.size > MOST_STREAMS
  }
}

function streamOf(bytes: Buffer, at: number): Stream {
  const name = bytes.toString('latin1', at, at + 8)
  if (name === 'OpusHead')
    return { codec: 'opus', hz: OPUS_HZ, skipped: bytes.readUInt16LE(at + 10), packetSeconds: 0 }
  if (!name.startsWith('\x01vorbis')) return NOT_SOUND.test(name) ? NONE : UNKNOWN
  return {
    codec: 'vorbis',
    hz: bytes.readUInt32LE(at + 12),
    skipped: 0,
    packetSeconds: vorbisSeconds(bytes, at),
  }
}
