import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib'

type Decode = (bytes: Buffer, maxOutputLength: number) => Buffer

const finishFlush = constants.Z_SYNC_FLUSH

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', (bytes, maxOutputLength) => gunzipSync(bytes, { finishFlush, maxOutputLength })],
  ['x-gzip', (bytes, maxOutputLength) => gunzipSync(bytes, { finishFlush, maxOutputLength })],
  [
    'deflate',
    // zlib's header begins with compression method 8; some servers send bare deflate.
    (bytes, maxOutputLength) =>
      ((bytes[0] ?? 0) & 0x0f) === 8
        ? inflateSync(bytes, { finishFlush, maxOutputLength })
        : inflateRawSync(bytes, { finishFlush, maxOutputLength }),
  ],
  [
    'br',
    (bytes, maxOutputLength) =>
      brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength }),
  ],
  [
    'zstd',
    (bytes, maxOutputLength) =>
      zstdDecompressSync(bytes, { finishFlush: constants.ZSTD_e_flush, maxOutputLength }),
  ],
])

/** Tells whether the start of a body with this `content-encoding` can be read. */
export function isDecodable(coding: string): boolean {
  return coding === 'identity' || DECODERS.has(coding)
}

/**
 * What a few bytes at the start of a body hold, as far as they tell, of one that was cut too. `null`: more than `maxBytes`,
 * or nothing that can be read.
 */
export function decodedStart(coding: string, bytes: Buffer, maxBytes: number): Buffer | null {
  const decode = DECODERS.get(coding)
  if (decode === undefined) return bytes
  try {
    return decode(bytes, maxBytes)
  } catch {
    return null
  }
}
