import { expect, test } from 'vitest'
import { SoundFile, SoundFiles } from '../../../src/gateway/forms/sound-length.ts'

const text = (value: string) => Buffer.from(value, 'latin1')
const u32le = (value: number) => Buffer.from(new Uint32Array([value]).buffer)
const u32be = (value: number) => Buffer.from(u32le(value)).reverse()
const zeros = (length: number) => Buffer.alloc(length)

function wav(seconds: number, size = seconds * 32_000): Buffer {
  const fmt = Buffer.concat([u32le(0x0001_0001), u32le(16_000), u32le(32_000), u32le(0x0010_0002)])
  const list = [text('LIST'), u32le(6), text('abcdef')]
  const head = [text('RIFF'), u32le(0), text('WAVE'), ...list, text('fmt '), u32le(16), fmt]
  return Buffer.concat([...head, text('data'), u32le(size), zeros(seconds * 32_000)])
}

function flac(seconds: number, frames = 0): Buffer {
  // 44,100 Hz in 20 bits, the samples in 36.
  const rate = Buffer.from([0x0a, 0xc4, 0x42, 0xf0])
  // 4,096 samples at 44.1 kHz, with the sum of its head.
  const frame = Buffer.concat([Buffer.from([0xff, 0xf8, 0xc9, 0x08, 0x00, 0x95]), zeros(94)])
  const head = [text('fLaC'), zeros(14), rate, u32be(seconds * 44_100)]
  return Buffer.concat([...head, zeros(4_000), ...Array.from({ length: frames }, () => frame)])
}

/** A stream of packets of 100 bytes, ten on a page. */
function ogg(codec: Buffer, packets: number, samples: bigint): Buffer {
  const page = (flags: number, position: bigint, lengths: readonly number[], content: Buffer) => {
    const at = Buffer.alloc(8)
    at.writeBigInt64LE(position)
    const head = [text('OggS\0'), Buffer.from([flags]), at, u32le(17), zeros(8)]
    return Buffer.concat([...head, Buffer.from([lengths.length, ...lengths]), content])
  }
  // 20 ms of Opus, and a packet of sound at Vorbis.
  const packet = Buffer.concat([Buffer.from([0x48]), zeros(99)])
  const ten = Array.from({ length: 10 }, () => packet)
  const pages = Array.from({ length: packets / 10 }, (_, at) =>
    page(0, at === 0 ? samples / 2n : samples, Array(10).fill(100), Buffer.concat(ten)),
  )
  return Buffer.concat([page(2, 0n, [codec.length], codec), ...pages, page(0, -1n, [], zeros(0))])
}
const OPUS = Buffer.concat([text('OpusHead\x01\x01'), Buffer.from([0x38, 0x01]), u32le(48_000)])
/** Blocks of 256 and 2,048 samples. */
const VORBIS = Buffer.concat([
  text('\x01vorbis'),
  zeros(4),
  Buffer.from([1]),
  u32le(22_050),
  zeros(12),
  Buffer.from([0xb8, 1]),
])

function box(name: string, ...content: readonly Buffer[]): Buffer {
  const inner = Buffer.concat(content)
  return Buffer.concat([u32be(8 + inner.length), text(name), inner])
}

/** A film whose track of sound has these frames of AAC at 8 kHz, which its entry says to be 48 kHz. */
function mp4(isLong: boolean, ms: number, frames = 0, isTurned = false): Buffer {
  const times = isLong
    ? [zeros(16), u32be(1_000), zeros(4), u32be(ms)]
    : [zeros(8), u32be(600), u32be(ms * 0.6)]
  const mvhd = box('mvhd', Buffer.from([isLong ? 1 : 0, 0, 0, 0]), ...times, zeros(80))
  const config = Buffer.from([
    0,
    0,
    0,
    0,
    3,
    25,
    0,
    1,
    0,
    4,
    17,
    0x40,
    ...Array(12).fill(0),
    5,
    2,
    0x15,
    0x88,
  ])
  const entry = box('mp4a', zeros(24), u32be(48_000 << 16), box('esds', config))
  const table = box('stbl', box('stsd', u32be(0), u32be(1), entry), box('stsz', zeros(8), u32be(frames)))
  const parts = [box('tkhd', zeros(12), u32be(1)), box('mdia', box('minf', table))]
  const track = box('trak', ...(isTurned ? parts.reverse() : parts))
  return Buffer.concat([box('ftyp', text('M4A ')), box('mdat', zeros(300_000)), box('moov', mvhd, track)])
}

