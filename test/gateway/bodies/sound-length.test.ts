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

function flac(): Buffer {
  // 44,100 Hz in 20 bits, 441,000 samples in 36.
  const rate = Buffer.from([0x0a, 0xc4, 0x42, 0xf0])
  return Buffer.concat([text('fLaC'), zeros(14), rate, u32be(441_000), zeros(30_000)])
}

function ogg(codec: Buffer, samples: bigint): Buffer {
  const page = (position: bigint, content: Buffer) => {
    const at = Buffer.alloc(8)
    at.writeBigInt64LE(position)
    return Buffer.concat([text('OggS'), zeros(2), at, zeros(13), content])
  }
  return Buffer.concat([
    page(0n, codec),
    page(samples / 2n, zeros(90_000)),
    page(samples, zeros(40_000)),
    page(-1n, zeros(99)),
  ])
}
const OPUS = Buffer.concat([text('OpusHead\x01\x01'), Buffer.from([0x38, 0x01]), u32le(48_000)])
const VORBIS = Buffer.concat([text('\x01vorbis'), zeros(4), Buffer.from([1]), u32le(22_050)])

function mp4(isLong: boolean, ms = 61_500): Buffer {
  const times = isLong
    ? [zeros(16), u32be(1_000), zeros(4), u32be(ms)]
    : [zeros(8), u32be(600), u32be(ms * 0.6)]
  const mvhd = Buffer.concat([text('mvhd'), Buffer.from([isLong ? 1 : 0, 0, 0, 0]), ...times, zeros(80)])
  return Buffer.concat([
    u32be(24),
    text('ftypM4A '),
    zeros(300_000),
    text('moov'),
    u32be(120),
    mvhd,
    zeros(200_000),
  ])
}

/** 128 kbit a second at 44.1 kHz: 417 bytes a frame. */
const FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), zeros(413)])
const mp3 = (frames: number) => Buffer.concat(Array.from({ length: frames }, () => FRAME))
/** A tag with a picture, longer than what is kept of a head. */
const TAG = Buffer.concat([text('ID3\x03\0\0'), Buffer.from([0, 3, 0x1a, 0x40]), zeros(52_544)])
function xing(frames: number): Buffer {
  const first = Buffer.concat([FRAME.subarray(0, 36), text('Xing'), u32be(1), u32be(frames), zeros(369)])
  return Buffer.concat([first, mp3(20)])
}

/** 100 bytes a frame at 16 kHz: 64 ms each. */
const ADTS = Buffer.concat([Buffer.from([0xff, 0xf1, 0x60, 0x40, 0x0c, 0x9f, 0xfc]), zeros(93)])

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
  ['FLAC', flac(), 10_000],
  ['Ogg with Opus', ogg(OPUS, 480_312n), 10_000],
  ['Ogg with Vorbis', ogg(VORBIS, 44_100n), 2000],
  ['MP4 whose head is at its end', mp4(false), 61_500],
  ['MP4 of 64 bits', mp4(true), 61_500],
  ['MP3 of one rate', mp3(100), 2606],
  ['MP3 behind a picture', Buffer.concat([TAG, mp3(100)]), 2606],
  ['MP3 of several rates, which counts its frames', xing(1000), 26_122],
  ['AAC', Buffer.concat(Array.from({ length: 500 }, () => ADTS)), 32_000],
  ['WebM', webm(12_345), 12_345],
  ['a picture', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), zeros(5000)]), null],
  ['no file at all', text('{}'), null],
  ['a head that is cut', text('RIFF....WAVEfmt '), null],
]

test.each(FILES)('the length of %s is what its head says, however it is cut', (_what, file, ms) => {
  for (const piece of [file.length, 65_536, 1000, 16, 11]) {
    const sound = new SoundFile()
    for (let at = 0; at < file.length; at += piece) sound.push(file.subarray(at, at + piece))
    expect(sound.lengthMs).toBeNull()
    sound.end()
    expect(sound.lengthMs, `in pieces of ${piece}`).toBe(ms)
  }
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
  ['WAV of another coding with any rate', 100, codedWav(0xffff_ffff)],
  ['FLAC', 100, longer(flac())],
  ['Ogg', 200, Buffer.concat([longer(ogg(OPUS, 48_312n)), ogg(OPUS, 48_312n)])],
  ['MP4', 10, longer(mp4(false, 1_000))],
  ['MP3 that counts few frames', 400, longer(xing(20))],
  ['WebM', 10, longer(webm(1_000))],
] as const)('%s is not shorter than its bytes can be: %i s', (_what, seconds, file) => {
  const sound = new SoundFile()
  sound.push(file)
  sound.end()
  expect(sound.lengthMs).toBeGreaterThanOrEqual(seconds * 1_000)
})

function codedWav(bytesPerSecond: number): Buffer {
  const fmt = Buffer.concat([u32le(0x0001_0055), u32le(16_000), u32le(bytesPerSecond), u32le(1)])
  const head = [text('RIFF'), u32le(0), text('WAVE'), text('fmt '), u32le(16), fmt, text('data'), u32le(0)]
  return Buffer.concat([...head, zeros(10_000_000)])
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
