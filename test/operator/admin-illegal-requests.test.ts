import { afterAll, beforeAll, expect, test } from 'vitest'
import { exchange, requestText } from '../gateway/raw-http.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

let operator: Operator
let url: string

beforeAll(async () => {
  operator = await startOperator()
  url = await operator.app.listen({ host: '127.0.0.1', port: 0 })
})

afterAll(() => operator.close())

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`

test.each([
  ['spaces in its target', requestText("/admin/v1/usage?client=' or 1=1--&days=30", [AUTHORIZATION]), 400],
  ['a broken escape in its target', requestText('/admin/v1/keys/%zz/revoke', [AUTHORIZATION], 'POST'), 400],
  ['a control character in its target', requestText('/metrics\x01', []), 400],
  ['a header without a name', requestText('/metrics', [': value']), 400],
  ['two lengths', requestText('/metrics', ['Content-Length: 1', 'Content-Length: 2'], 'POST', 'x'), 400],
  ['no Host header', 'GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['headers over the limit', requestText('/metrics', [`X-Long: ${'x'.repeat(100_000)}`]), 431],
  ['bytes that are not HTTP', 'hello\r\n\r\n', 400],
])('a request with %s is refused in the shape of all errors', async (_what, request, wanted) => {
  const { status, body, lines } = await exchange(url, request)
  expect([status, JSON.parse(body.toString())]).toEqual([
    wanted,
    {
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        param: null,
        code: wanted === 431 ? 'headers_too_large' : null,
      },
    },
  ])
  expect(lines).toContainEqual(expect.stringMatching(/^content-type: application\/json; charset=utf-8$/i))
})

test.each([
  ['GET', '/admin/v1/limits?client=%00', undefined],
  ['GET', '/admin/v1/keys?cursor=%00', undefined],
  ['POST', '/admin/v1/keys/%00/rotate', {}],
  ['POST', '/admin/v1/alerts/%00/test', {}],
  ['POST', '/admin/v1/limits', { client: 'a\0', kind: 'requests', limit: 1 }],
] as const)('%s %s with a NUL character is a mistake of the request', async (method, path, payload) => {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const answer = await operator.app.inject({ method, url: path, headers, ...(payload && { payload }) })
  expect([answer.statusCode, answer.json().error.type]).toEqual([400, 'invalid_request_error'])
})

test('a body that is null is not one that is left out', async () => {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const { name } = (
    await operator.app.inject({
      method: 'POST',
      url: '/admin/v1/clients',
      headers,
      payload: '{"name":"one"}',
    })
  ).json()
  const ask = (payload: string | undefined) =>
    operator.app.inject({
      method: 'POST',
      url: `/admin/v1/clients/${name}/portal-tokens`,
      headers: payload === undefined ? { authorization: headers.authorization } : headers,
      ...(payload === undefined ? {} : { payload }),
    })
  const answers = [await ask(undefined), await ask('{}'), await ask('null')]
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 400])
  expect(answers[2]?.json().error.message).toBe('Send a JSON object.')
})
