// @seconds: files of many megabytes are read, in pieces
import { expect, test, vi } from 'vitest'
import { SoundFile, SoundFiles } from '../../../src/gateway/forms/sound-length.ts'
import { rounds } from '../../support/rounds.ts'

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

function page(flags: number, position: bigint, lengths: readonly number[], content: Buffer, serial = 17) {
  const at = Buffer.alloc(8)
  at.writeBigInt64LE(position)
  const head = [text('OggS\0'), Buffer.from([flags]), at, u32le(serial), zeros(8)]
  return Buffer.concat([...head, Buffer.from([lengths.length, ...lengths]), content])
}

/** A stream of packets of 100 bytes, ten on a page. */
function ogg(codec: Buffer, packets: number, samples: bigint): Buffer {
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

/** Of AAC, or what else `kind` says, by the `config` of the decoder: 8 kHz. */
function esds(config: readonly number[] = [0x15, 0x88], kind = 0x40): Buffer {
  const stream = [4, 13 + 2 + config.length, kind, ...Array(12).fill(0), 5, config.length, ...config]
  return box('esds', zeros(4), Buffer.from([3, 3 + stream.length, 0, 1, 0, ...stream]))
}

/** Describes sound as of 48 kHz, in QuickTime's version of it, made by whom `vendor` says. */
function entry(codec: string, children: readonly Buffer[], version = 0, vendor = zeros(4)): Buffer {
  return box(codec, zeros(8), u32be(version << 16), vendor, zeros(8), u32be(48_000 << 16), ...children)
}
const AAC_8K = entry('mp4a', [esds()])

function track(frames: number, entries: readonly Buffer[] = [AAC_8K], isTurned = false): Buffer {
  const described = box('stsd', u32be(0), u32be(entries.length), ...entries)
  const table = box('stbl', described, box('stsz', zeros(8), u32be(frames)))
  const parts = [box('tkhd', zeros(12), u32be(1)), box('mdia', box('minf', table))]
  return box('trak', ...(isTurned ? parts.reverse() : parts))
}

function mp4Of(ms: number, parts: readonly Buffer[], isLong = false): Buffer {
  const times = isLong
    ? [zeros(16), u32be(1_000), zeros(4), u32be(ms)]
    : [zeros(8), u32be(600), u32be(ms * 0.6)]
  const mvhd = box('mvhd', Buffer.from([isLong ? 1 : 0, 0, 0, 0]), ...times, zeros(80))
  return Buffer.concat([box('ftyp', text('M4A ')), box('mdat', zeros(300_000)), box('moov', mvhd, ...parts)])
}

/** A film whose track of sound has these frames of AAC at 8 kHz, which its entry says to be 48 kHz. */
const mp4 = (isLong: boolean, ms: number, frames: number) => mp4Of(ms, [track(frames)], isLong)

/** 128 kbit a second at 44.1 kHz: 417 bytes a frame. */
const FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), zeros(413)])
/** 8 kbit a second at 8 kHz: 72 bytes, and 72 ms. */
const SPEECH = Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0xc0]), zeros(68)])
const PARTED = Buffer.concat([zeros(3), SPEECH])
const mp3 = (frames: number, frame: Buffer = FRAME) =>
  Buffer.concat(Array.from({ length: frames }, () => frame))
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

function element(id: string, ...content: readonly Buffer[]): Buffer {
  const inner = Buffer.concat(content)
  return Buffer.concat([Buffer.from(id, 'hex'), u32be(0x1000_0000 + inner.length), inner])
}
const OPEN = Buffer.from('01ffffffffffffff', 'hex')
const OPUS_FRAME = Buffer.concat([Buffer.from([0x48]), zeros(60)])
const block = (frame: Buffer, flags = 0x80, track = 1) =>
  element('a3', Buffer.from([0x80 | track, 0, 0, flags]), frame)
const blocks = (count: number, frame = OPUS_FRAME, flags = 0x80) =>
  Buffer.concat(Array.from({ length: count }, () => block(frame, flags)))

