// @seconds: bodies that decode to more than the limit.
import { randomBytes } from 'node:crypto'
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { createDecoder, type DecodeResult } from '../../src/http/codings/decode.ts'
import { rounds } from '../support/rounds.ts'

const text = Buffer.from(
  Array.from({ length: 3000 }, (_, i) => `data: {"n":${i},"x":"${(i * 7919) % 1009}"}\n\n`).join(''),
)

interface Decoded {
  readonly result: DecodeResult
  readonly bytes: Buffer
}

function decode(codings: string, pieces: readonly Uint8Array[]): Promise<Decoded> {
  const chunks: Uint8Array[] = []
  const decoder = createDecoder(codings, (chunk) => chunks.push(Buffer.from(chunk)))
  for (const piece of pieces) decoder.push(piece)
  return new Promise((resolve) => {
    decoder.end((result) => resolve({ result, bytes: Buffer.concat(chunks) }))
  })
}

/** Decodes what would be much to keep. */
async function measureDecoded(
  codings: string,
  pieces: readonly Uint8Array[],
): Promise<{ readonly result: DecodeResult; readonly given: number }> {
  let given = 0
  const decoder = createDecoder(codings, (chunk) => {
    given += chunk.length
  })
  for (const piece of pieces) decoder.push(piece)
  const result = await new Promise<DecodeResult>((resolve) => decoder.end(resolve))
  return { result, given }
}

function inPieces(body: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size))
  return pieces
}

/** Single bytes are those that tell what a body is: what follows them is one piece. */
const SINGLE_BYTES = rounds({ short: 300, long: Number.POSITIVE_INFINITY })

function inEverySize(body: Buffer, size: number): Buffer[] {
  if (size > 1) return inPieces(body, size)
  return [...inPieces(body.subarray(0, SINGLE_BYTES), 1), body.subarray(SINGLE_BYTES)]
}

/** Decodes in steps: what came out by the time each piece was decoded. */
function decodeStepwise(codings: string) {
  let bytes = 0
  let wake = () => {}
  const decoder = createDecoder(codings, (chunk) => {
    bytes += chunk.length
    wake()
  })
  return {
    decoder,
    async until(wanted: number) {
      while (bytes < wanted) await new Promise<void>((resolve) => (wake = resolve))
      return bytes
    },
  }
}

