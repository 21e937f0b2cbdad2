/** Random numbers from 0 up to `below`. */
export type Pick = (below: number) => number

const NAMES = [
  'X-Request-ID',
  'content-type',
  'Date',
  'set-cookie',
  'Set-Cookie',
  'server',
  'A',
  '!#$%',
  'Keep-Alive',
]
const VALUES = [
  '',
  'x',
  'a b\tc',
  'timeout=5',
  '\xe9\xff',
  'text/event-stream',
  '"quoted, ; text"',
  'z'.repeat(300),
]
const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200',
  'HTTP/1.1 200 ',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 404 caf\xe9 \x01',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 999 Odd',
]
const INTERIM = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n',
  'HTTP/1.1 102 Processing\r\nContent-Type: x\r\n\r\n',
]
/** What stands in places where readers have been seen to differ. */
const JUNK = [
  ...['\r', '\n', '\r\n', '\n\n', '\r\n\r\n', ' ', '\t', '\0', '\x7f', '\x0b', '\xa0', '\xff', ':', ';', ','],
  ...[
    '-',
    '+',
    '0',
    '1',
    'f',
    '0x',
    '5',
    ' :',
    'chunked',
    'gzip',
    '\r\n ',
    '\r\n\t',
    '0\r\n\r\n',
    '"',
    '1e3',
  ],
  ...[
    'Content-Length: 3\r\n',
    'content-length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
  ],
  ...['Transfer-Encoding: identity\r\n', 'HTTP/1.1 200 OK\r\n', 'ffffffffffffffffff', '99999999999999999999'],
]

/** A proper answer, in latin1 characters. */
export function makeAnswer(pick: Pick): string {
  const one = (of: readonly string[]) => of[pick(of.length)] ?? ''
  let text = pick(6) === 0 ? one(INTERIM) : ''
  const lines = [one(STATUS_LINES)]
  const body = Array.from({ length: pick(3) === 0 ? pick(3_000) : pick(40) }, () =>
    String.fromCharCode(pick(256)),
  ).join('')
  const framing = pick(4)
  for (let i = pick(6); i > 0; i--)
    lines.push(`${one(NAMES)}:${one(['', ' ', '  ', '\t'])}${one(VALUES)}${one(['', ' '])}`)
  if (framing === 0)
    lines.push(`${one(['Content-Length', 'content-length', 'CONTENT-LENGTH'])}: ${body.length}`)
  if (framing === 1 || framing === 2)
    lines.push(`${one(['Transfer-Encoding', 'transfer-encoding'])}: ${one(['chunked', 'Chunked'])}`)
  if (pick(5) === 0) lines.push(`Connection: ${one(['close', 'keep-alive', 'Close', 'x, y'])}`)
  for (let i = lines.length - 1; i > 1; i--) {
    const other = 1 + pick(i)
    const line = lines[i] ?? ''
    lines[i] = lines[other] ?? ''
    lines[other] = line
  }
  text += `${lines.join('\r\n')}\r\n\r\n`
  if (framing === 1 || framing === 2) {
    for (let at = 0; at < body.length; ) {
      const size = 1 + pick(framing === 1 ? 5 : 900)
      const chunk = body.slice(at, at + size)
      const digits = chunk.length.toString(16)
      text += `${'0'.repeat(pick(3))}${pick(2) === 0 ? digits.toUpperCase() : digits}${one(['', '', ';a', ';a=b', ';a="b c"'])}\r\n${chunk}\r\n`
      at += size
    }
    text += `0\r\n${pick(3) === 0 ? 'Trailer-A: 1\r\ntrailer-a: 2\r\nB:\r\n' : ''}\r\n`
  } else if (framing === 0 || pick(4) > 0) text += body
  return text
}

/** `text` with a few of its bytes lost, changed, doubled or joined by others. */
export function damage(text: string, pick: Pick): string {
  let damaged = text
  for (let times = 1 + pick(3); times > 0; times--) {
    // Most that matters is in the head and where chunks meet.
    const at = pick(pick(2) === 0 ? damaged.length + 1 : Math.min(damaged.length + 1, 200))
    const junk = JUNK[pick(JUNK.length)] ?? ''
    const kind = pick(6)
    if (kind === 0) damaged = damaged.slice(0, at) + damaged.slice(at + 1 + pick(3))
    else if (kind === 1) damaged = damaged.slice(0, at) + junk + damaged.slice(at + junk.length)
    else if (kind === 2) damaged = damaged.slice(0, at)
    else if (kind === 3) damaged += junk
    else if (kind === 4) {
      const lineStart = damaged.lastIndexOf('\r\n', at) + 2
      damaged = damaged.slice(0, lineStart) + junk + damaged.slice(lineStart)
    } else damaged = damaged.slice(0, at) + junk + damaged.slice(at)
  }
  return damaged
}

/** `text` in pieces. */
export function cut(text: string, pick: Pick): string[] {
  const pieces: string[] = []
  const most = [1, 7, 100, 5_000][pick(4)] ?? 1
  for (let at = 0; at < text.length; ) {
    const size = 1 + pick(most)
    pieces.push(text.slice(at, at + size))
    at += size
  }
  return pieces
}
