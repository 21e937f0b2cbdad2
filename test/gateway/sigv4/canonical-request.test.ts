import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalRequest, EMPTY_HASH, signatureOf } from '../../../src/gateway/sigv4/canonical-request.ts'
import { signatureHeaders } from '../../../src/gateway/sigv4/sign-request.ts'
import { rounds } from '../../support/rounds.ts'
import { HOST, SIGNER, signedHeaders } from './signing-client.ts'

test("a signature is that of AWS's own example", () => {
  const request = {
    method: 'GET',
    target: '/?Action=ListUsers&Version=2010-05-08',
    headers: [
      ['content-type', 'application/x-www-form-urlencoded; charset=utf-8'],
      ['host', 'iam.amazonaws.com'],
      ['x-amz-date', '20150830T123600Z'],
    ] as const,
    payloadHash: EMPTY_HASH,
  }
  const scope = { date: '20150830', region: 'us-east-1', service: 'iam' }
  expect(signatureOf(request, '20150830T123600Z', scope, 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY')).toBe(
    '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  )
})

test.each([
  ['/model/a:0/converse', '/model/a%3A0/converse'],
  ['/model/a%3A0/converse', '/model/a%253A0/converse'],
  [
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ax%2Fy/invoke',
    '/model/arn%253Aaws%253Abedrock%253Aus-east-1%253A1%253Ax%252Fy/invoke',
  ],
  ['/a//b/./c/../d/', '/a/b/d/'],
  ['/', '/'],
  ["/~-._!'()*", '/~-._%21%27%28%29%2A'],
])('the path %s is signed as %s', (target, canonical) => {
  const text = canonicalRequest({ method: 'POST', target, headers: [], payloadHash: EMPTY_HASH })
  expect(text.split('\n')[1]).toBe(canonical)
})

const segment = fc
  .stringMatching(/^[A-Za-z0-9:._~!$()*+@=-]{1,12}$/)
  .filter((text) => !/^\.{1,2}$/.test(text))
const encodedSegment = fc.oneof(segment, segment.map(encodeURIComponent))
const parameter = fc.tuple(fc.stringMatching(/^[a-z]{1,6}$/), fc.string({ maxLength: 8 }))

test("requests are signed as AWS's signer for JavaScript signs them, and read as it signed them", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(encodedSegment, { minLength: 1, maxLength: 5 }),
      fc.array(parameter, { maxLength: 4 }),
      fc.string({ maxLength: 40 }),
      async (segments, parameters, body) => {
        const query = parameters
          .map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`)
          .join('&')
        const target = `/${segments.join('/')}${query === '' ? '' : `?${query}`}`
        const atMs = Date.UTC(2026, 1, 28, 23, 59, 59)
        const theirs = await signedHeaders({ target, body, atMs, sessionToken: 'token' })
        const ours = signatureHeaders(
          { method: 'POST', target, host: HOST, body: body === '' ? null : Buffer.from(body), headers: [] },
          { accessKeyId: SIGNER.keyId, secretAccessKey: SIGNER.secret, sessionToken: 'token' },
          { region: 'us-east-1', service: 'bedrock' },
          atMs,
        )
        const pairs = Object.fromEntries(
          Array.from({ length: ours.length / 2 }, (_, i) => [ours[2 * i], ours[2 * i + 1]]),
        )
        expect({ ...pairs, host: HOST }).toEqual(theirs)
      },
    ),
    { numRuns: rounds({ short: 60, long: 3_000 }), seed: 20_261_126 },
  )
})
