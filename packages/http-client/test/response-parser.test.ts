import { describe, expect, test } from 'vitest'
import { ResponseParser } from '../src/response-parser.ts'
import { type Parsed, parse } from './parsed.ts'

const PLAIN = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello'
const CHUNKED =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: \xe9\r\n\r\n' +
  '5\r\nhello\r\n00A;name=value\r\n, world\r\n.\r\n0\r\nTrailer-A: 1\r\ntrailer-a: 2\r\n\r\n'

/** Without what depends on how the bytes were cut. */
const whole = (parsed: Parsed) => ({ ...parsed, problem: parsed.problem !== null })

describe('an answer is read', () => {
  test('with its length', () => {
    expect(parse([PLAIN])).toEqual({
      status: 200,
      reason: 'OK',
      rawHeaders: ['Content-Type', 'text/plain', 'Content-Length', '5'],
      headers: { 'content-type': 'text/plain', 'content-length': '5' },
      body: 'hello',
      trailers: null,
      isComplete: true,
      problem: null,
      hasSurplus: false,
      keepsConnection: true,
    })
  })

  test('in chunks, with extensions and trailers', () => {
    expect(parse([CHUNKED])).toMatchObject({
      headers: { x: '\xe9' },
      body: 'hello, world\r\n.',
      trailers: { 'trailer-a': ['1', '2'] },
      isComplete: true,
      keepsConnection: true,
    })
  })

  test('until the server closes', () => {
    const text = 'HTTP/1.1 200 OK\r\n\r\nall of it'
    expect(parse([text])).toMatchObject({ body: 'all of it', isComplete: false, problem: null })
    expect(parse([text, null])).toMatchObject({
      body: 'all of it',
      isComplete: true,
      keepsConnection: false,
    })
  })

  test.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', true],
    ['HEAD in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', true],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', false],
    ['304', 'HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n', false],
    ['a length of 0', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', false],
  ])('without a body: %s', (_what, text, isHead) => {
    expect(parse([text], isHead)).toMatchObject({ body: '', isComplete: true, keepsConnection: true })
  })

  test('behind those of 1xx, which are passed over', () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'
    expect(parse([interim + PLAIN])).toEqual(parse([PLAIN]))
  })

  test.each([
    ['', ''],
    [' ', ''],
    [' caf\xe9 \x01', 'caf\xe9 \x01'],
  ])('with a reason as odd as %j', (written, reason) => {
    expect(parse([`HTTP/1.0 299${written}\r\n\r\n`])).toMatchObject({ status: 299, reason })
  })

  test('with headers in the order and the letters in which they came, blanks around values left out', () => {
    const text =
      'HTTP/1.1 204 -\r\nB: 1\r\nA:\t 2 3 \t\r\nb:4\r\nEmpty:\r\n__proto__: x\r\nconstructor: y\r\n\r\n'
    const { rawHeaders, headers } = parse([text])
    expect(rawHeaders).toEqual([
      ...['B', '1', 'A', '2 3', 'b', '4', 'Empty', '', '__proto__', 'x', 'constructor', 'y'],
    ])
    expect(Object.entries(headers)).toEqual([
      ['b', ['1', '4']],
      ['a', '2 3'],
      ['empty', ''],
      ['constructor', 'y'],
    ])
  })

  test.each([
    PLAIN,
    CHUNKED,
    'HTTP/1.1 200 OK\r\nA: b\r\n\r\nuntil closed',
  ])('whatever its cut: %j', (text) => {
    const expected = parse([text, null])
    for (let cut = 0; cut <= text.length; cut++) {
      expect(parse([text.slice(0, cut), text.slice(cut), null])).toEqual(expected)
    }
    expect(parse([...text, null])).toEqual(expected)
  })

  test('one after another on the same connection', () => {
    const parser = new ResponseParser()
    for (const [text, body] of [
      [PLAIN, 'hello'],
      [CHUNKED, 'hello, world\r\n.'],
      [PLAIN, 'hello'],
    ] as const) {
      parser.begin(false)
      parser.read(Buffer.from(text, 'latin1'))
      expect([parser.takeBody()?.toString(), parser.keepsConnection]).toEqual([body, true])
    }
  })

  test('with the chunks of one read in one piece, and no copy of a body', () => {
    const parser = new ResponseParser()
    parser.begin(false)
    const bytes = Buffer.from(CHUNKED, 'latin1')
    parser.read(bytes)
    expect(parser.takeBody()?.buffer).toBe(bytes.buffer)
    expect(parser.takeBody()).toBeNull()
  })
})

describe('a connection is not used again', () => {
  test.each([
    ['the server says so', PLAIN.replace('Content-T', 'Connection: Close\r\nContent-T')],
    ['the server says so among others', PLAIN.replace('Content-T', 'connection: x, close\r\nContent-T')],
    ['HTTP/1.0 does not keep it', PLAIN.replace('HTTP/1.1', 'HTTP/1.0')],
    ['more came than was announced', `${PLAIN}x`],
    ['more came behind the last chunk', `${CHUNKED}x`],
    ['a body was announced where none may be', 'HTTP/1.1 204 -\r\nContent-Length: 5\r\n\r\n'],
    [
      'HTTP/1.0 has no chunks',
      CHUNKED.replace('HTTP/1.1 200 OK', 'HTTP/1.0 200 OK\r\nConnection: keep-alive'),
    ],
  ])('when %s; the answer is good', (_why, text) => {
    expect(parse([text])).toMatchObject({ isComplete: true, keepsConnection: false, problem: null })
  })

  test('HTTP/1.0 that says that it keeps it keeps it', () => {
    const text = PLAIN.replace('HTTP/1.1 200 OK', 'HTTP/1.0 200 OK\r\nConnection: keep-alive')
    expect(parse([text])).toMatchObject({ keepsConnection: true })
  })
})

