import { beforeEach, expect, test } from 'vitest'
import { createKey } from '../../../src/domain/api-key.ts'
import { setClientDisabled } from '../../../src/keys/clients.ts'
import { createClientKey, revokeKey } from '../../../src/keys/keys.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { exchange, requestText } from '../raw-http.ts'

const { upstream, stack } = await startOwnStack({ env: { UPSTREAM_API_KEY: 'sk-upstream' } })
const client = await stack.addClient('keyholder')

beforeEach(() => {
  upstream.requests.length = 0
})

const NO_KEY = {
  error: {
    message: expect.stringContaining('Authorization: Bearer'),
    type: 'authentication_error',
    param: null,
    code: 'invalid_api_key',
  },
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

async function status(headers: Record<string, string>, path = '/v1/anything'): Promise<[number, string]> {
  const answer = await fetch(stack.url + path, { headers })
  const body = await answer.text()
  return [answer.status, answer.status === 200 ? '' : JSON.parse(body).error.code]
}

test('a call without a key is refused with 401 and goes nowhere, in the shape of its path', async () => {
  const plain = await fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  expect([plain.status, await plain.json()]).toEqual([401, NO_KEY])
  expect(plain.headers.get('content-type')).toBe('application/json; charset=utf-8')

  const anthropic = await fetch(`${stack.url}/v1/messages`, { method: 'POST', body: '{}' })
  expect([anthropic.status, await anthropic.json()]).toEqual([
    401,
    { type: 'error', error: { type: 'authentication_error', message: NO_KEY.error.message } },
  ])
  expect(upstream.requests).toEqual([])
})

test('malformed and unknown keys are refused alike, wherever they are sent', async () => {
  const mistyped = `${client.key.slice(0, -1)}${client.key.endsWith('a') ? 'b' : 'a'}`
  for (const key of ['', 'x', 'sk-something', 'tg_', 'tg_short', mistyped, createKey(), `${client.key}x`]) {
    expect(await status(bearer(key))).toEqual([401, 'invalid_api_key'])
    expect(await status({ 'x-api-key': key })).toEqual([401, 'invalid_api_key'])
  }
  expect(await status({}, `/v1/anything?key=${createKey()}`)).toEqual([401, 'invalid_api_key'])
  expect(await status({ authorization: `Basic ${btoa(`user:${client.key}`)}` })).toEqual([
    401,
    'invalid_api_key',
  ])
  expect(upstream.requests).toEqual([])
})

test('a key is taken from every place where an SDK puts it, and never reaches the upstream', async () => {
  const { key } = client
  const ways: [Record<string, string>, string][] = [
    [bearer(key), '/v1/x?a=1'],
    [{ authorization: `bearer ${key}` }, '/v1/x?a=1'],
    [{ 'x-api-key': key }, '/v1/x?a=1'],
    [{ 'api-key': key }, '/v1/x?a=1'],
    [{ 'x-goog-api-key': key }, '/v1/x?a=1'],
    [{}, `/v1/x?key=${key}&a=1`],
    [{}, `/v1/x?a=1&api-key=${key}`],
    [{ authorization: 'Bearer placeholder', 'x-api-key': key }, '/v1/x?a=1'],
    [{ authorization: 'Bearer placeholder' }, `/v1/x?a=1&key=${key}`],
    [{ ...bearer(key), 'x-api-key': key, 'api-key': key, 'x-goog-api-key': key }, `/v1/x?a=1&key=${key}`],
  ]
  for (const [headers, path] of ways) {
    expect(await status(headers, path)).toEqual([200, ''])
  }
  expect(upstream.requests.map(({ url }) => url)).toEqual(ways.map(() => '/v1/x?a=1'))
  for (const { rawHeaders, headers } of upstream.requests) {
    expect(headers.authorization).toBe('Bearer sk-upstream')
    expect(rawHeaders.join('\n')).not.toMatch(/tg_|placeholder|api-key/)
  }
})

test('two Authorization lines are refused, even when both are right', async () => {
  const line = `Authorization: Bearer ${client.key}`
  const { status, body } = await exchange(stack.url, requestText('/v1/x', [line, line]))
  expect(status).toBe(400)
  expect(JSON.parse(body.toString())).toMatchObject({
    error: { type: 'invalid_request_error', message: 'More than one Authorization header was sent.' },
  })
  expect(upstream.requests).toEqual([])
})

test('a page navigation with a key in its address is refused', async () => {
  // fetch may not set this header itself.
  const target = `/v1/x?key=${client.key}`
  const { status } = await exchange(stack.url, requestText(target, ['Sec-Fetch-Mode: navigate']))
  expect(status).toBe(401)
  expect(upstream.requests).toEqual([])
})

test('a revoked key, an expired key and a disabled client are refused with 403 within a second', async () => {
  const order = { client: client.name, name: 'short', models: null, expiresInSeconds: null }
  const pepper = stack.env.KEY_PEPPER ?? ''
  const revoked = await createClientKey(stack.pool, order, pepper)
  const expiring = await createClientKey(stack.pool, { ...order, expiresInSeconds: 1 }, pepper)
  const other = await stack.addClient('disabled')
  if (revoked === null || expiring === null) throw new Error('no keys')
  for (const { key } of [revoked, other]) expect(await status(bearer(key))).toEqual([200, ''])

  await revokeKey(stack.pool, revoked.id)
  await setClientDisabled(stack.pool, other.name, true)
  const within = { interval: 20 }
  await expect.poll(() => status(bearer(revoked.key)), within).toEqual([403, 'key_inactive'])
  await expect.poll(() => status(bearer(other.key)), within).toEqual([403, 'client_disabled'])
  await expect.poll(() => status(bearer(expiring.key)), within).toEqual([403, 'key_inactive'])
  const { port } = stack.gateway.adminAddress
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  for (const reason of ['key_revoked', 'key_expired', 'client_disabled'])
    expect(page).toMatch(new RegExp(`tallygate_refused_requests_total\\{reason="${reason}"\\} [1-9]`))
  // Nor may they read what was used.
  expect(await status(bearer(other.key), '/v1/usage')).toEqual([403, 'client_disabled'])

  await setClientDisabled(stack.pool, other.name, false)
  await expect.poll(() => status(bearer(other.key)), within).toEqual([200, ''])
})

test('refused calls are counted nowhere', async () => {
  const quiet = await stack.addClient('quiet')
  expect(await status(bearer(quiet.key))).toEqual([200, ''])
  expect(await status({ ...bearer('tg_nonsense') })).toEqual([401, 'invalid_api_key'])
  await stack.usageOf(quiet, 1)
  const { rows } = await stack.pool.query(
    "select * from tallygate.calls where client_id is null or key_id = ''",
  )
  expect(rows).toEqual([])
})