/** 128 kbit a second at 44.1 kHz: 417 bytes a frame. */
const FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), zeros(413)])
/** 8 kbit a second at 8 kHz: 72 bytes, and 72 ms. */
const SPEECH = Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0xc0]), zeros(68)])
const PARTED = Buffer.concat([zeros(3), SPEECH])
const mp3 = (frames: number, frame = FRAME) => Buffer.concat(Array.from({ length: frames }, () => frame))
/** A tag with a picture, longer than what is kept of a head. */
const TAG = Buffer.concat([text('ID3\x03\0\0'), Buffer.from([0, 3, 0x1a, 0x40]), zeros(52_544)])
function xing(frames: number, said: number): Buffer {
  const first = Buffer.concat([FRAME.subarray(0, 36), text('Xing'), u32be(1), u32be(said), zeros(369)])
  return Buffer.concat([first, mp3(frames)])
}

/** 100 bytes a frame at 16 kHz: 64 ms each. */
const ADTS = Buffer.concat([Buffer.from([0xff, 0xf1, 0x60, 0x40, 0x0c, 0x9f, 0xfc]), zeros(93)])
const LONG_ADTS = Buffer.concat([Buffer.from([0xff, 0xf1, 0x60, 0x43, 0xe8, 0x1f, 0xfc]), zeros(7_993)])
const adts = (frames: number) => Buffer.concat(Array.from({ length: frames }, () => ADTS))

/** What a browser records: sizes of the segment and the cluster are open. `blocks` of 20 ms of Opus, all at one time. */
function opusInWebm(ms: number | null, blocks: number): Buffer {
  const element = (id: string, ...content: readonly Buffer[]) => {
    const inner = Buffer.concat(content)
    return Buffer.concat([Buffer.from(id, 'hex'), Buffer.from([0x80 | inner.length]), inner])
  }
  const duration = Buffer.from(new Uint8Array(new Float32Array([ms ?? 0]).buffer)).reverse()
  const info = element('1549a966', ...(ms === null ? [] : [element('4489', duration)]))
  const entry = element('ae', element('d7', Buffer.from([1])), element('86', text('A_OPUS')))
  const block = element('a3', Buffer.from([0x81, 0, 0, 0x80, 0x48]), zeros(60))
  return Buffer.concat([
    element('1a45dfa3', zeros(31)),
    Buffer.from('1853806701ffffffffffffff', 'hex'),
    info,
    element('1654ae6b', entry),
    Buffer.from('1f43b67501ffffffffffffff', 'hex'),
    element('e7', Buffer.from([0])),
    ...Array.from({ length: blocks }, () => block),
  ])
}

const webm = (ms: number) =>
  Buffer.concat([
    Buffer.from([0x1a, 0x45, 0xdf, 0xa3]),
    zeros(40),
    Buffer.from([0x2a, 0xd7, 0xb1, 0x83, 0x0f, 0x42, 0x40, 0x44, 0x89, 0x84]),
    Buffer.from(new Uint8Array(new Float32Array([ms]).buffer)).reverse(),
    zeros(1000),
  ])

const FILES: readonly (readonly [what: string, file: Buffer, ms: number | null])[] = [
  ['WAV', wav(3), 3000],
  ['WAV that is sent as it is recorded', wav(2, 0xffff_ffff), 2000],
  ['FLAC', flac(10), 10_000],
  ['Ogg with Opus', ogg(OPUS, 500, 480_312n), 10_000],
  ['Ogg with Vorbis', ogg(VORBIS, 80, 44_100n), 2000],
  ['MP4 whose head is at its end', mp4(false, 61_500), 61_500],
  ['MP4 of 64 bits', mp4(true, 61_500), 61_500],
  ['MP3 of one rate', mp3(100), 2612],
  ['MP3 behind a picture', Buffer.concat([TAG, mp3(100)]), 2612],
  ['MP3 whose first frame is a head', xing(1000, 1000), 26_122],
  ['AAC', adts(500), 32_000],
  ['WebM that a browser records', opusInWebm(null, 250), 5_000],
  ['WebM', webm(12_345), 12_345],
  ['a picture', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), zeros(5000)]), null],
  ['no file at all', text('{}'), null],
  ['a head that is cut', text('RIFF....WAVEfmt '), null],
]

