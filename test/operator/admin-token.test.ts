import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

let operator: Operator
let withoutToken: Operator

beforeAll(async () => {
  operator = await startOperator()
  withoutToken = await startOperator({ adminToken: null })
})

afterAll(async () => {
  await operator.close()
  await withoutToken.close()
})

const REFUSAL = {
  error: {
    message: 'Send an operator\'s token, such as ADMIN_TOKEN, as "Authorization: Bearer <token>".',
    type: 'authentication_error',
    param: null,
    code: 'invalid_api_key',
  },
}

test.each([
  ['no token', {}],
  ['a wrong token', { authorization: 'Bearer wrong' }],
  ['the beginning of the token', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
  ['the token with more behind it', { authorization: `Bearer ${TOKEN}x` }],
  ['an empty token', { authorization: 'Bearer ' }],
  ['the token alone', { authorization: TOKEN }],
  ['the token as a password', { authorization: `Basic ${btoa(`admin:${TOKEN}`)}` }],
  ['the token in another header', { 'x-api-key': TOKEN }],
])('%s is refused on every operation and on unknown paths, before a body is read', async (_what, headers) => {
  for (const [method, url] of [
    ['GET', '/admin/v1/clients'],
    ['POST', '/admin/v1/keys'],
    ['GET', '/admin/v1/usage?days=wrong'],
    ['GET', '/admin/v1/unknown'],
  ] as const) {
    const payload =
      method === 'POST' ? { payload: '{"broken', headers: { 'content-type': 'application/json' } } : {}
    const answer = await operator.app.inject({
      method,
      url,
      ...payload,
      headers: { ...payload.headers, ...headers },
    })
    expect(answer.statusCode).toBe(401)
    expect(answer.json()).toEqual(REFUSAL)
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="tallygate"')
  }
})

test('a token in the query is not taken', async () => {
  const { statusCode } = await operator.app.inject(`/admin/v1/clients?token=${TOKEN}&key=${TOKEN}`)
  expect(statusCode).toBe(401)
})

test('the right token is taken, whatever the case of the scheme', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const { statusCode } = await operator.app.inject({
      url: '/admin/v1/clients',
      headers: { authorization: `${scheme} ${TOKEN}` },
    })
    expect(statusCode).toBe(200)
  }
})

test('tokens of any length are compared in constant time, as digests of one length', async () => {
  const compare = vi.spyOn(crypto, 'timingSafeEqual')
  syncBuiltinESMExports() // what others have imported by name is that, too
  try {
    for (const token of ['x', TOKEN.slice(0, -1), TOKEN, 'y'.repeat(4_000)]) {
      await operator.app.inject({ url: '/admin/v1/clients', headers: { authorization: `Bearer ${token}` } })
    }
    expect(compare).toHaveBeenCalledTimes(4)
    for (const digests of compare.mock.calls)
      expect(digests.map(({ byteLength }) => byteLength)).toEqual([32, 32])
  } finally {
    compare.mockRestore()
    syncBuiltinESMExports()
  }
})

test('the token is in no log', async () => {
  await operator.app.inject({ url: '/admin/v1/clients', headers: { authorization: 'Bearer near-the-token' } })
  await operator.ask('/admin/v1/clients')
  expect(operator.log()).not.toContain(TOKEN)
  expect(operator.log()).not.toContain('near-the-token')
})

test('with no token set there is no /admin/v1 and no dashboard: 404, whatever is sent', async () => {
  for (const url of ['/admin/v1/clients', '/admin/v1/unknown', '/dashboard', '/dashboard/operator.js']) {
    for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer null' }]) {
      const answer = await withoutToken.app.inject({ url, headers })
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toMatchObject({ error: { code: 'not_found' } })
    }
  }
})

test('health, metrics and the description need no token', async () => {
  for (const url of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
    expect((await operator.app.inject(url)).statusCode).toBe(200)
    expect((await withoutToken.app.inject(url)).statusCode).toBe(200)
  }
})

test('readiness is given by status and by name', async () => {
  const away = await startOperator({ readiness: () => ({ ready: false, degraded: ['keys', 'postgres'] }) })
  const { statusCode, body } = await away.app.inject('/readyz')
  await away.close()
  expect(statusCode).toBe(503)
  expect(JSON.parse(body)).toEqual({ status: 'unavailable', degraded: ['keys', 'postgres'] })
})

test('every answer says that it is not to be sniffed, framed, kept or referred to', async () => {
  for (const url of ['/admin/v1/clients', '/metrics', '/openapi.json', '/healthz', '/nothing', '/%zz']) {
    const { headers } = await operator.app.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } })
    expect(headers, url).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    })
  }
})
