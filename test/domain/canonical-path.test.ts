import { expect, test } from 'vitest'
import { canonicalPath } from '../../src/domain/canonical-path.ts'

test.each([
  ['/', ''],
  ['/v1/chat/completions', '/v1/chat/completions'],
  ['/v1/chat/completions/', '/v1/chat/completions'],
  ['/v1/chat/completions//', '/v1/chat/completions'],
  ['/v1/chat//completions', '/v1/chat/completions'],
  ['/v1/./chat/completions', '/v1/chat/completions'],
  ['/v1/chat/completions/.', '/v1/chat/completions'],
  ['/v1/chat/completion%73', '/v1/chat/completions'],
  ['/v1/chat%2Fcompletions', '/v1/chat/completions'],
  ['/v1/chat%2fcompletions', '/v1/chat/completions'],
  ['/v1/chat/completions%2f', '/v1/chat/completions'],
  ['/%76%31/chat/completions', '/v1/chat/completions'],
  ['/v1/chat/completion%2573', '/v1/chat/completions'],
  ['/v1/chat/completion%252573', '/v1/chat/completions'],
  ['/v1/chat/%2e/completions', '/v1/chat/completions'],
  ['/v1/chat/completions;x=1', '/v1/chat/completions'],
  ['/v1/chat;a=b/completions%3bx', '/v1/chat/completions'],
  ['/v1/chat/completions%20', '/v1/chat/completions'],
  ['/v1/chat\\completions', '/v1/chat/completions'],
  ['/v1/chat%5ccompletions', '/v1/chat/completions'],
  ['/v1/chat/completion%C5%BF', '/v1/chat/completions'],
  ['/v1%EF%BC%8Fchat%EF%BC%8F%EF%BD%83ompletions', '/v1/chat/completions'],
  ['/V1/CHAT/Completions', '/V1/CHAT/Completions'],
  ['/v1/100%25', '/v1/100%'],
  ['/v1/100%25off', '/v1/100%off'],
  ['/v1/chat/completion%2573/100%25', '/v1/chat/completions/100%'],
  ['/v1/%E2%82%AC', '/v1/€'],
  ['/v1beta/models/gemini-2.5-pro%3AgenerateContent', '/v1beta/models/gemini-2.5-pro:generateContent'],
  [
    '/model/arn%3Aaws%3Abedrock%3A%3A1%3Ainference-profile%2Fus.x/converse',
    '/model/arn:aws:bedrock::1:inference-profile/us.x/converse',
  ],
  ['/v1/...', '/v1/...'],
  ['/v1/..x/y..', '/v1/..x/y..'],
])('%s is judged as %s', (path, canonical) => {
  expect(canonicalPath(path)).toBe(canonical)
})

test.each([
  '',
  '*',
  'v1/x',
  'http://elsewhere.test/',
  '//elsewhere.test/',
  '/\\elsewhere.test/',
  '/\\/elsewhere.test/',
  '/\\\\elsewhere.test/',
  '/..',
  '/v1/../x',
  '/v1/%2e%2e/x',
  '/v1/%2E./x',
  '/v1/%252e%252e/x',
  '/v1/%252e%252e/x/100%25',
  '/v1/..%2fx',
  '/v1/..;/x',
  '/v1beta/models/gemini-2.5-pro;x:generateContent',
  '/v1/chat/completions;x:generateContent',
  '/v1%EF%BC%8F..%EF%BC%8Fx',
  '/v1/%E2%80%A5/x',
  '/v1/..%20/x',
  '/v1\\..\\x',
  '/v1/%5c..%5cx',
  '/v1/100%',
  '/v1/%zz',
  '/v1/%c0%af',
  '/v1/chat/completions#',
  '/v1/chat/completions%00',
  '/v1/chat/completions%0a',
  '/v1/chat/completions%7f',
  '/v1/chat/completions%3f/tokenize',
  '/v1/chat/completions%23/tokenize',
  '/v1/chat/completions%253f/tokenize',
  '/v1/chat/completions%EF%BC%9F/tokenize',
  `/v1/${'%25'.repeat(1)}2525252525252565`,
])('%s goes to no upstream', (path) => {
  expect(canonicalPath(path)).toBe(null)
})

test('the canonical path takes time in proportion to the path, whatever it holds', () => {
  for (const unit of ['/', '/a', '/.', '%2f', '%25', ';', '/a;', '\\', '.']) {
    const path = `/${unit.repeat(20_000)}`
    const before = process.cpuUsage()
    canonicalPath(path)
    const { user, system } = process.cpuUsage(before)
    expect([unit, (user + system) / 1000]).toEqual([unit, expect.toSatisfy((ms) => ms < 250)])
  }
})

test('a path that no API has for its length is refused: reading it would hold up all other calls', () => {
  expect(canonicalPath('/model'.repeat(600))).not.toBeNull()
  expect(canonicalPath('/model'.repeat(700))).toBeNull()
})
