import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { asUtf8, seemsCompressed } from '../../src/gateway/bodies/whole-body.ts'
import { type DecodeProblem, decodeBody } from '../../src/http/codings/decode-body.ts'

const MIB = 1024 * 1024
const JSON_BODY = Buffer.from(`{"model":"gpt-4o-mini","messages":[${'{"role":"user"},'.repeat(9000)}{}]}`)

let taken = 0

async function decode(body: Buffer, codings: readonly string[], roomBytes = 64 * MIB) {
  taken = 0
  return await new Promise<Buffer | DecodeProblem>((resolve) => {
    const takeRoom = (bytes: number) => {
      taken += bytes
      return taken <= roomBytes
    }
    decodeBody(body, codings, 'client', 16 * MIB, takeRoom, resolve)
  })
}

test.each([
  ['gzip', gzipSync(JSON_BODY), ['gzip']],
  ['x-gzip', gzipSync(JSON_BODY), ['x-gzip']],
  ['deflate', deflateSync(JSON_BODY), ['deflate']],
  ['bare deflate', deflateRawSync(JSON_BODY), ['deflate']],
  ['brotli', brotliCompressSync(JSON_BODY), ['br']],
  ['zstd', zstdCompressSync(JSON_BODY), ['zstd']],
  ['gzip of gzip', gzipSync(gzipSync(JSON_BODY)), ['gzip', 'gzip']],
  ['brotli of gzip', brotliCompressSync(gzipSync(JSON_BODY)), ['gzip', 'br']],
  [
    'gzip in two members',
    Buffer.concat([gzipSync(JSON_BODY.subarray(0, 9)), gzipSync(JSON_BODY.subarray(9))]),
    ['gzip'],
  ],
])('%s is undone, and takes the room of what came of it', async (_what, body, codings) => {
  expect(await decode(body, codings)).toEqual(JSON_BODY)
  expect(taken).toBeGreaterThanOrEqual(JSON_BODY.length)
})

const PLAIN = Buffer.from('{"model":"x"}')

test.each<[string, Buffer, readonly string[]]>([
  ['JSON that is called gzip', PLAIN, ['gzip']],
  ['JSON that is called brotli', PLAIN, ['br']],
  ['JSON that is called deflate', PLAIN, ['deflate']],
  ['JSON that is an empty body in brotli', Buffer.from('{ '), ['br']],
  ['a body that was cut', gzipSync(JSON_BODY).subarray(0, 200), ['gzip']],
  ['a body with text behind it', Buffer.concat([deflateSync(PLAIN), PLAIN]), ['deflate']],
  ['zstd with text behind it', Buffer.concat([zstdCompressSync(PLAIN), PLAIN]), ['zstd']],
  ['gzip once that is called gzip twice', gzipSync(PLAIN), ['gzip', 'gzip']],
  ['nothing', Buffer.alloc(0), ['gzip']],
])('%s is undecodable', async (_what, body, codings) => {
  expect(await decode(body, codings)).toBe('undecodable')
})

test('a bomb is too large by its size, by its ratio, and in the middle of two codings', async () => {
  expect(await decode(gzipSync(Buffer.alloc(17 * MIB)), ['gzip'])).toBe('too_large')
  expect(await decode(gzipSync(Buffer.alloc(2 * MIB)), ['gzip'])).toBe('too_large')
  expect(await decode(gzipSync(gzipSync(Buffer.alloc(17 * MIB))), ['gzip', 'gzip'])).toBe('too_large')
})

test('without room for it nothing is decoded', async () => {
  expect(await decode(gzipSync(JSON_BODY), ['gzip'], JSON_BODY.length - 1)).toBe('busy')
})

test('JSON in UTF-16 is read as servers on Python’s json read it', () => {
  const text = '{"model":"gpt-4o-mini","é":"€"}'
  const le = Buffer.from(text, 'utf16le')
  const be = Buffer.from(le).swap16()
  expect(asUtf8(le).toString()).toBe(text)
  expect(asUtf8(be).toString()).toBe(text)
  expect(asUtf8(Buffer.concat([Buffer.from([0xff, 0xfe]), le])).toString()).toBe(`\ufeff${text}`)
  const utf8 = Buffer.from(text)
  expect(asUtf8(utf8)).toBe(utf8)
  expect(asUtf8(Buffer.alloc(0))).toHaveLength(0)
})

test('a compressed body that does not say so is known by its first bytes, and JSON never taken for one', () => {
  for (const body of [gzipSync(PLAIN), deflateSync(PLAIN), zstdCompressSync(PLAIN)]) {
    expect(seemsCompressed(body)).toBe(true)
  }
  for (const text of ['', '{', ' {"model":"x"}', '[1]', '"x', '(x)', 'x']) {
    expect(seemsCompressed(Buffer.from(text))).toBe(false)
  }
})
