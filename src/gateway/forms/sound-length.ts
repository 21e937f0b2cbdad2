/** How long a file of sound plays, by what stands in its head, as its bytes pass. */

/** Heads of all formats are shorter, but for pictures in MP3's tags, which are passed over. */
const HEAD_BYTES = 16 * 1024
/** A page of Ogg is at most that long. */
const TAIL_BYTES = 68 * 1024
const MVHD = Buffer.from('mvhd')
const MVHD_BYTES = 36
const MAX_MS = 7 * 86_400_000

/**
 * What a head says is held against the file's bytes, as a client may write any head: a second has no more of them than
 * formats allow. Sources: the largest rates of MP3, Vorbis and Opus, AAC of two channels at 48 kHz; films at 16 Mbit.
 */
const MP3_BYTES = 40_000
const OGG_BYTES = 80_000
const AAC_BYTES = 72_000
const FILM_BYTES = 2_000_000
/** Of WAV files with coded sound: telephone's codings and MP3 have less. */
const CODED_WAV_BYTES = 100_000
/** Of two channels of 16 bits; FLAC makes them fewer. */
const FLAC_BYTES_OF_SAMPLE = 4
/** Speech at the lowest rate in use. */
const LEAST_BYTES = 1_000

/** Keeps of one file what its length can be read from: its head, its end, and the head of a film. */
export class SoundFile {
  #head: Buffer = Buffer.alloc(0)
  readonly #tail = new LastBytes()
  #skip = 0
  #bytes = 0
  #mvhd: Buffer | null = null
  #isOver = false