test.each(FILES)('the length of %s is what is in it, however it is cut', (_what, file, ms) => {
  for (const piece of [file.length, 65_536, 1000, 16, 11]) {
    const sound = new SoundFile()
    for (let at = 0; at < file.length; at += piece) sound.push(file.subarray(at, at + piece))
    expect(sound.lengthMs).toBeNull()
    sound.end()
    expect(sound.lengthMs, `in pieces of ${piece}`).toBe(ms)
  }
})

test.each([
  ['MP3 at 8 kbit/s behind frames at 128', 7_200, Buffer.concat([mp3(3), mp3(100, SPEECH)])],
  ['MP3 with other bytes between its frames', 7_200, Buffer.concat([mp3(2, SPEECH), mp3(98, PARTED)])],
  ['MP3 that says it had 20 frames', 26_122, xing(1000, 20)],
  ['MP3 in WAV', 7_200, Buffer.concat([codedWav(0x55, 0xffff_ffff), mp3(100, SPEECH)])],
  ['A-law in WAV at any rate', 10_000, Buffer.concat([codedWav(6, 0xffff_ffff), zeros(160_000)])],
  ['AAC whose first frames are long', 32_000, Buffer.concat([LONG_ADTS, LONG_ADTS, adts(500)])],
  ['FLAC', 9_288, flac(1, 100)],
  ['Ogg with Opus', 10_000, ogg(OPUS, 500, 48_312n)],
  ['Ogg with Vorbis', 11_600, ogg(VORBIS, 500, 22_050n)],
  ['MP4', 128_000, mp4(false, 1_000, 1_000)],
  ['WebM', 5_000, opusInWebm(1_000, 250)],
] as const)('%s is as long as what is in it, whatever its head says: %i ms', (_what, ms, file) => {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  expect(sound.lengthMs).toBeGreaterThanOrEqual(ms)
  expect(sound.lengthMs).toBeLessThan(ms + 200)
})

function lengthOf(file: Buffer): number | null {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  return sound.lengthMs
}

/** 113 frames of speech, before which a frame of AAC is said to begin that has all of them. */
const HIDDEN = Buffer.concat([
  Buffer.from([0xff, 0xf1, 0x40, 0x43, 0xff, 0xff, 0xfc]),
  mp3(113, SPEECH),
  zeros(8_191 - 7 - 113 * 72),
])

test.each([
  ['MP3 among heads of AAC', mp3(20, HIDDEN), 20 * 113 * 72],
  [
    'MP3 behind a tag of no version',
    Buffer.concat([text('ID3\xff\xff\0'), Buffer.from([0, 3, 0x1a, 0x40]), mp3(1_000, SPEECH)]),
    72_000,
  ],
  [
    'MP3 in WAV whose coding stands behind its description',
    Buffer.concat([
      codedWav(0xfffe, 1_000, Buffer.from([22, 0, 0, 0, 0, 0, 0, 0, 0x55, 0])),
      mp3(1_000, SPEECH),
    ]),
    72_000,
  ],
  ['AAC in MP4 whose number stands behind its samples', mp4(false, 100, 1_000, true), 128_000],
] as const)('%s is as long as a decoder plays', (_what, file, ms) => {
  expect(lengthOf(file)).toBeGreaterThanOrEqual(ms)
})

test('what looks like frames in a file of another format says nothing', () => {
  expect(lengthOf(Buffer.concat([text('FORM....AIFFANNO'), mp3(2), zeros(3_200_000)]))).toBeNull()
  expect(lengthOf(Buffer.concat([text('#!AMR\n'), zeros(160_000), mp3(2)]))).toBeNull()
})

