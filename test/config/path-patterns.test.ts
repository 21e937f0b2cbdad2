import { expect, test } from 'vitest'
import { compilePathPatterns, PathPatternError } from '../../src/domain/path-patterns.ts'
import { busyness } from '../support/patience.ts'

test('a star is anything but a slash, two stars are anything, letter case does not count', () => {
  const match = compilePathPatterns(['POST /v1/files/*', '* **/keys/**', 'get /V1/Models'])
  expect(match('POST', '/v1/FILES/a')).toBe('POST /v1/files/*')
  expect(match('POST', '/v1/files/a/b')).toBeNull()
  expect(match('GET', '/v1/files/a')).toBeNull()
  expect(match('DELETE', '/api/keys/a/b')).toBe('* **/keys/**')
  expect(match('GET', '/v1/models')).toBe('get /V1/Models')
  expect(match('GET', '/v1/models/x')).toBeNull()
})

test('after a star fails, an earlier double star takes more', () => {
  const match = compilePathPatterns(['POST **/a/*/c', 'POST /x**y*z'])
  expect(match('POST', '/a/b/a/b/c')).toBe('POST **/a/*/c')
  expect(match('POST', '/x/y/yz')).toBe('POST /x**y*z')
})

test('characters that mean something in a regular expression are only themselves', () => {
  expect(compilePathPatterns(['POST /a.b+(c)'])('POST', '/axb+(c)')).toBeNull()
  expect(compilePathPatterns(['POST /a.b+(c)'])('POST', '/a.b+(c)')).toBe('POST /a.b+(c)')
})

test('hostile patterns and paths take time in proportion, not without end', () => {
  const match = compilePathPatterns([`POST /${'a*'.repeat(200)}b`, `POST ${'**a'.repeat(200)}b`])
  const before = process.cpuUsage().user
  expect(match('POST', `/${'a'.repeat(16_000)}b/c`)).toBeNull()
  expect(process.cpuUsage().user - before).toBeLessThan(2_000_000 * busyness())
})

test('no method, or a star, is any; several stand with commas; what is refused to GET is to HEAD', () => {
  const match = compilePathPatterns(['/v1/any', '* /v1/star', 'GET,DELETE /v1/some', '**/end'])
  for (const method of ['GET', 'POST', 'PATCH']) {
    expect(match(method, '/v1/any')).toBe('/v1/any')
    expect(match(method, '/v1/star')).toBe('* /v1/star')
    expect(match(method, '/x/end')).toBe('**/end')
  }
  expect(match('HEAD', '/v1/some')).toBe('GET,DELETE /v1/some')
  expect(match('DELETE', '/v1/some')).toBe('GET,DELETE /v1/some')
  expect(match('POST', '/v1/some')).toBeNull()
})

test('an invalid path pattern is refused', () => {
  for (const text of ['', 'v1/files', 'POST v1/files', 'POST', 'POST, GET /v1/files', 'POST /v1 /files']) {
    expect(() => compilePathPatterns([text]), text).toThrow(PathPatternError)
  }
})
