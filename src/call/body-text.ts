/** Larger ones are not worth the event loop's time: nobody sends them. */
const MAX_UTF16_BYTES = 1024 * 1024

/**
 * A JSON body that is written in UTF-16, as UTF-8; any other as it is. RFC 8259 allows only UTF-8, but servers on Python's `json`
 * tell the encoding by the first bytes (`json.detect_encoding`), and so is it told here.
 */
export function asUtf8(body: Buffer): Buffer {
  const order = utf16Order(body)
  if (order === null || body.length % 2 !== 0 || body.length > MAX_UTF16_BYTES) return body
  const littleEndian = order === 'le' ? body : Buffer.from(body).swap16()
  return Buffer.from(littleEndian.toString('utf16le'), 'utf8')
}

function utf16Order(body: Buffer): 'le' | 'be' | null {
  const [first, second, third, fourth] = body
  if (first === undefined || second === undefined) return null
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? null : 'le'
  if (first === 0xfe && second === 0xff) return 'be'
  if (first === 0 && second !== 0) return 'be'
  if (first !== 0 && second === 0) return third === 0 && fourth === 0 ? null : 'le'
  return null
}

/** Whether a body begins as gzip, zlib or zstd do, and no JSON does: a server that looks at the bytes reads what nobody here has read. */
export function looksCompressed(body: Buffer): boolean {
  const [first = 0, second = 0, third = 0, fourth = 0] = body
  if (first === 0x1f) return second === 0x8b
  if (first === 0x28) return second === 0xb5 && third === 0x2f && fourth === 0xfd
  return first === 0x78 && (first * 256 + second) % 31 === 0
}
