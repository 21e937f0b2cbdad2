import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type HeadFields, writeHeadFields } from '#http-client/request-head.ts'
import {
  forwardableRequestHeaders,
  type HeaderOptions,
} from '../../../../src/gateway/proxy/headers/headers.ts'
import { repeatedHeadFields } from '../../../../src/gateway/proxy/headers/repeated-head.ts'
import { randomFrom } from '../../../ledger/support/random.ts'

const CREDENTIAL = ['authorization', 'Bearer ours'] as const
const OPTIONS: HeaderOptions = {
  host: 'api.example',
  credential: CREDENTIAL,
  askIdentity: true,
  isPlain: false,
}
const HEADERS = [
  ...['Host', 'gateway', 'Authorization', 'Bearer tg_1', 'Content-Type', 'application/json'],
  ...['Content-Length', '120', 'Connection', 'keep-alive', 'User-Agent', 'SDK/1.2'],
]

function judgedAlone(rawHeaders: readonly string[], options: HeaderOptions): HeadFields {
  return writeHeadFields(forwardableRequestHeaders(rawHeaders, { ...options, contentLength: 1 }))
}

test('the headers of the call before are not judged again, whatever their length and key are', () => {
  const connection = new Socket()
  const first = repeatedHeadFields(connection, HEADERS, OPTIONS)
  repeatedHeadFields(connection, HEADERS, OPTIONS)
  const kept = repeatedHeadFields(connection, HEADERS, OPTIONS)
  expect(kept).toEqual(first)
  const others = HEADERS.map((text) => text.replace('120', '7').replace('tg_1', 'tg_2'))
  expect(repeatedHeadFields(connection, others, OPTIONS)).toBe(kept)
  expect(kept).toEqual(judgedAlone(HEADERS, OPTIONS))
  expect(kept.others).not.toContain('tg_')
  expect(kept.others.toLowerCase()).not.toContain('content-length')
})

const CHANGED: readonly (readonly [what: string, rawHeaders: readonly string[], options: HeaderOptions])[] = [
  ['a value', HEADERS.map((text) => text.replace('1.2', '1.3')), OPTIONS],
  ['the letters of a name', HEADERS.map((text) => text.replace('User-Agent', 'user-agent')), OPTIONS],
  ['one more header', [...HEADERS, 'X-A', '1'], OPTIONS],
  ['one header less', HEADERS.slice(0, -2), OPTIONS],
  [
    'a header that Connection names',
    HEADERS.map((text) => text.replace('keep-alive', 'user-agent')),
    OPTIONS,
  ],
  ['the host', HEADERS, { ...OPTIONS, host: 'other.example' }],
  ['our credential', HEADERS, { ...OPTIONS, credential: ['authorization', 'Bearer new'] }],
  ['no credential', HEADERS, { ...OPTIONS, credential: null }],
  ['the coding asked for', HEADERS, { ...OPTIONS, askIdentity: false }],
  ['an edited body', HEADERS, { ...OPTIONS, isPlain: true }],
]

test.each(CHANGED)('a call that differs in %s gets headers of its own', (_what, rawHeaders, options) => {
  const connection = new Socket()
  const kept = repeatedHeadFields(connection, HEADERS, OPTIONS)
  expect(repeatedHeadFields(connection, rawHeaders, options)).toEqual(judgedAlone(rawHeaders, options))
  expect(repeatedHeadFields(connection, HEADERS, OPTIONS)).toEqual(kept)
})

test('on a connection of several clients each has idempotency keys of its own', () => {
  const connection = new Socket()
  const rawHeaders = [...HEADERS, 'Idempotency-Key', 'order-1']
  for (const idempotencyOf of ['acme', 'acme', 'acme', 'other', 'acme']) {
    const options = { ...OPTIONS, idempotencyOf }
    expect(repeatedHeadFields(connection, rawHeaders, options)).toEqual(judgedAlone(rawHeaders, options))
  }
})

