import { expect, test } from 'vitest'
import { staysUnderBase } from '../../src/call/request-target.ts'

test.each([
  '/',
  '/v1/x',
  '/v1/x?y=../z&u=http://elsewhere.test//',
  '/v1/...',
  '/v1/..x/y..',
  '/v1/%2e%2ex',
  '/v1//x',
  '/v1/%252e%252e/x',
])('%s stays under the address it is appended to', (target) => {
  expect(staysUnderBase(target)).toBe(true)
})

test.each([
  '',
  '*',
  'v1/x',
  'http://elsewhere.test/',
  '//elsewhere.test/',
  '/..',
  '/../x',
  '/v1/../x',
  '/v1/..?x',
  '/v1/%2e%2e/x',
  '/v1/%2E./x',
  '/v1/..%2fx',
  '/v1\\..\\x',
  '/v1/%5c..%5cx',
  '/v1/100%',
])('%s does not', (target) => {
  expect(staysUnderBase(target)).toBe(false)
})