test('what no decoder plays is not sound, and a coding that is not known says nothing', () => {
  expect(lengthOf(Buffer.concat([mp3(10), zeros(1_000_000)]))).toBeNull()
  expect(lengthOf(Buffer.concat([codedWav(0x704f, 8_000), zeros(80_000)]))).toBeNull()
})

test.each([
  [
    'frames of AAC without sound',
    Buffer.alloc(2_000_000, Buffer.from([0xff, 0xf1, 0x60, 0x40, 0, 0xff, 0xfc])),
  ],
  ['heads of frames', Buffer.concat([text('abcd'), Buffer.alloc(2_000_000, 0xff)])],
  [
    'empty elements',
    Buffer.concat([opusInWebm(1_000, 1), Buffer.alloc(2_000_000, Buffer.from([0xec, 0x80]))]),
  ],
] as const)('a file of %s takes no longer than sound', (_what, file) => {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  expect(sound.lengthMs).toBeNull()
})

test('a description of sound whose lengths never end makes nothing throw', () => {
  const description = Buffer.concat([text('esds'), zeros(4), Buffer.from([5]), Buffer.alloc(400, 0x80)])
  const entry = Buffer.concat([zeros(4), text('mp4a'), zeros(28), description])
  const sound = new SoundFile()
  sound.push(Buffer.concat([box('ftyp', zeros(8)), box('moov', box('trak', box('stsd', zeros(8), entry)))]))
  sound.end()
  expect(sound.lengthMs).toBeNull()
})

test('no bytes make it throw', () => {
  let seed = 7
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed
  }
  for (let round = 0; round < 2000; round += 1) {
    const [, file] = FILES[random() % FILES.length] ?? []
    const spoilt = Buffer.from((file ?? zeros(9)).subarray(0, random() % 2000))
    for (let hit = 0; hit < 4 && spoilt.length > 0; hit += 1)
      spoilt[random() % spoilt.length] = random() % 256
    const sound = new SoundFile()
    sound.push(spoilt)
    sound.end()
    expect(sound.lengthMs ?? 1).toBeGreaterThan(0)
  }
})

const SILENCE = zeros(20_000_000)
const longer = (file: Buffer) => Buffer.concat([file, SILENCE])

test.each([
  ['WAV whose size says a second', 600, wav(600, 32_000)],
  ['FLAC', 50, longer(flac(1))],
  ['Ogg', 200, Buffer.concat([ogg(OPUS, 10, 48_312n), SILENCE])],
  ['MP4', 10, longer(mp4(false, 1_000))],
  ['WebM', 10, Buffer.concat([webm(1_000), Buffer.from('ec0100000001312d00', 'hex'), SILENCE])],
] as const)('%s is not shorter than its bytes can be: %i s', (_what, seconds, file) => {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  expect(sound.lengthMs).toBeGreaterThanOrEqual(seconds * 1_000)
})

/** The head of one at 16 kHz, whose data is as long as it may be. */
function codedWav(coding: number, bytesPerSecond: number, behind = zeros(0)): Buffer {
  const rates = [u32le(0x0001_0000 + coding), u32le(16_000), u32le(bytesPerSecond), u32le(1)]
  const fmt = Buffer.concat([...rates, behind])
  const head = [
    text('RIFF'),
    u32le(0),
    text('WAVE'),
    text('fmt '),
    u32le(fmt.length),
    fmt,
    text('data'),
    u32le(0),
  ]
  return Buffer.concat(head)
}

test('a file that does not say its length, beside one that does, is as long as it may be', () => {
  const lengthOf = (...files: readonly Buffer[]) => {
    const sounds = new SoundFiles()
    for (const file of files) {
      sounds.begin()
      sounds.push(file)
      sounds.end()
    }
    return sounds.lengthMs
  }
  expect(lengthOf(wav(3), text('{}'))).toBe(3_000)
  expect(lengthOf(text('{}'), wav(3))).toBe(3_000)
  expect(lengthOf(wav(3), zeros(60_000))).toBe(60_000)
  expect(lengthOf(zeros(60_000))).toBeNull()
})
