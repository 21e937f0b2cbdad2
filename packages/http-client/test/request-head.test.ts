import { expect, test } from 'vitest'
import { buildRequestHead, findHeaderName } from '../src/request-head.ts'

const HOST = ['host', 'upstream']

test('a head is written as one text: host and connection first, the rest in its order and letters', () => {
  const headers = ['X-B', '1', 'x-a', 'caf\xe9 \t', 'HOST', 'h:1', 'Content-Length', '7', 'X-B', '']
  expect(buildRequestHead('POST', '/v1/x?a=%0d%0a', headers)).toEqual({
    text: 'POST /v1/x?a=%0d%0a HTTP/1.1\r\nhost: h:1\r\nconnection: keep-alive\r\nX-B: 1\r\nx-a: caf\xe9 \t\r\nX-B: \r\n',
    announcedLength: 7,
    takesBody: true,
  })
})

const INJECTIONS = ['\r\nX: y', '\nX: y', '\r', '\0', '\u010aX', '\u010d', '\x7f', '\ud800']

type Refused = readonly [what: string, method: string, path: string, headers: readonly string[]]

const REFUSED: readonly Refused[] = [
  ...INJECTIONS.map((text): Refused => ['a value', 'GET', '/', [...HOST, 'a', `b${text}`]]),
  ...INJECTIONS.map((text): Refused => ['a name', 'GET', '/', [...HOST, `a${text}`, 'b']]),
  ...INJECTIONS.map((text): Refused => ['the host', 'GET', '/', ['host', `h${text}`]]),
  ...INJECTIONS.map((text): Refused => ['the method', `GET${text}`, '/', HOST]),
  ...INJECTIONS.filter((text) => text !== '\x7f').map(
    (text): Refused => ['the path', 'GET', `/${text}`, HOST] as const,
  ),
  ['a method with a blank', 'GET /x', '/', HOST],
  ['no method', '', '/', HOST],
  ['a tunnel', 'CONNECT', '/', HOST],
  ['a path with a blank', 'GET', '/ HTTP/1.1', HOST],
  ['a path that does not begin so', 'GET', 'x', HOST],
  ['no path', 'GET', '', HOST],
  ['a name with a colon', 'GET', '/', [...HOST, 'a: b', 'c']],
  ['no name', 'GET', '/', [...HOST, '', 'c']],
  ['a name without a value', 'GET', '/', [...HOST, 'a']],
  ['no host', 'GET', '/', []],
  ['two hosts', 'GET', '/', [...HOST, 'Host', 'other']],
  ['two lengths', 'POST', '/', [...HOST, 'content-length', '1', 'Content-Length', '1']],
  ['a length that is none', 'POST', '/', [...HOST, 'content-length', '1, 2']],
  ['a length past every number', 'POST', '/', [...HOST, 'content-length', '9'.repeat(16)]],
  ['a transfer coding', 'POST', '/', [...HOST, 'Transfer-Encoding', 'chunked']],
  ['a connection', 'POST', '/', [...HOST, 'connection', 'content-length']],
  ['an upgrade', 'GET', '/', [...HOST, 'upgrade', 'h2c']],
  ['an expectation', 'POST', '/', [...HOST, 'Expect', '100-continue']],
]

test.each(REFUSED)('nothing is written of a request with %s: %j %j %j', (_what, method, path, headers) => {
  expect(() => buildRequestHead(method, path, headers)).toThrow(
    expect.objectContaining({ code: 'invalid_request' }),
  )
})

test('names that are read again and again are remembered, however many others come between', () => {
  const known = findHeaderName('X-Request-ID')
  expect(known).toEqual({ text: 'X-Request-ID', lower: 'x-request-id', role: 'none' })
  expect(findHeaderName('X-Request-ID')).toBe(known)
  for (let i = 0; i < 5_000; i++) expect(findHeaderName(`X-${i}`)?.lower).toBe(`x-${i}`)
  expect(findHeaderName('X-Request-ID')).toEqual(known)
  const long = `X-${'y'.repeat(200)}`
  expect(findHeaderName(long)).toEqual({ text: long, lower: long.toLowerCase(), role: 'none' })
})
