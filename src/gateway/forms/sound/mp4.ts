import { Boxes } from './boxes.ts'
import { AAC_SAMPLES, aacHz } from './packets.ts'
import { type SoundScan, Steps } from './scan.ts'

const BYTES_OF_STEP = 8
const VIEW = 1_024
const MOST_TRACKS = 64
const MOST_ENTRY_BYTES = 512
/** More may repeat what is there. */
const MOST_EDITS = 2
const nameOf = (text: string): number => Buffer.from(text, 'latin1').readUInt32BE()
const HOLDERS: ReadonlySet<number> = new Set(
  ['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl', 'moof', 'traf'].map(nameOf),
)
const TRACK = Buffer.from('trak')
const NAME = {
  cmov: nameOf('cmov'),
  elst: nameOf('elst'),
  hdlr: nameOf('hdlr'),
  mdat: nameOf('mdat'),
  mvhd: nameOf('mvhd'),
  stsd: nameOf('stsd'),
  stsz: nameOf('stsz'),
  stz2: nameOf('stz2'),
  tfhd: nameOf('tfhd'),
  tkhd: nameOf('tkhd'),
  trak: nameOf('trak'),
  trun: nameOf('trun'),
  vide: nameOf('vide'),
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
/** What describes subtitles, times and data, beside film and sound. */
const NOT_SOUND: ReadonlySet<string> = new Set([
  'tx3g',
  'text',
  'tmcd',
  'mebx',
  'mp4s',
  'c608',
  'wvtt',
  'stpp',
])
/** AAC, by its numbers in MPEG-4 and MPEG-2. */
const AAC: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68])

interface Track {
  /** 0: not said. */
  id: number
  samples: number
  /** The seconds of one sample; 0: it is not sound. */
  sampleSeconds: number
  isFilm: boolean
}

/**
 * MP4 and its like: the samples of each track, and the length that the head says of all. A decoder takes every sample for as
 * long as its codec has it, whatever times stand beside. Only of AAC is that known. Source: ISO/IEC 14496-12 and -14.
 */
export class Mp4Scan implements SoundScan {
  readonly #steps = new Steps(BYTES_OF_STEP, VIEW, (bytes, at) => this.#step(bytes, at))
  readonly #boxes = new Boxes()
  readonly #tracks: Track[] = []
  #track = this.#add(0)
  #headSeconds = 0
  /** What is left of a box in which no track should be. */
  #passed = 0
  #isInDoubt = false

  push(bytes: Buffer): void {
    this.#steps.push(bytes)
  }

  end(): number | null {
    return this.#steps.end() && !this.#isInDoubt && !this.#boxes.isBroken
      ? Math.max(0, ...this.#tracks.map((track) => track.samples * track.sampleSeconds))
      : null
  }

  get headSeconds(): number {
    return this.#headSeconds
  }

  #step(bytes: Buffer, at: number): number {
    if (this.#passed > 0) return this.#pass(bytes, at)
    const said = bytes.readUInt32BE(at)
    const name = bytes.readUInt32BE(at + 4)
    const head = said === 1 ? 16 : 8
    // 0: it goes on to the end of what is around it.
    const whole = said === 0 ? Number.POSITIVE_INFINITY : said === 1 ? longAt(bytes, at + 8) : said
    const size = Math.max(0, whole - head)
    this.#isInDoubt ||= whole < head || name === NAME.cmov
    if (name === NAME.trak) this.#track = this.#add(0)
    if (HOLDERS.has(name)) return this.#boxes.enter(head, size)
    this.#read(name, bytes, at + head)
    const length = this.#boxes.pass(head, size)
    if (name === NAME.mdat) return length
    this.#passed = length
    return this.#pass(bytes, at)
  }

  /** Over a part of a box. Decoders look for tracks in more boxes than these are read of. */
  #pass(bytes: Buffer, at: number): number {
    const length = Math.min(this.#passed, VIEW - TRACK.length)
    this.#isInDoubt ||= bytes.subarray(at, at + length + TRACK.length - 1).includes(TRACK)
    this.#passed -= length
    return length
  }

  #read(name: number, bytes: Buffer, at: number): void {
    const isLong = bytes[at] === 1
    if (name === NAME.mvhd) this.#headSeconds = Math.max(this.#headSeconds, lengthIn(bytes, at))
    else if (name === NAME.tkhd) this.#track.id = bytes.readUInt32BE(at + (isLong ? 20 : 12))
    else if (name === NAME.tfhd) this.#track = this.#trackOf(bytes.readUInt32BE(at + 4))
    else if (name === NAME.hdlr) this.#track.isFilm ||= bytes.readUInt32BE(at + 8) === NAME.vide
    else if (name === NAME.elst) this.#isInDoubt ||= bytes.readUInt32BE(at + 4) > MOST_EDITS
    else if (name === NAME.stsd) this.#describe(bytes, at)
    else if (name === NAME.stsz || name === NAME.stz2) this.#track.samples += bytes.readUInt32BE(at + 8)
    else if (name === NAME.trun) this.#track.samples += bytes.readUInt32BE(at + 4)
  }

