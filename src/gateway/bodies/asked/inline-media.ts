const BACKSLASH = 0x5c
const COMMA = 0x2c

/** What the start of `data:` says before the bytes is no longer than this. */
const MAX_LABEL_BYTES = 128
/** As many bytes are looked at in three places of a string: text has a space or a quote among so many. */
const SAMPLE_BYTES = 48

/** Bytes of base64, of base64url, and what JSON may write before a slash. */
const IS_BASE64 = new Uint8Array(256)
for (const byte of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\',
  'latin1',
)) {
  IS_BASE64[byte] = 1
}

/** What a string that is not text holds. `sound`: films too. `opaque`: anything else, such as hidden reasoning. */
export type InlineKind = 'image' | 'document' | 'sound' | 'opaque'

/** How files begin, in base64. */
const BEGINNINGS: readonly (readonly [beginning: string, kind: InlineKind])[] = [
  // JPEG, PNG, GIF, BMP.
  ['/9j/', 'image'],
  ['iVBORw', 'image'],
  ['R0lGOD', 'image'],
  ['Qk', 'image'],
  // PDF, and ZIP, which office documents are.
  ['JVBERi', 'document'],
  ['UEsDB', 'document'],
  // MP3 with and without a head, Ogg, FLAC, WebM, AAC.
  ['SUQz', 'sound'],
  ['//', 'sound'],
  ['T2dn', 'sound'],
  ['ZkxhQ', 'sound'],
  ['GkXf', 'sound'],
]

/**
 * What the string between `start` and `end` holds, which stands without its quotes in `body`; `null`: text. Only
 * samples are looked at, so that megabytes cost nothing.
 */
export function inlineKindAt(body: Buffer, start: number, end: number): InlineKind | null {
  const from = dataStart(body, start, end)
  const middle = (from + end) >> 1
  if (
    !isBase64(body, from, end) ||
    !isBase64(body, middle, end) ||
    !isBase64(body, end - SAMPLE_BYTES, end)
  ) {
    return null
  }
  const head = body.toString('latin1', from, Math.min(from + 24, end)).replaceAll('\\', '')
  for (const [beginning, kind] of BEGINNINGS) if (head.startsWith(beginning)) return kind
  // RIFF is WebP or WAV. An MP4 begins with its length, and so do AVIF and HEIC, which are pictures.
  if (head.startsWith('UklGR')) return head.startsWith('XRUJQ', 11) ? 'image' : 'sound'
  if (head.startsWith('GZ0eXB', 5)) return /^(?:hdml|oZWl|taWY)/.test(head.slice(11)) ? 'image' : 'sound'
  return 'opaque'
}

/** Behind `data:image/png;base64,`. */
function dataStart(body: Buffer, start: number, end: number): number {
  if (body.toString('latin1', start, start + 5) !== 'data:') return start
  const comma = body.subarray(start, Math.min(end, start + MAX_LABEL_BYTES)).indexOf(COMMA)
  return comma < 0 ? start : start + comma + 1
}

function isBase64(body: Buffer, from: number, end: number): boolean {
  const stop = Math.min(from + SAMPLE_BYTES, end)
  for (let at = from; at < stop; at++) {
    const byte = body[at] ?? 0
    if (IS_BASE64[byte] !== 1) return false
    // No escape but that of a slash stands in base64.
    if (byte === BACKSLASH && at + 1 < end && body[at + 1] !== 0x2f) return false
  }
  return true
}