/** What a browser records: sizes of the segment and the cluster are open, and all blocks at one time. */
function webm(codec: string, ms: number | null, content: Buffer, ...inTrack: readonly Buffer[]): Buffer {
  const duration = Buffer.from(new Uint8Array(new Float32Array([ms ?? 0]).buffer)).reverse()
  const info = element('1549a966', ...(ms === null ? [] : [element('4489', duration)]))
  const parts = [element('d7', Buffer.from([1])), element('86', text(codec)), ...inTrack]
  const head = [element('1a45dfa3', zeros(31)), Buffer.from('18538067', 'hex'), OPEN, info]
  const cluster = [Buffer.from('1f43b675', 'hex'), OPEN, element('e7', Buffer.from([0])), content]
  return Buffer.concat([...head, element('1654ae6b', element('ae', ...parts)), ...cluster])
}

/** 20 ms of Opus in each block. */
const opusInWebm = (ms: number | null, count: number) => webm('A_OPUS', ms, blocks(count))
/** Low complexity at 8 kHz. */
const AAC_CONFIG = element('63a2', Buffer.from([0x15, 0x88]))

/** A track of pictures alone. */
function film(frames: number): Buffer {
  const table = box(
    'stbl',
    box('stsd', u32be(0), u32be(1), entry('avc1', [])),
    box('stsz', zeros(8), u32be(frames)),
  )
  return box('trak', box('mdia', box('hdlr', zeros(8), text('vide')), box('minf', table)))
}

const FILES: readonly (readonly [what: string, file: Buffer, ms: number | null])[] = [
  ['WAV', wav(3), 3000],
  ['WAV that is sent as it is recorded', wav(2, 0xffff_ffff), 2000],
  ['FLAC', flac(10, 108), 10_000],
  ['Ogg with Opus', ogg(OPUS, 500, 480_312n), 10_000],
  ['Ogg with Vorbis', ogg(VORBIS, 80, 44_100n), 2000],
  ['MP4 whose head is at its end', mp4(false, 61_500, 481), 61_500],
  ['MP4 of 64 bits', mp4(true, 61_500, 481), 61_500],
  ['MP3 of one rate', mp3(100), 2612],
  ['MP3 behind a picture', Buffer.concat([TAG, mp3(100)]), 2612],
  ['MP3 whose first frame is a head', xing(1000, 1000), 26_122],
  ['AAC', adts(500), 32_000],
  ['WebM that a browser records', opusInWebm(null, 250), 5_000],
  ['WebM', opusInWebm(12_340, 617), 12_340],
  ['WebM with AAC', webm('A_AAC', null, blocks(500), AAC_CONFIG), 64_000],
  [
    'QuickTime with AAC',
    mp4Of(64_000, [track(500, [entry('mp4a', [zeros(16), box('wave', esds())], 1)])]),
    64_000,
  ],
  ['MP4 without sound', mp4Of(5_000, [film(100)]), null],
  ['MP4 with film and sound', mp4Of(64_000, [film(100), track(500)]), 64_000],
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

/** As many frames of speech as have room in a frame of this head. */
function inFrame(head: readonly number[], length: number): Buffer {
  const frames = mp3(Math.floor((length - 4) / SPEECH.length), SPEECH)
  return Buffer.concat([Buffer.from(head), frames, zeros(length - 4 - frames.length)])
}
/** Layer 2 of 16 kHz at 8 kbit/s. */
const LAYER_2 = Buffer.concat([Buffer.from([0xff, 0xf5, 0x18, 0xc0]), zeros(68)])
const sounding = (seconds: number) =>
  Buffer.concat([text('data'), u32le(seconds * 32_000), zeros(seconds * 32_000)])
const wavInTwo = (seconds: number) => Buffer.concat([wav(seconds), sounding(seconds)])
const SAID_HZ = element('e1', element('b5', Buffer.from(new Float32Array([1e9]).buffer).reverse()))

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
  ['AAC in MP4 whose number stands behind its samples', mp4Of(100, [track(1_000, [AAC_8K], true)]), 128_000],
  [
    'AAC in MP4 with a second description',
    mp4Of(100, [track(1_000, [entry('mp4a', [esds([0x10, 0x08]), esds()])])]),
    128_000,
  ],
  [
    'AAC in MP4 whose maker has the name of a description',
    mp4Of(100, [track(1_000, [entry('mp4a', [esds()], 0, text('esds'))])]),
    128_000,
  ],
  [
    'AAC in WebM whose rate is said to be another',
    webm('A_AAC', 1, blocks(1_000), SAID_HZ, AAC_CONFIG),
    128_000,
  ],
  [
    'MP3 in frames of layer 2',
    Buffer.concat([mp3(2, SPEECH), mp3(50, inFrame([0xff, 0xe5, 0xe8, 0xc0], 2_880))]),
    50 * 39 * 72,
  ],
  [
    'MP3 in frames of layer 1',
    Buffer.concat([mp3(2, SPEECH), mp3(50, inFrame([0xff, 0xe7, 0xe8, 0xc0], 1_536))]),
    50 * 21 * 72,
  ],
  ['WAV that goes on in a second chunk', wavInTwo(10), 20_000],
  [
    'WAV without a size, whose sound looks like a chunk',
    Buffer.concat([wav(0), sounding(1), zeros(31_000)]),
    1_900,
  ],
  [
    'WAV whose second chunk has no size',
    Buffer.concat([wav(3), sounding(0), sounding(1), zeros(64_000)]),
    5_900,
  ],
  [
    'MP3 of another kind, with zeros between its frames',
    Buffer.concat([mp3(400), zeros(1), mp3(1_000, Buffer.concat([SPEECH, zeros(1)]))]),
    72_000 + 10_000,
  ],
  [
    'MP3 of another kind, with frames of layer 2 between its own',
    Buffer.concat([mp3(400), mp3(500, Buffer.concat([SPEECH, LAYER_2]))]),
    500 * 72 + 500 * 72 + 10_000,
  ],
  [
    'Ogg that begins again',
    Buffer.concat([ogg(OPUS, 10, 9_600n), page(2, 0n, [8], text('whatever')), ogg(OPUS, 500, 9_600n)]),
    10_000,
  ],
] as const)('%s is as long as a decoder plays', (_what, file, ms) => {
  expect(lengthOf(file)).toBeGreaterThanOrEqual(ms)
})