  /** @param at Where the descriptions begin. */
  #describe(bytes: Buffer, at: number): void {
    const entries = bytes.readUInt32BE(at + 4)
    const entryBytes = bytes.readUInt32BE(at + 8)
    const isKnown = bytes[at] === 0 && entries === 1 && entryBytes <= MOST_ENTRY_BYTES
    const entry = bytes.subarray(at + 8, at + 8 + Math.min(entryBytes, MOST_ENTRY_BYTES))
    const codec = entry.toString('latin1', 4, 8)
    if (entries === 0 || this.#track.isFilm || (isKnown && NOT_SOUND.has(codec))) return
    const hz = isKnown && codec === 'mp4a' ? aacHzOf(entry) : 0
    if (hz === 0) this.#isInDoubt = true
    else this.#track.sampleSeconds = Math.max(this.#track.sampleSeconds, AAC_SAMPLES / hz)
  }

  #trackOf(id: number): Track {
    return this.#tracks.find((track) => track.id === id) ?? this.#add(id)
  }

  #add(id: number): Track {
    const track = { id, samples: 0, sampleSeconds: 0, isFilm: false }
    // A file of sound has few.
    if (this.#tracks.length < MOST_TRACKS) this.#tracks.push(track)
    else this.#isInDoubt = true
    return track
  }
}

function longAt(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64BE(at))
}

function lengthIn(bytes: Buffer, at: number): number {
  const isLong = bytes[at] === 1
  const scale = bytes.readUInt32BE(at + (isLong ? 20 : 12))
  const length = isLong ? longAt(bytes, at + 24) : bytes.readUInt32BE(at + 16)
  return scale > 0 && length !== 0xffffffff ? length / scale : 0
}

/** Of an entry that describes sound; 0: it is not known. */
function aacHzOf(entry: Buffer): number {
  // QuickTime's have more, by their version.
  const start = [36, 52, 72][entry.length < 36 ? 3 : entry.readUInt16BE(16)]
  const hz = start === undefined ? 0 : lowestHz(entry.subarray(start))
  return Number.isFinite(hz) ? hz : 0
}

/** The lowest rate that these boxes describe; 0: one is not known; `Infinity`: none does. */
function lowestHz(boxes: Buffer): number {
  let lowest = Number.POSITIVE_INFINITY
  for (let at = 0; at + 8 <= boxes.length; ) {
    const said = boxes.readUInt32BE(at)
    if (said === 1) return 0
    const end = said === 0 ? boxes.length : at + Math.max(8, said)
    const name = boxes.toString('latin1', at + 4, at + 8)
    const content = boxes.subarray(at + 8, end)
    if (name === 'esds') lowest = Math.min(lowest, describedHz(content))
    if (name === 'wave') lowest = Math.min(lowest, lowestHz(content))
    at = end
  }
  return lowest
}

/** Tags of the descriptions that stand in one another, and what is between. */
const DESCRIPTIONS = [
  [3, 3],
  [4, 13],
  [5, 0],
] as const
/** Something stands between that is rarely there. */
const HAS_MORE = 0xe0

/** The rate by which a decoder goes, in the description of an elementary stream; 0: it is not known. */
function describedHz(esds: Buffer): number {
  let at = 4
  for (const [tag, between] of DESCRIPTIONS) {
    if (esds[at] !== tag) return 0
    let length = 1
    while (length < 4 && ((esds[at + length] ?? 0) & 0x80) !== 0) length += 1
    at += 1 + length
    if (tag === 3 && ((esds[at + 2] ?? 0) & HAS_MORE) !== 0) return 0
    if (tag === 4 && !AAC.has(esds[at] ?? 0)) return 0
    at += between
  }
  return aacHz(esds, at)
}
