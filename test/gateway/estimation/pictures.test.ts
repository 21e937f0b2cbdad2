import { expect, test } from 'vitest'
import { pictureSize, tokensOfPicture } from '../../../src/gateway/estimation/pictures.ts'

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  )
const zeros = (length: number) => Array.from({ length }, () => 0)

const PICTURES: readonly (readonly [what: string, file: Buffer, size: readonly [number, number]])[] = [
  ['PNG', bytes('\x89PNG\r\n\x1a\n', zeros(8), [0, 0, 4, 0, 0, 0, 3, 0]), [1024, 768]],
  ['GIF', bytes('GIF89a', [0x40, 0x01, 0xf0, 0x00]), [320, 240]],
  [
    'JPEG behind a small picture',
    bytes(
      [0xff, 0xd8, 0xff, 0xe1, 0xea, 0x62],
      zeros(60_000),
      [0xff, 0xff, 0xc2, 0, 17, 8, 4, 56, 7, 128, 3],
    ),
    [1920, 1080],
  ],
  ['WebP', bytes('RIFF\0\0\0\0WEBPVP8 ', zeros(10), [0x80, 0x02, 0xe0, 0x01]), [640, 480]],
  ['WebP without loss', bytes('RIFF\0\0\0\0WEBPVP8L', zeros(4), [0x2f, 0x7f, 0xc2, 0x77, 0x00]), [640, 480]],
  ['extended WebP', bytes('RIFF\0\0\0\0WEBPVP8X', zeros(8), [0x7f, 0x02, 0, 0xdf, 0x01, 0]), [640, 480]],
]

test.each(PICTURES)('the size of a %s stands in its head', (_what, file, [width, height]) => {
  const base64 = Buffer.concat([file, Buffer.alloc(100)]).toString('base64')
  expect(pictureSize(base64)).toEqual({ width, height })
  expect(pictureSize(`data:image/x;base64,${base64}`)).toEqual({ width, height })
  for (let cut = 0; cut < 60; cut += 1) expect(() => pictureSize(base64.slice(0, cut))).not.toThrow()
})

test('a URL, a text and an empty picture have no size', () => {
  for (const text of ['', 'https://example.com/a.png', 'data:image/png;base64,', 'R0lGODlh']) {
    expect(pictureSize(text)).toBeNull()
  }
})

/** Examples of the makers' pages, and of recorded calls. */
test.each([
  ['gpt-4o', 1024, 1024, 765],
  ['gpt-4o-2024-08-06', 2048, 4096, 1105],
  ['openai/gpt-4o-mini', 1024, 1024, 25_501],
  ['gpt-4.1-mini', 1024, 1024, 1659],
  ['gpt-4.1-mini', 1800, 2400, 2352],
  ['gpt-5', 512, 512, 210],
  ['gpt-5-mini', 597, 566, 410],
  ['claude-sonnet-4-5', 597, 566, 462],
  ['claude-sonnet-4-5', 1000, 1000, 1296],
  ['claude-sonnet-4-5', 4000, 4000, 1600],
  ['claude-opus-4-7', 2000, 1500, 3888],
  ['gemini-2.0-flash', 300, 300, 258],
  ['gemini-2.0-flash', 540, 360, 1806],
  ['gemini-2.0-flash', 3008, 2000, 3354],
  ['gemini-2.5-flash', 597, 566, 258],
  ['gemini-3-pro', 300, 300, 1120],
  ['Qwen/Qwen2.5-VL-72B-Instruct', 597, 566, 420],
  ['qwen/qwen3-vl-8b', 640, 480, 300],
  ['glm-4.6v', 597, 566, 420],
  ['pixtral-12b-latest', 597, 566, 1404],
  ['mistral-medium-latest', 400, 301, 176],
  ['meta-llama/llama-4-scout-17b-16e-instruct', 3008, 2000, 2328],
  ['us.meta.llama4-maverick-17b-instruct-v1:0', 597, 566, 733],
  ['us.amazon.nova-2-lite-v1:0', 597, 566, 447],
])('%s makes a picture of %i x %i into %i tokens', (model, width, height, tokens) => {
  expect(Math.round(tokensOfPicture(model, { width, height }) ?? 0)).toBe(tokens)
})

test('of a model whose maker says no rule nothing is known', () => {
  expect(tokensOfPicture('phi-4-multimodal', { width: 100, height: 100 })).toBeNull()
})