test('TE and Connection are judged by what they say in each call', () => {
  const connection = new Socket()
  for (const te of ['trailers', 'gzip', 'gzip, trailers', 'deflate', 'trailers']) {
    for (const named of ['keep-alive', 'x-a', 'close', 'x-b, te', 'x-a']) {
      const rawHeaders = ['Host', 'h', 'TE', te, 'Connection', named, 'X-A', '1', 'X-B', '2']
      expect(repeatedHeadFields(connection, rawHeaders, OPTIONS)).toEqual(judgedAlone(rawHeaders, OPTIONS))
    }
  }
})

test('whatever calls follow each other on a connection, each gets what it would get alone', () => {
  const random = randomFrom(7)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const names = [
    'Accept',
    'accept',
    'TE',
    'Connection',
    'Content-Type',
    'X-Api-Key',
    'Cookie',
    'X-A',
    'Range',
  ]
  const values = ['a', 'b', 'trailers', 'x-a', 'keep-alive', 'accept, x-a', 'application/json']
  const connection = new Socket()
  let repeated = 0
  let rawHeaders: readonly string[] = HEADERS
  let options = OPTIONS
  for (let call = 0; call < 20_000; call += 1) {
    if (random() < 0.5) {
      const count = Math.floor(random() * 3)
      rawHeaders = Array.from({ length: count }, () => [pick(names), pick(values)]).flat()
    }
    if (random() < 0.2) options = { ...OPTIONS, askIdentity: random() < 0.5, isPlain: random() < 0.5 }
    const fields = repeatedHeadFields(connection, [...rawHeaders], { ...options })
    expect(fields).toEqual(judgedAlone(rawHeaders, options))
    if (fields === repeatedHeadFields(connection, rawHeaders, options)) repeated += 1
  }
  expect(repeated).toBeGreaterThan(1_000)
})

test('headers that are refused are refused each time', () => {
  const connection = new Socket()
  const refused = [...HEADERS, 'X-A', 'b\r\nX-B: c']
  repeatedHeadFields(connection, HEADERS, OPTIONS)
  for (let call = 0; call < 3; call += 1)
    expect(() => repeatedHeadFields(connection, refused, OPTIONS)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    )
})

test('what is long, or another in each call, is not kept', () => {
  const connection = new Socket()
  const long = [...HEADERS, 'X-Long', 'x'.repeat(10_000)]
  const fields = repeatedHeadFields(connection, long, OPTIONS)
  const again = repeatedHeadFields(connection, long, OPTIONS)
  expect(again).toEqual(fields)
  expect(again).not.toBe(fields)
  const changing = new Socket()
  for (let call = 0; call < 20; call += 1)
    repeatedHeadFields(changing, [...HEADERS, 'X-Request-Id', `${call}`], OPTIONS)
  const last = repeatedHeadFields(changing, HEADERS, OPTIONS)
  expect(repeatedHeadFields(changing, HEADERS, OPTIONS)).not.toBe(last)
})

test('no key is kept, wherever a client puts it', () => {
  const subprotocol = ['Sec-WebSocket-Protocol', 'realtime, openai-insecure-api-key.tg_1']
  const connection = new Socket()
  const first = repeatedHeadFields(connection, [...HEADERS, ...subprotocol], OPTIONS)
  const second = repeatedHeadFields(connection, [...HEADERS, ...subprotocol], OPTIONS)
  expect(second).toEqual(first)
  expect(second).not.toBe(first)
  const named = HEADERS.map((text) => text.replace('keep-alive', 'x-key'))
  repeatedHeadFields(connection, [...named, 'X-Key', 'tg_1'], OPTIONS)
  const kept = repeatedHeadFields(connection, [...named, 'X-Key', 'tg_1'], OPTIONS)
  // Were the value kept, it would be compared.
  expect(repeatedHeadFields(connection, [...named, 'X-Key', 'tg_2'], OPTIONS)).toBe(kept)
})

test('a head of very many headers is not kept, however short they are', () => {
  const connection = new Socket()
  const many = [...HEADERS, ...Array.from({ length: 4_000 }, () => ['te', '']).flat()]
  const fields = repeatedHeadFields(connection, many, OPTIONS)
  expect(repeatedHeadFields(connection, many, OPTIONS)).not.toBe(fields)
})
