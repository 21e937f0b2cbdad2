import { AAC_HZ } from './packets.ts'
import { type SoundScan, Steps } from './scan.ts'

const BYTES_OF_STEP = 8
const VIEW = 256
const MOST_TRACKS = 64
const nameOf = (text: string): number => Buffer.from(text, 'latin1').readUInt32BE()
const HOLDERS: ReadonlySet<number> = new Set(
  ['moov', 'trak', 'mdia', 'minf', 'stbl', 'moof', 'traf'].map(nameOf),
)
const NAME = {
  mvhd: nameOf('mvhd'),
  trak: nameOf('trak'),
  tkhd: nameOf('tkhd'),
  tfhd: nameOf('tfhd'),
  stsd: nameOf('stsd'),
  stsz: nameOf('stsz'),
  stz2: nameOf('stz2'),
  trun: nameOf('trun'),
} as const
/** What such a file may begin with. */
export const MP4_BEGINS: ReadonlySet<string> = new Set([
  'ftyp',
  'moov',
  'mdat',
  'free',
  'skip',
  'wide',
  'styp',
])
/** Samples of sound in one of the file's samples, by the entry that describes these. */
const PER_SAMPLE: Readonly<Record<string, number>> = {
  mp4a: 1_024,
  '.mp3': 1_152,
  alac: 4_096,
  'ac-3': 1_536,
}

interface Track {
  /** 0: not said. */
  id: number
  samples: number
  /** The seconds of one sample; 0: it is not sound, or of a codec whose samples differ. */
  sampleSeconds: number
}

/**
 * MP4 and its like: the samples of each track, and the length that the head says of all. A decoder takes every sample for as
 * long as its codec has it, whatever times stand beside. Source: ISO/IEC 14496-12 and -14.
 */
export class Mp4Scan implements SoundScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  readonly #tracks: Track[] = []
  #track = this.#add(0)
  #headSeconds = 0

  push(bytes: Buffer): void {
    this.#steps.push(bytes)
  }

  end(): number | null {
    return this.#steps.end()
      ? Math.max(0, ...this.#tracks.map((track) => track.samples * track.sampleSeconds))
      : null
  }

  get headSeconds(): number {
    return this.#headSeconds
  }

  #step(bytes: Buffer, at: number): number {
    const name = bytes.readUInt32BE(at + 4)
    if (name === NAME.trak) this.#track = this.#add(0)
    if (HOLDERS.has(name)) return bytes.readUInt32BE(at) === 1 ? 16 : 8
    const size = bytes.readUInt32BE(at)
    const isLong = size === 1
    this.#read(name, bytes, at + (isLong ? 16 : 8))
    const whole = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : size
    // 0: it goes on to the file's end.
    return whole === 0 ? Number.MAX_SAFE_INTEGER : Math.max(8, whole)
  }

  #read(name: number, bytes: Buffer, at: number): void {
    const isLong = bytes[at] === 1
    if (name === NAME.mvhd) this.#headSeconds = Math.max(this.#headSeconds, lengthIn(bytes, at))
    else if (name === NAME.tkhd) this.#track.id = bytes.readUInt32BE(at + (isLong ? 20 : 12))
    else if (name === NAME.tfhd) this.#track = this.#trackOf(bytes.readUInt32BE(at + 4))
    else if (name === NAME.stsd) this.#track.sampleSeconds = sampleSeconds(bytes, at + 8)
    else if (name === NAME.stsz || name === NAME.stz2) this.#track.samples += bytes.readUInt32BE(at + 8)
    else if (name === NAME.trun) this.#track.samples += bytes.readUInt32BE(at + 4)
  }

  #trackOf(id: number): Track {
    return this.#tracks.find((track) => track.id === id) ?? this.#add(id)
  }

  #add(id: number): Track {
    const last = this.#tracks.at(-1)
    // A file of sound has few. What stands behind is not kept apart.
    if (last !== undefined && this.#tracks.length >= MOST_TRACKS) return last
    const track = { id, samples: 0, sampleSeconds: 0 }
    this.#tracks.push(track)
    return track
  }
}

function lengthIn(bytes: Buffer, at: number): number {
  const isLong = bytes[at] === 1
  const scale = bytes.readUInt32BE(at + (isLong ? 20 : 12))
  const length = isLong ? Number(bytes.readBigUInt64BE(at + 24)) : bytes.readUInt32BE(at + 16)
  return scale > 0 && length !== 0xffffffff ? length / scale : 0
}

/** @param at Where the entry begins. */
function sampleSeconds(bytes: Buffer, at: number): number {
  const samples = PER_SAMPLE[bytes.toString('latin1', at + 4, at + 8)]
  if (samples === undefined) return 0
  const written = bytes.readUInt16BE(at + 32)
  const hz = aacHz(bytes.subarray(at, at + VIEW - 16)) || written
  return hz === 0 ? 0 : samples / hz
}

/** The rate by which a decoder goes, in the description of the elementary stream; 0: none. */
function aacHz(entry: Buffer): number {
  const esds = entry.indexOf('esds')
  if (esds < 0) return 0
  let at = esds + 8
  for (let depth = 0; depth < 8 && at + 8 < entry.length; depth += 1) {
    const tag = entry[at] ?? 0
    at += 1
    while (((entry[at] ?? 0) & 0x80) !== 0) at += 1
    at += 1
    if (tag === 3) at += 3
    else if (tag === 4) at += 13
    else if (tag === 5) return at + 2 > entry.length ? 0 : (AAC_HZ[(entry.readUInt16BE(at) >> 7) & 0x0f] ?? 0)
    else return 0
  }
  return 0
}