const head = (...lines: readonly string[]) => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`

test.each([
  ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['an empty line first', `\r\n${PLAIN}`],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ['lines that end in LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['a bare LF in a header', head('A: b\nContent-Length: 0')],
  ['a bare CR in a header', head('A: b\rc')],
  ['NUL in a header', head('A: b\0c')],
  ['another control character in a header', head('A: b\x7f')],
  ['a folded header', head('A: b', ' c')],
  ['a header that begins with a blank', head(' A: b')],
  ['a header without a colon', head('Content-Length 5')],
  ['a header without a name', head(': 5')],
  ['a blank before the colon', head('Content-Length : 5')],
  ['a name with a control character', head('Content\x01Length: 5')],
  ['two lengths', head('Content-Length: 5', 'Content-Length: 6')],
  ['the same length twice', head('Content-Length: 5', 'Content-Length: 5')],
  ['lengths in one line', head('Content-Length: 5, 5')],
  ['a negative length', head('Content-Length: -1')],
  ['a length with a sign', head('Content-Length: +1')],
  ['a hexadecimal length', head('Content-Length: 0x5')],
  ['an empty length', head('Content-Length:')],
  ['a length past every number', head(`Content-Length: ${'9'.repeat(16)}`)],
  ['a length beside chunks', head('Content-Length: 5', 'Transfer-Encoding: chunked')],
  ['chunks beside a length', head('Transfer-Encoding: chunked', 'Content-Length: 5')],
  ['another transfer coding', head('Transfer-Encoding: gzip')],
  ['a transfer coding behind the chunks', head('Transfer-Encoding: chunked, gzip')],
  ['a transfer coding within the chunks', head('Transfer-Encoding: gzip, chunked')],
  ['chunks twice', head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
  ['an odd spelling of chunks', head('Transfer-Encoding: "chunked"')],
  ['headers over 64 KiB', head(`A: ${'x'.repeat(66_000)}`)],
  ['headers without end', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(66_000)}`],
])('refused: %s', (_what, text) => {
  expect(parse([text])).toMatchObject({ status: null, problem: expect.any(String), isComplete: false })
  expect(parse([...text.slice(0, 80), text.slice(80)])).toMatchObject({
    status: null,
    problem: expect.any(String),
  })
})

const inChunks = (rest: string) => `${head('Transfer-Encoding: chunked')}3\r\nabc\r\n${rest}`

test.each([
  ['no size', inChunks('\r\nabc\r\n')],
  ['a size that is no number', inChunks('g\r\nabc\r\n')],
  ['a negative size', inChunks('-3\r\nabc\r\n')],
  ['a size with a prefix', inChunks('0x3\r\nabc\r\n')],
  ['a blank before the size', inChunks(' 3\r\nabc\r\n')],
  ['a blank behind the size', inChunks('3 \r\nabc\r\n')],
  ['a size past every number', inChunks('10000000000000\r\nabc\r\n')],
  ['a size without end', inChunks('0'.repeat(17_000))],
  ['a size that ends in LF', inChunks('3\nabc\r\n')],
  ['a size that ends in CR', inChunks('3\rabc\r\n')],
  ['a control character in an extension', inChunks('3;a\nb\r\nabc\r\n')],
  ['an extension over 16 KiB', inChunks(`3;${'x'.repeat(17_000)}`)],
  ['more bytes than its size', inChunks('3\r\nabcd\r\n')],
  ['an end in LF', inChunks('3\r\nabc\n')],
  ['an end in CR', inChunks('3\r\nabc\rx')],
  ['a trailer that frames', inChunks('0\r\nContent-Length: 3\r\n\r\n')],
  ['a trailer with a bare LF', inChunks('0\r\nA: b\nc\r\n\r\n')],
  ['a trailer that is none', inChunks('0\r\nnone\r\n\r\n')],
  ['trailers over 64 KiB', inChunks(`0\r\nA: ${'x'.repeat(66_000)}`)],
])('a chunk with %s is refused behind what was good', (_what, text) => {
  const parsed = parse([text])
  expect(parsed).toMatchObject({ status: 200, problem: expect.any(String), isComplete: false })
  expect(parsed.body.startsWith('abc')).toBe(true)
  const pieces = [...text.slice(0, 200), ...(text.slice(200).match(/.{1,97}/gs) ?? [])]
  expect(whole(parse(pieces))).toEqual(whole(parsed))
})

test.each([
  PLAIN.slice(0, -1),
  CHUNKED.slice(0, -2),
  'HTTP/1.1 200 OK\r\nContent-Le',
  '',
])('an answer that breaks off is not whole: %j', (text) => {
  expect(parse([text, null])).toMatchObject({ isComplete: false, problem: expect.any(String) })
})