  /** Borrowed. */
  push(bytes: Buffer): void {
    const kept = this.#withoutTag(bytes)
    this.#bytes += kept.length
    const room = HEAD_BYTES - this.#head.length
    if (room > 0 && kept.length > 0) this.#head = Buffer.concat([this.#head, kept.subarray(0, room)])
    if (isFilm(this.#head) && this.#mvhd === null) this.#findMvhd(kept)
    this.#tail.push(kept, isOgg(this.#head) ? TAIL_BYTES : MVHD_BYTES)
  }

  /** All of it has passed. */
  end(): void {
    this.#isOver = true
  }

  /** Whole milliseconds; `null`: the file is not whole, or does not say. */
  get lengthMs(): number | null {
    if (!this.#isOver) return null
    const seconds =
      this.#mvhd === null
        ? secondsOf(this.#head, this.#tail.bytes, this.#bytes)
        : atLeast(this.#bytes / FILM_BYTES, filmSeconds(this.#mvhd))
    const ms = Math.round((seconds ?? 0) * 1000)
    return ms > 0 && ms <= MAX_MS ? ms : null
  }

  /** How long it may play at most, by its bytes alone. */
  get mostMs(): number {
    return Math.min(Math.round((this.#bytes / LEAST_BYTES) * 1000), MAX_MS)
  }

  /** The bytes behind an ID3 tag at the beginning. */
  #withoutTag(bytes: Buffer): Buffer {
    if (
      this.#bytes === 0 &&
      this.#skip === 0 &&
      bytes.length >= 10 &&
      bytes.toString('latin1', 0, 3) === 'ID3'
    ) {
      this.#skip = 10 + [6, 7, 8, 9].reduce((size, at) => size * 128 + ((bytes[at] ?? 0) & 0x7f), 0)
    }
    const skipped = Math.min(this.#skip, bytes.length)
    this.#skip -= skipped
    return bytes.subarray(skipped)
  }

  #findMvhd(bytes: Buffer): void {
    const both = Buffer.concat([this.#tail.bytes, bytes])
    const at = both.indexOf(MVHD)
    if (at >= 0 && at + MVHD_BYTES <= both.length)
      this.#mvhd = Buffer.from(both.subarray(at, at + MVHD_BYTES))
  }
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

/** The last bytes of what passes. Older ones are moved out once in as many bytes, not at each piece. */
class LastBytes {
  #room: Buffer = Buffer.alloc(0)
  #end = 0

  /** Borrowed. Keeps at least the last `most` bytes of all that came. */
  push(piece: Buffer, most: number): void {
    const taken = piece.subarray(Math.max(0, piece.length - most))
    if (this.#end + taken.length > this.#room.length) {
      const kept = this.bytes.subarray(Math.max(0, this.#end + taken.length - most))
      const room = Buffer.allocUnsafe(2 * most)
      this.#end = kept.copy(room)
      this.#room = room
    }
    this.#end += taken.copy(this.#room, this.#end)
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#end)
  }
}

/** How long a file plays that is at hand; `null`: it does not say. */
export function soundLengthMs(file: Buffer): number | null {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  return sound.lengthMs
}

function isFilm(head: Buffer): boolean {
  return head.toString('latin1', 4, 8) === 'ftyp'
}

function isOgg(head: Buffer): boolean {
  return head.toString('latin1', 0, 4) === 'OggS'
}

function secondsOf(head: Buffer, tail: Buffer, bytes: number): number | null {
  try {
    const magic = head.toString('latin1', 0, 4)
    if (magic === 'RIFF' && head.toString('latin1', 8, 12) === 'WAVE') return wavSeconds(head, bytes)
    if (magic === 'fLaC') return flacSeconds(head, bytes)
    if (magic === 'OggS') return atLeast(bytes / OGG_BYTES, oggSeconds(head, tail))
    if (head.length > 4 && head.readUInt32BE(0) === 0x1a45dfa3)
      return atLeast(bytes / FILM_BYTES, matroskaSeconds(head))
    return frameSeconds(head, bytes)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** @param seconds 0 or `null`: not said. */
function atLeast(least: number, seconds: number | null): number | null {
  return seconds === null || seconds <= 0 ? null : Math.max(least, seconds)
}

/** Source: Microsoft's "Multimedia Programming Interface and Data Specifications 1.0". */
function wavSeconds(head: Buffer, bytes: number): number | null {
  let bytesPerSecond = 0
  for (let at = 12; at + 8 <= head.length; ) {
    const size = head.readUInt32LE(at + 4)
    const name = head.toString('latin1', at, at + 4)
    if (name === 'fmt ') bytesPerSecond = wavBytesPerSecond(head, at + 8)
    // What is recorded as it is sent has no size yet, or the largest. Players go on behind a size that is too small.
    if (name === 'data') {
      const rest = bytes - at - 8
      const sound = size <= rest && rest <= 2 * size ? size : rest
      return bytesPerSecond > 0 ? sound / bytesPerSecond : null
    }
    at += 8 + size + (size % 2)
  }
  return null
}

/** Of samples as they are it follows from what decoders go by. They pass over the figure beside it, so it may be any. */
const SAMPLES: ReadonlySet<number> = new Set([1, 3, 0xfffe])

function wavBytesPerSecond(head: Buffer, format: number): number {
  const ofSamples =
    (head.readUInt32LE(format + 4) * head.readUInt16LE(format + 2) * head.readUInt16LE(format + 14)) / 8
  return SAMPLES.has(head.readUInt16LE(format))
    ? ofSamples
    : Math.min(head.readUInt32LE(format + 8), CODED_WAV_BYTES)
}

/** Source: RFC 9639, 8.2. */
function flacSeconds(head: Buffer, bytes: number): number | null {
  const rate = head.readUIntBE(18, 3) >> 4
  const samples = (head.readUInt8(21) & 0x0f) * 2 ** 32 + head.readUInt32BE(22)
  return rate > 0 ? atLeast(bytes / (rate * FLAC_BYTES_OF_SAMPLE), samples / rate) : null
}

/** The position of the last page, in samples. Source: RFC 3533, 6; RFC 7845, 4; Vorbis I, 4.2.2. */
function oggSeconds(head: Buffer, tail: Buffer): number | null {
  const opus = head.indexOf('OpusHead')
  const vorbis = head.indexOf('\x01vorbis')
  const rate = opus >= 0 ? 48_000 : vorbis >= 0 ? head.readUInt32LE(vorbis + 12) : 0
  const skipped = opus >= 0 ? head.readUInt16LE(opus + 10) : 0
  for (
    let at = tail.lastIndexOf('OggS');
    at >= 0 && rate > 0;
    at = at === 0 ? -1 : tail.lastIndexOf('OggS', at - 1)
  ) {
    if (at + 14 > tail.length) continue
    const samples = tail.readBigInt64LE(at + 6)
    if (samples > 0n) return (Number(samples) - skipped) / rate
  }
  return null
}

/** Source: ISO/IEC 14496-12, 8.2.2. */
function filmSeconds(mvhd: Buffer): number | null {
  const isLong = mvhd[4] === 1
  const scale = mvhd.readUInt32BE(isLong ? 24 : 16)
  const length = isLong ? Number(mvhd.readBigUInt64BE(28)) : mvhd.readUInt32BE(20)
  return scale > 0 && length !== 0xffffffff ? length / scale : null
}

/** `Duration` in units of `TimestampScale`. Source: RFC 9559, 5.1.2. What a browser records as it goes has none. */
function matroskaSeconds(head: Buffer): number | null {
  const scaleAt = head.indexOf(Buffer.from([0x2a, 0xd7, 0xb1, 0x83]))
  const scaleNs = scaleAt < 0 ? 1_000_000 : head.readUIntBE(scaleAt + 4, 3)
  const long = head.indexOf(Buffer.from([0x44, 0x89, 0x88]))
  const short = head.indexOf(Buffer.from([0x44, 0x89, 0x84]))
  const length = long >= 0 ? head.readDoubleBE(long + 3) : short >= 0 ? head.readFloatBE(short + 3) : 0
  return (length * scaleNs) / 1e9
}

const KBIT = {
  1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  low1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const
const HZ = [44_100, 48_000, 32_000] as const
const ADTS_HZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
]

/** Encoders leave some empty bytes at most. */
const MOST_BEFORE_FRAMES = 4096

/** MP3 and AAC: frames one behind the other. Sources: ISO/IEC 11172-3, 2.4.1.3 and 13818-7, 6.2; Xing's and Fraunhofer's heads. */
function frameSeconds(head: Buffer, bytes: number): number | null {
  for (let at = 0; at + 4 <= head.length && at < MOST_BEFORE_FRAMES; at += 1) {
    if (!isFrame(head, at)) continue
    const seconds =
      ((head[at + 1] ?? 0) & 0x06) === 0
        ? atLeast(bytes / AAC_BYTES, adtsSeconds(head, at, bytes))
        : atLeast(bytes / MP3_BYTES, mp3Seconds(head, at, bytes))
    if (seconds !== null) return seconds
  }
  return null
}

function isFrame(head: Buffer, at: number): boolean {
  return head[at] === 0xff && ((head[at + 1] ?? 0) & 0xe0) === 0xe0
}

function mp3Seconds(head: Buffer, at: number, bytes: number): number | null {
  const [, second = 0, third = 0, fourth = 0] = head.subarray(at, at + 4)
  const version = (second >> 3) & 3
  const layer = 4 - ((second >> 1) & 3)
  const isOne = version === 3
  const table = isOne ? KBIT[layer as 1 | 2 | 3] : layer === 1 ? KBIT.low1 : KBIT.low
  const kbit = table?.[third >> 4] ?? 0
  const hz = (HZ[(third >> 2) & 3] ?? 0) / (isOne ? 1 : version === 2 ? 2 : 4)
  if (version === 1 || kbit === 0 || hz === 0) return null
  const samples = layer === 1 ? 384 : layer === 3 && !isOne ? 576 : 1152
  // What follows is a frame again, or these bytes only looked like one.
  const padding = (third >> 1) & 1
  const length =
    layer === 1
      ? (Math.floor((12_000 * kbit) / hz) + padding) * 4
      : Math.floor((samples * 125 * kbit) / hz) + padding
  if (at + length + 1 < head.length && !isFrame(head, at + length)) return null
  const isMono = fourth >> 6 === 3
  const xing = at + 4 + (isOne ? (isMono ? 17 : 32) : isMono ? 9 : 17)
  const name = head.toString('latin1', xing, xing + 4)
  if ((name === 'Xing' || name === 'Info') && (head.readUInt32BE(xing + 4) & 1) === 1) {
    return (head.readUInt32BE(xing + 8) * samples) / hz
  }
  if (head.toString('latin1', at + 36, at + 40) === 'VBRI') return (head.readUInt32BE(at + 50) * samples) / hz
  return ((bytes - at) * 8) / (kbit * 1000)
}

/** By the mean length of the frames that are at hand. */
function adtsSeconds(head: Buffer, start: number, bytes: number): number | null {
  const hz = ADTS_HZ[((head[start + 2] ?? 0) >> 2) & 0x0f] ?? 0
  let frames = 0
  let at = start
  while (at + 6 <= head.length && head[at] === 0xff && ((head[at + 1] ?? 0) & 0xf6) === 0xf0) {
    const length = (head.readUIntBE(at + 3, 3) >> 5) & 0x1fff
    if (length < 7) return null
    frames += 1
    at += length
  }
  return frames < 2 || hz === 0 ? null : (((bytes - start) / (at - start)) * frames * 1024) / hz
}
