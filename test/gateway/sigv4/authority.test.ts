import { expect, test } from 'vitest'
import { readClaims, readSignature } from '../../../src/gateway/sigv4/read-signature.ts'

const sign = (names: string) =>
  readSignature(
    `AWS4-HMAC-SHA256 Credential=key_1/20260228/us-east-1/bedrock/aws4_request, SignedHeaders=${names}, Signature=${'0'.repeat(64)}`,
  )

test('a host that was signed as :authority is the host, once', () => {
  const signature = sign(':authority;x-amz-date')
  if (signature === null) throw new Error('unread')
  const claims = (...hosts: string[]) =>
    readClaims(
      {
        method: 'GET',
        target: '/',
        rawHeaders: [...hosts.flatMap((host) => ['Host', host]), 'X-Amz-Date', '20260228T235959Z'],
      },
      signature,
    )
  expect(claims('a.test')).toMatchObject({
    headers: [
      [':authority', 'a.test'],
      ['x-amz-date', '20260228T235959Z'],
    ],
  })
  expect(claims('a.test', 'b.test')).toBe('The header :authority was sent twice.')
  expect(claims()).toBe('The signed header :authority did not arrive.')
})

test.each([
  ':authority;host;x-amz-date',
  'x-amz-date',
  ':path;host;x-amz-date',
])('%s: unreadable, or no header', (names) => {
  const signature = sign(names)
  expect(
    signature === null ||
      readClaims(
        { method: 'GET', target: '/', rawHeaders: ['host', 'a', 'x-amz-date', '20260228T235959Z'] },
        signature,
      ),
  ).not.toBeInstanceOf(Object)
})
