/** Larger bodies in UTF-16 do not occur, and converting them would take long. */
const MAX_UTF16_BYTES = 1024 * 1024

/**
 * A JSON body that is written in UTF-16, as UTF-8; any other body as it is. RFC 8259 allows only UTF-8. But
 * servers that use Python's `json` detect the encoding by the first bytes (`json.detect_encoding`), and so
 * does this.
 */
export function asUtf8(body: Buffer): Buffer {
  const order = utf16Order(body)
  if (order === null || body.length % 2 !== 0 || body.length > MAX_UTF16_BYTES) return body
  const littleEndian = order === 'le' ? body : Buffer.from(body).swap16()
  return Buffer.from(littleEndian.toString('utf16le'), 'utf8')
}

function utf16Order(body: Buffer): 'le' | 'be' | null {
  // By index, because this runs for every body, and destructuring makes an iterator.
  const first = body[0]
  const second = body[1]
  const third = body[2]
  const fourth = body[3]
  if (first === undefined || second === undefined) return null
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? null : 'le'
  if (first === 0xfe && second === 0xff) return 'be'
  if (first === 0 && second !== 0) return 'be'
  if (first !== 0 && second === 0) return third === 0 && fourth === 0 ? null : 'le'
  return null
}

/**
 * Whether a body begins like gzip, zlib or zstd, as no JSON does. A server that goes by the bytes would read
 * what the gateway has not read.
 */
export function seemsCompressed(body: Buffer): boolean {
  const second = body[1] ?? 0
  switch (body[0]) {
    case 0x1f:
      return second === 0x8b
    case 0x28:
      return second === 0xb5 && body[2] === 0x2f && body[3] === 0xfd
    case 0x78:
      return (0x7800 + second) % 31 === 0
    default:
      return false
  }
}