test.each([
  ['FLAC without frames', flac(10)],
  ['Opus in MP4', mp4Of(100, [track(5_000, [entry('Opus', [])])])],
  ['MP3 in MP4', mp4Of(100, [track(5_000, [entry('mp4a', [esds([0x15, 0x88], 0x6b)])])])],
  ['AAC in MP4 without a description', mp4Of(100, [track(5_000, [entry('mp4a', [])])])],
  [
    'AAC in MP4 at a rate of its own',
    mp4Of(100, [track(5_000, [entry('mp4a', [esds([0x17, 0x80, 0, 0, 8])])])]),
  ],
  ['AAC in MP4 of two kinds', mp4Of(100, [track(5_000, [AAC_8K, entry('mp4a', [esds([0x10, 0x08])])])])],
  ['an unknown codec in MP4 beside AAC', mp4Of(100, [track(1), track(5_000, [entry('alac', [])])])],
  [
    'a box in MP4 that reaches beyond its track',
    mp4Of(100, [track(1), box('trak', u32be(0x7fff_ffff), text('free')), track(1_000)]),
  ],
  ['a track in MP4 among other boxes', mp4Of(100, [track(1), box('udta', zeros(2_000), track(1_000))])],
  ['tracks in MP4 that are packed', mp4Of(100, [track(1), box('cmov', zeros(1_000))])],
  [
    'sound in MP4 that is repeated',
    mp4Of(100, [track(1), box('trak', box('edts', box('elst', zeros(4), u32be(500))))]),
  ],
  ['FLAC in Matroska', webm('A_FLAC', 100, blocks(5_000))],
  ['AAC in Matroska without a description', webm('A_AAC', 100, blocks(5_000))],
  ['FLAC in Matroska that is described as AAC', webm('A_FLAC', 100, blocks(5_000), AAC_CONFIG)],
  ['several frames of Opus in each block', webm('A_OPUS', 100, blocks(500, OPUS_FRAME, 0x84))],
  ['frames in WebM without their beginnings', webm('A_OPUS', 100, blocks(500), element('6d80', zeros(9)))],
  [
    'an element in WebM that reaches beyond its cluster',
    Buffer.concat([
      webm('A_OPUS', 100, blocks(1)),
      element('1f43b675', Buffer.from('ec7ff0', 'hex')),
      element('1f43b675', blocks(500)),
    ]),
  ],
  [
    'frames in WebM of a track that is not described',
    webm('A_OPUS', 100, Buffer.concat([blocks(1), block(OPUS_FRAME, 0x80, 2)])),
  ],
  [
    'pages in pages of Ogg',
    Buffer.concat([
      ogg(OPUS, 10, 9_600n),
      page(0, 0n, Array(255).fill(255), zeros(0)),
      ogg(OPUS, 500, 9_600n),
    ]),
  ],
  [
    'an unknown codec in Ogg beside Opus',
    Buffer.concat([
      ogg(OPUS, 10, 9_600n),
      page(2, 0n, [8], text('Speex   '), 18),
      page(0, 0n, [100], zeros(100), 18),
    ]),
  ],
  ['ADPCM of two bits', Buffer.concat([codedWav(0x11, 8_000, zeros(0), 2), zeros(80_000)])],
] as const)('what has no length that a decoder would agree with has none: %s', (_what, file) => {
  expect(lengthOf(file)).toBeNull()
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

const SILENCE = zeros(20_000_000)

test.each([
  ['that is sent as it is recorded', Buffer.concat([wav(0), SILENCE])],
  ['behind its only chunk', Buffer.concat([wav(1), SILENCE])],
  ['of empty chunks', Buffer.concat([wav(1), Buffer.alloc(SILENCE.length, text('abcd\0\0\0\0'))])],
])('silence in WAV %s is all counted, in few steps', (_what, file) => {
  const read = vi.spyOn(Buffer.prototype, 'readUInt32LE')
  try {
    expect(lengthOf(file)).toBeGreaterThanOrEqual(SILENCE.length / 32)
    expect(read.mock.calls.length).toBeLessThan(50_000)
  } finally {
    read.mockRestore()
  }
})

test('a description of sound whose lengths never end makes nothing throw', () => {
  const description = box('esds', zeros(4), Buffer.from([3]), Buffer.alloc(400, 0x80))
  expect(lengthOf(mp4Of(100, [track(1, [entry('mp4a', [description])])]))).toBeNull()
})

test('no bytes make it throw, or find a length that is none', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  for (const [what, file] of FILES) {
    for (let round = 0; round < rounds({ short: 200, long: 10_000 }); round += 1) {
      const spoilt = Buffer.from(file.subarray(0, 1 + random(Math.min(file.length, 4_000))))
      for (let hit = 0; hit < 4; hit += 1) spoilt[random(spoilt.length)] = random(256)
      expect(lengthOf(spoilt) ?? 1, `${what}, round ${round}`).toBeGreaterThan(0)
    }
  }
})

const longer = (file: Buffer) => Buffer.concat([file, SILENCE])

test.each([
  ['WAV whose size says a second', 600, wav(600, 32_000)],
  ['FLAC', 50, longer(flac(1, 10))],
  ['Ogg', 200, Buffer.concat([ogg(OPUS, 10, 48_312n), SILENCE])],
  ['MP4', 10, longer(mp4(false, 1_000, 8))],
  ['WebM', 10, Buffer.concat([opusInWebm(1_000, 50), Buffer.from('ec0100000001312d00', 'hex'), SILENCE])],
] as const)('%s is not shorter than its bytes can be: %i s', (_what, seconds, file) => {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  expect(sound.lengthMs).toBeGreaterThanOrEqual(seconds * 1_000)
})

/** The head of one at 16 kHz, whose data is as long as it may be. */
function codedWav(coding: number, bytesPerSecond: number, behind = zeros(0), bits = 0): Buffer {
  const block = u32le(256 + (bits << 16))
  const rates = [u32le(0x0001_0000 + coding), u32le(16_000), u32le(bytesPerSecond), block]
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