const bodies: readonly (readonly [codings: string, body: Buffer])[] = [
  ['gzip', gzipSync(text)],
  ['X-GZip', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
  ['gzip, br', brotliCompressSync(gzipSync(text))],
  ['deflate,identity , gzip', gzipSync(deflateSync(text))],
  ['deflate, br', brotliCompressSync(deflateRawSync(text))],
  ['br,zstd,deflate,gzip', gzipSync(deflateSync(zstdCompressSync(brotliCompressSync(text))))],
  ['identity', text],
  ['', text],
]

const BEHIND_EACH_OTHER = rounds({ short: 60, long: 300 })

describe('every coding', () => {
  test.each(
    bodies,
  )('a body coded in %s comes out as it went in, in pieces of any size', async (codings, body) => {
    for (const size of [1, 7, 1000, body.length]) {
      const { result, bytes } = await decode(codings, inEverySize(body, size))
      expect(result).toBe('complete')
      expect(bytes.equals(text)).toBe(true)
    }
  })

  test.each(bodies)('%s: a body that was cut gives what it holds', async (codings, body) => {
    for (const share of [0, 0.3, 0.9, 0.999]) {
      const { result, bytes } = await decode(codings, inPieces(body.subarray(0, body.length * share), 500))
      expect(result).toBe('complete')
      expect(bytes.equals(text.subarray(0, bytes.length))).toBe(true)
      // The other ones decode block by block, so that a cut may cost much of a body this short.
      if (/^(x-)?(gzip|deflate)$/i.test(codings)) {
        expect(bytes.length).toBeGreaterThan(share * 0.5 * text.length - 1)
      }
    }
  })

  test('several gzip members are one body, zeros behind it are nothing', async () => {
    const twice = Buffer.concat([gzipSync('one'), gzipSync('two')])
    expect((await decode('gzip', inPieces(twice, 5))).bytes.toString()).toBe('onetwo')
    const padded = Buffer.concat([gzipSync('one'), Buffer.alloc(100)])
    for (const size of [3, 200]) {
      const { result, bytes } = await decode('gzip', inPieces(padded, size))
      expect([result, bytes.toString()]).toEqual(['complete', 'one'])
    }
  })

  test.each([
    ['zstd', (part: string) => zstdCompressSync(part)],
    ['br', (part: string) => brotliCompressSync(part)],
  ])('%s: several behind each other are one body, and what is none behind them is nothing', async (coding, encode) => {
    const parts = Array.from({ length: BEHIND_EACH_OTHER }, (_, index) => `<${index}>`.repeat(index))
    const body = Buffer.concat(parts.map(encode))
    for (const size of [1, 7, 1000, body.length]) {
      const { result, bytes } = await decode(coding, inPieces(body, size))
      expect([result, bytes.toString() === parts.join('')]).toEqual(['complete', true])
      const behind = await decode(
        coding,
        inPieces(Buffer.concat([encode('one'), Buffer.from('no more')]), size),
      )
      expect([behind.result, behind.bytes.toString()]).toEqual(['complete', 'one'])
    }
  })

  test('skippable frames of zstd are skipped, wherever they stand', async () => {
    const skipped = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
    const body = Buffer.concat([skipped, zstdCompressSync('one'), skipped, zstdCompressSync('two'), skipped])
    for (const size of [1, 5, body.length]) {
      expect((await decode('zstd', inPieces(body, size))).bytes.toString()).toBe('onetwo')
    }
  })

  test('an empty body is complete', async () => {
    for (const codings of ['gzip', 'br', 'gzip, zstd', '']) {
      expect(await decode(codings, [])).toEqual({ result: 'complete', bytes: Buffer.alloc(0) })
      expect((await decode(codings, [Buffer.alloc(0)])).result).toBe('complete')
    }
    expect((await decode('gzip, br', [brotliCompressSync('')])).result).toBe('complete')
  })
})

describe('a stream', () => {
  test.each([
    ['gzip', createGzip({ flush: constants.Z_SYNC_FLUSH })],
    ['br', createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
    ['zstd', createZstdCompress({ flush: constants.ZSTD_e_flush })],
  ])('%s: what the upstream flushed is decoded before more comes', async (codings, compressor) => {
    const { decoder, until } = decodeStepwise(codings)
    compressor.on('data', (chunk: Buffer) => decoder.push(chunk))
    let sent = 0
    for (const event of ['data: 1\n\n', 'data: two\n\n', 'data: 3\n\n']) {
      compressor.write(event)
      sent += event.length
      expect(await until(sent)).toBe(sent)
    }
    decoder.destroy()
    compressor.destroy()
  })
})

describe('a body that is not what it says', () => {
  const event = Buffer.from('data: {"n":1}\n\n')
  const spaced = Buffer.from('\ufeff{\n    "n": [1, 2, 3]\n}')
  test.each([
    ['text as gzip', 'gzip', event, event],
    ['text as brotli', 'br', spaced, spaced],
    ['text as zstd', 'zstd', Buffer.from('[{"n":1}]'), Buffer.from('[{"n":1}]')],
    ['text as deflate', 'deflate', event, event],
    ['text with two codings', 'gzip, br', event, event],
    ['text with an unknown coding', 'utf-8', event, event],
    ['text that is all of the body, shorter than a header', 'gzip', Buffer.from('{}'), Buffer.from('{}')],
    ['gzip without a word of it', '', gzipSync(text), text],
    ['zstd without a word of it', 'identity', zstdCompressSync(text), text],
    ['zlib without a word of it', '', deflateSync(text), text],
    ['zstd as gzip', 'gzip', zstdCompressSync(text), text],
    ['gzip as zstd', 'zstd', gzipSync(text), text],
    ['gzip as brotli', 'br', gzipSync(text), text],
    ['gzip as deflate', 'deflate', gzipSync(text), text],
  ])('%s is read as what it is, whatever its coding is said to be', async (_, codings, body, expected) => {
    for (const size of [1, 7, body.length]) {
      const { result, bytes } = await decode(codings, inEverySize(body, size))
      expect([result, bytes.equals(expected)]).toEqual(['complete', true])
    }
  })

  test('brotli of any length and window is never taken for another coding', async () => {
    for (const window of [10, 16, 18, 22, 24]) {
      // A window of 24 begins with 1f and the length: 2188 makes gzip's first three bytes.
      for (const length of [1, 0x8b, 0x8c, 2188, 30_108]) {
        const plain = randomBytes(length)
        const body = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_LGWIN]: window } })
        const { result, bytes } = await decode('br', [body])
        expect([window, length, result, bytes.equals(plain)]).toEqual([window, length, 'complete', true])
      }
    }
  })
})

