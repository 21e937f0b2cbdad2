import { describe, expect, test } from 'vitest'
import { takeQueryKey } from '../../../src/gateway/admission/stages/credential.ts'

describe('a key in the query', () => {
  const key = `tg_${'aB3'.repeat(12)}`

  test.each([
    [`/v1/models?key=${key}`, '/v1/models'],
    [`/v1/x?alt=sse&key=${key}`, '/v1/x?alt=sse'],
    [`/v1/x?key=${key}&alt=sse`, '/v1/x?alt=sse'],
    [`/v1/x?a=%20+1&key=${key}&b=a=b&&c`, '/v1/x?a=%20+1&b=a=b&&c'],
    [`/v1/x?api-key=${key}&key=${key}`, '/v1/x'],
    [`/v1/x?k%65y=tg%5f${key.slice(3)}&a`, '/v1/x?a'],
    [`/a?b?key=1&key=${key}`, '/a?b?key=1'],
  ])('the key is taken out of the query: %s', (url, rest) => {
    expect(takeQueryKey(url)).toEqual({ url: rest, key })
  })

  test.each([
    '/v1/x',
    '/v1/x?',
    '/v1/x?key=',
    '/v1/x?key',
    '/v1/x?key=AIzaSyB',
    `/v1/x?key=${key}x`,
    `/v1/x?mykey=${key}`,
    `/v1/x?q=key=${key}`,
    `/key=${key}`,
    '/v1/100%?%=%&key=%',
  ])('the query %s stays byte for byte', (url) => {
    expect(takeQueryKey(url)).toEqual({ url, key: null })
  })
})
