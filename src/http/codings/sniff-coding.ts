/** Enough of a body to recognise it: the length of gzip's header. */
export const SNIFFED_BYTES = 10

/** What the first bytes of an answer show; `null`: they show nothing. */
export type SniffedCoding = 'gzip' | 'zstd' | 'deflate' | 'text'

/** How documents with usage begin: JSON, a list of it, or server-sent events. */
const TEXT = /^\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[{\]]|$)|(?:data|event|id|retry)\s*:|:)/
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/**
 * Recognises a coding by the first bytes of a body: gzip (RFC 1952), zstd (RFC 8878, also a skippable frame),
 * zlib (RFC 1950), or text. Brotli and bare deflate may begin with any byte.
 *
 * @param head the first bytes of the body: {@link SNIFFED_BYTES} of them, or all there are.
 */
export function sniffCoding(head: Uint8Array): SniffedCoding | null {
  const [first = 0, second = 0, third = 0, fourth = 0] = head
  if (first === 0x1f && second === 0x8b) return isGzip(head) ? 'gzip' : null
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return 'zstd'
  if ((first & 0xf0) === 0x50 && second === 0x2a && third === 0x4d && fourth === 0x18) return 'zstd'
  if (first === 0x78 && ((first << 8) | second) % 31 === 0) return 'deflate'
  return isText(head) ? 'text' : null
}

/** All of the header, because brotli's with its largest window begins with 1f, and then the body's length. */
function isGzip(head: Uint8Array): boolean {
  const [, , method, flags = 0xff, , , , , extra = 0xff, system = 0x80] = head
  const knowsSystem = system < 14 || system === 255
  return method === 8 && flags < 0x20 && (extra === 0 || extra === 2 || extra === 4) && knowsSystem
}

/** Whether a body that is declared plain may be coded, by its first byte: text begins with none of these. */
export function mayBeCoded(firstByte: number | undefined): boolean {
  return firstByte === 0x1f || firstByte === 0x28 || firstByte === 0x78
}

function isText(head: Uint8Array): boolean {
  const hasMark = BYTE_ORDER_MARK.every((byte, index) => head[index] === byte)
  const text = Buffer.from(hasMark ? head.subarray(BYTE_ORDER_MARK.length) : head).toString('latin1')
  return /^[\t\n\r -~\u0080-\u00ff]*$/.test(text) && TEXT.test(text)
}