describe('what cannot be read', () => {
  test.each([
    ['an unknown coding', 'aws-chunked', Buffer.alloc(1000, 0xff)],
    ['an unknown one among known ones', 'gzip, compress', gzipSync(text)],
    ['too many codings', 'gzip,gzip,gzip,gzip,gzip', gzipSync(text)],
    ['bytes of another coding', 'gzip', brotliCompressSync(text)],
    ['bytes of no coding', 'zstd', Buffer.alloc(1000, 0x41)],
    ['bytes of no coding, as brotli', 'br', Buffer.alloc(1000, 0xff)],
    ['an inner coding that is not there', 'br, gzip', gzipSync(Buffer.alloc(1000, 0xff))],
    [
      'corrupt bytes',
      'gzip',
      Buffer.concat([gzipSync(randomBytes(1e5)).subarray(0, 5e4), Buffer.alloc(1e5, 0xff)]),
    ],
  ])('%s is reported as unreadable', async (_, codings, body) => {
    expect((await decode(codings, inPieces(body, 1000))).result).toBe('unreadable')
  })

  test('a sink that throws ends the decoding and harms no other call', async () => {
    let calls = 0
    for (const codings of ['gzip', '']) {
      calls = 0
      const decoder = createDecoder(codings, () => {
        calls++
        throw new Error('reader')
      })
      decoder.push(codings === '' ? text : gzipSync(text))
      decoder.push(Buffer.from('more'))
      expect(await new Promise((resolve) => decoder.end(resolve))).toBe('unreadable')
      expect(calls).toBe(1)
    }
  })

  test('the sink is not called after destroy', async () => {
    let called = 0
    const decoder = createDecoder('gzip', () => called++)
    decoder.push(gzipSync(text))
    decoder.end(() => called++)
    decoder.destroy()
    expect((await decode('gzip', [gzipSync(text)])).result).toBe('complete')
    expect(called).toBe(0)
  })
})

const CODERS = {
  gzip: gzipSync,
  deflate: deflateSync,
  // The best that it can takes seconds, and gives what is next to nothing anyway.
  br: (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: zstdCompressSync,
}

describe('bombs', () => {
  const zeros = Buffer.alloc(80 * 1024 * 1024)
  const bombs = {
    gzip: gzipSync(zeros),
    deflate: deflateSync(zeros),
    br: CODERS.br(zeros),
    zstd: zstdCompressSync(zeros),
  }

  test.each([
    ['gzip', bombs.gzip],
    ['br', bombs.br],
    ['zstd', bombs.zstd],
    ['gzip, gzip', gzipSync(bombs.gzip)],
  ])('%s: decoding stops at 64 MiB', async (codings, body) => {
    const { result, given } = await measureDecoded(codings, inPieces(body, 1000))
    expect(result).toBe('unreadable')
    expect(given).toBeLessThanOrEqual(64 * 1024 * 1024)
  })

  test.each([
    'gzip',
    'deflate',
    'br',
    'zstd',
  ] as const)('%s: ten at once are decoded at a pace, and little is kept', async (coding) => {
    const body = bombs[coding]
    const usual = 10 * Math.max(1024 * 1024, body.length * 200)
    const begun = performance.now()
    const before = process.memoryUsage().rss
    let given = 0
    let over = 0
    const decoders = Array.from({ length: 10 }, () => {
      const decoder = createDecoder(coding, (decoded) => {
        given += decoded.length
        // 64 MiB a second, and a chunk of each that was under way.
        over = Math.max(over, given - usual - (performance.now() - begun) * 65_536)
      })
      for (const piece of inPieces(body, 1000)) decoder.push(piece)
      return decoder
    })
    await expect.poll(() => given).toBeGreaterThan(usual + 10 * 1024 * 1024)
    expect(process.memoryUsage().rss - before).toBeLessThan(150e6)
    for (const decoder of decoders) decoder.destroy()
    expect(over).toBeLessThan(2 * 1024 * 1024)
  })

  test.each([
    'gzip',
    'deflate',
    'br',
    'zstd',
  ] as const)('%s: 16,000 tokens of spaces are read to their last byte', async (coding) => {
    const answer = Buffer.from(
      JSON.stringify({ content: ' '.repeat(16_000 * 128), usage: { completion_tokens: 16_000 } }),
    )
    const body = CODERS[coding](answer)
    expect(answer.length / body.length).toBeGreaterThan(500)
    const { result, bytes } = await decode(coding, inPieces(body, 100))
    expect(result).toBe('complete')
    expect(bytes.equals(answer)).toBe(true)
  })

  test('decoding stops at 64 MiB whatever the ratio', async () => {
    const sparse = Buffer.alloc(80 * 1024 * 1024)
    for (let at = 0; at < sparse.length; at += 65536) randomBytes(500).copy(sparse, at)
    const body = gzipSync(sparse, { level: 1 })
    expect(sparse.length / body.length).toBeLessThan(150)
    const { result, given } = await measureDecoded('gzip', inPieces(body, 65536))
    expect(result).toBe('unreadable')
    expect(given).toBeGreaterThan(63 * 1024 * 1024)
    expect(given).toBeLessThanOrEqual(64 * 1024 * 1024)
  })

  test('a body that comes faster than it is decoded is unreadable beyond 8 MiB, and gives its room back', async () => {
    const body = gzipSync(randomBytes(9 * 1024 * 1024), { level: 0 })
    for (let round = 0; round < 10; round++) {
      expect((await measureDecoded('gzip', inPieces(body, 65536))).result).toBe('unreadable')
    }
    const less = body.subarray(0, 7 * 1024 * 1024)
    expect((await measureDecoded('gzip', inPieces(less, 65536))).result).toBe('complete')
  })
})
