import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { setClientDisabled } from '../../../src/keys/clients.ts'
import { createClientKey, revokeKey } from '../../../src/keys/keys.ts'
import { createPortalToken } from '../../../src/keys/tokens/portal-tokens.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { addRefusedCalls } from '../../../src/limits/table/refused-calls.ts'
import { CLIENT_ROLES, isOfClients } from '../../../src/operations/operation.ts'
import { CLIENT_OPERATIONS, OPERATIONS } from '../../../src/operator/chapters.ts'
import { rounds } from '../../support/rounds.ts'
import { PEPPER, startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

const ADMIN_TOKEN = 'a token of the operator, long enough to be none'.replaceAll(' ', '-')

let upstream: TestUpstream
let stack: TestStack
let portal: string
let mine: TestClient
let other: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url, {
    env: { PORTAL_PORT: '0', ADMIN_TOKEN, PORTAL_EMBED_ORIGINS: 'https://app.example.com' },
  })
  portal = `http://127.0.0.1:${stack.gateway.portalAddress?.port}`
  mine = await stack.addClient('mine')
  other = await stack.addClient('other-people')
  for (const client of [mine, other]) {
    // A busy machine's gateway may not know the key in time, and refuses the call.
    for (const model of [`model-of-${client.name}`, 'gpt-4o-mini'])
      await vi.waitUntil(async () => {
        const { status } = await fetch(`${stack.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, messages: [] }),
        })
        return status === 200
      })
    const order = {
      kind: 'budget',
      per: 'month',
      isSoft: false,
      amount: client === mine ? 5n : 987_654_321_000n,
    } as const
    await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'a test')
    const day = utcDayOf(Date.now())
    await addRefusedCalls(stack.pool, [
      { day, clientId: client.id, reason: `of_${client.name}`, keyId: '', model: '', limitId: '', calls: 3 },
    ])
  }
  for (const client of [mine, other]) {
    await stack.usageOf(client, 2)
    // The gateway hears of its limit by then.
    const token = await signIn(client.key)
    await vi.waitUntil(async () => (await ask('/portal/v1/limits', token)).document.length === 1)
  }
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

async function ask(path: string, secret: string | null, options: RequestInit = {}) {
  const answer = await fetch(`${portal}${path}`, {
    ...options,
    redirect: 'manual',
    headers: secret === null ? {} : { authorization: `Bearer ${secret}` },
  })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    document: isJson(answer) ? JSON.parse(text) : null,
  }
}

function isJson({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true
}

async function signIn(key: string): Promise<string> {
  const { status, document } = await ask('/portal/v1/session', key, { method: 'POST' })
  if (status !== 201) throw new Error(`sign-in: ${status}`)
  return document.token
}

async function newKey(client: TestClient, expiresInSeconds: number | null = null) {
  const order = { client: client.name, name: 'another', models: null, expiresInSeconds }
  const made = await createClientKey(stack.pool, order, PEPPER)
  if (made === null) throw new Error('the client is there')
  return made
}

test('a key is exchanged for a token that shows what its client used, is left, may call, called and was refused', async () => {
  const token = await signIn(mine.key)
  expect(token).not.toContain(mine.key)
  const shown = async (path: string) => (await ask(`/portal/v1${path}`, token)).document
  expect(await shown('/account')).toMatchObject({ client: 'mine', key: { id: mine.keyId, name: 'default' } })
  expect(await shown('/usage?period=month&group_by=model')).toMatchObject({
    client: 'mine',
    requests: 2,
    data: expect.arrayContaining([expect.objectContaining({ requests: expect.any(Number) })]),
  })
  expect(await shown('/limits')).toMatchObject([{ kind: 'budget', per: 'month', until: expect.any(String) }])
  expect(await shown('/refused')).toMatchObject([{ reason: 'of_mine', calls: 3 }])
  const models = await shown('/models')
  expect(models.map(({ id }: { id: string }) => id)).toEqual(['gpt-4o', 'gpt-4o-mini'])
  for (const { prices } of models)
    expect(prices[0].rates).toContainEqual({ name: 'output', usd: expect.any(String), per: 'M tokens' })
  const calls = await shown('/calls')
  expect(calls).toHaveLength(2)
  expect(calls[0]).toMatchObject({ key_name: 'default', status: 200, input_tokens: 11, output_tokens: 7 })
  expect(await shown('/keys')).toMatchObject([{ id: mine.keyId, name: 'default' }])
  const csv = await ask('/portal/v1/usage/export', token)
  expect(csv.headers.get('content-type')).toBe('text/csv')
  expect(csv.text).toContain('mine')
})

test('calls go on behind a cursor, each once', async () => {
  const token = await signIn(mine.key)
  const first = await ask('/portal/v1/calls?limit=1', token)
  const cursor = first.headers.get('x-tallygate-next-cursor')
  const second = await ask(`/portal/v1/calls?limit=1&cursor=${cursor}`, token)
  expect(second.headers.get('x-tallygate-next-cursor')).toBeNull()
  expect([...first.document, ...second.document]).toEqual((await ask('/portal/v1/calls', token)).document)
})

/** Everything that only one client has. */
async function signsOf(client: TestClient): Promise<readonly string[]> {
  const calls = await stack.calls(client)
  const limits = await stack.pool.query('select amount from tallygate.limits where client_id = $1', [
    client.id,
  ])
  return [
    client.name,
    client.id,
    client.keyId,
    client.key.slice(0, 11),
    `model-of-${client.name}`,
    `of_${client.name}`,
    ...calls.map((call) => String(call.call_id)),
    ...limits.rows.map(({ amount }) => String(Number(amount) / 1e12)),
  ]
}

test('no token gets another client’s data, whatever the route and the parameters', async () => {
  const signs = await signsOf(other)
  expect(signs.length).toBeGreaterThan(8)
  const minted = await createPortalToken(
    stack.pool,
    { clientId: mine.id, keyId: null, expiresInSeconds: 600 },
    PEPPER,
  )
  const tokens = [await signIn(mine.key), minted?.token ?? '']
  // The names are there to be seen: the other one sees them.
  const own = await signIn(other.key)
  const seen = await Promise.all(
    ['/calls', '/keys', '/refused', '/limits', '/account'].map((path) => ask(`/portal/v1${path}`, own)),
  )
  for (const sign of signs.filter((one) => one !== other.id))
    expect(seen.map(({ text }) => text).join()).toContain(sign)

  const values = [
    ...signs,
    '*',
    '%',
    "' or 1=1 --",
    '',
    'client',
    'day,client',
    'key,model',
    'month',
    '2026-01-01',
    '9999',
    randomUUID(),
  ]
  const names = [
    'client',
    'client_id',
    'id',
    'key',
    'key_id',
    'model',
    'cursor',
    'limit',
    'group_by',
    'by',
    'group',
    'axis',
    'interval',
    'days',
    'period',
    'from',
    'to',
    'q',
    'include',
    '__proto__',
  ]
  const paths = CLIENT_OPERATIONS.flatMap(({ http }) => ('path' in http ? [http.path] : []))
  expect(paths.length).toBeGreaterThan(7)
  let random = 7
  const pick = <Item>(items: readonly Item[]): Item => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    return items[random % items.length] as Item
  }
  const asked = paths.map((path) => path)
  for (let round = 0; round < rounds({ short: 300, long: 20_000 }); round += 1) {
    const query = Array.from(
      { length: 1 + (round % 3) },
      () => `${pick(names)}=${encodeURIComponent(pick(values))}`,
    )
    const path = pick(paths)
    asked.push(`${pick([path, `${path}/${encodeURIComponent(pick(values))}`])}?${query.join('&')}`)
  }
  for (const [index, path] of asked.entries()) {
    const { status, text } = await ask(`/portal/v1${path}`, tokens[index % 2] ?? null)
    expect(status, path).toBeLessThan(500)
    // A refusal may repeat the parameter's name, and no more.
    for (const sign of signs) expect(text.includes(sign), `${path} shows ${sign}: ${text}`).toBe(false)
  }
})

test('no route of an operator answers on the listener of the page, and nothing goes upstream from it', async () => {
  const token = await signIn(mine.key)
  const before = upstream.requests.length
  const routes = OPERATIONS.flatMap(({ http }) =>
    'path' in http ? [{ method: http.method, path: http.path }] : [],
  )
  const others = [
    '/metrics',
    '/openapi.json',
    '/dashboard',
    '/v1/models',
    '/v1/usage',
    '/v1/chat/completions',
  ]
  const paths = [
    ...routes.flatMap(({ method, path }) =>
      ['/admin/v1', '/portal/../admin/v1'].map((prefix) => [
        method,
        `${prefix}${path.replace(/\{\w+\}/g, 'x')}`,
      ]),
    ),
    ...others.flatMap((path) => ['GET', 'POST'].map((method) => [method, path])),
  ]
  for (const secret of [ADMIN_TOKEN, mine.key, token])
    for (const [method = '', path = ''] of paths)
      expect((await ask(path, secret, { method })).status, `${method} ${path}`).toBe(404)
  for (const { method, path } of routes)
    expect((await ask(`/portal/v1/admin/v1${path}`, token, { method })).status, path).toBe(404)
  expect(upstream.requests).toHaveLength(before)
})

test('what a token that can only read may ask changes nothing, and all that changes needs a member', () => {
  expect(CLIENT_OPERATIONS.length).toBeGreaterThan(0)
  for (const { name, role, changes, http } of CLIENT_OPERATIONS) {
    expect(CLIENT_ROLES, name).toContain(role)
    const isGet = 'path' in http && http.method === 'GET'
    expect([name, changes === undefined], name).toEqual([name, isGet])
    if (role === 'client') expect(isGet, name).toBe(true)
  }
  expect(OPERATIONS.filter(({ role }) => isOfClients(role))).toEqual([])
})

test('the token of a page is refused everywhere else, and a key or an operator’s token on the page', async () => {
  const token = await signIn(mine.key)
  const admin = `http://127.0.0.1:${stack.gateway.adminAddress.port}`
  const statusAt = async (url: string, secret: string) =>
    (await fetch(url, { headers: { authorization: `Bearer ${secret}` } })).status
  expect(await statusAt(`${admin}/admin/v1/clients`, token)).toBe(401)
  expect(await statusAt(`${admin}/admin/v1/clients`, ADMIN_TOKEN)).toBe(200)
  for (const path of ['/v1/usage', '/v1/models', '/v1/anything'])
    expect(await statusAt(`${stack.url}${path}`, token)).toBe(401)
  for (const secret of [mine.key, ADMIN_TOKEN])
    expect((await ask('/portal/v1/usage', secret)).status).toBe(401)
  for (const secret of [token, ADMIN_TOKEN])
    expect((await ask('/portal/v1/session', secret, { method: 'POST' })).status).toBe(401)
})

test('a token ends with its key, with its client, and when it is signed out', async () => {
  const works = async (token: string) => (await ask('/portal/v1/account', token)).status
  const revoked = await newKey(mine)
  const ofRevoked = await signIn(revoked.key)
  const ending = await newKey(mine, 600)
  const ofEnding = await signIn(ending.key)
  const lasting = await signIn(mine.key)
  for (const token of [ofRevoked, ofEnding, lasting]) expect(await works(token)).toBe(200)
  await revokeKey(stack.pool, revoked.id)
  await stack.pool.query('update tallygate.keys set expires_at = now() where id = $1', [ending.id])
  await expect.poll(() => works(ofRevoked)).toBe(401)
  await expect.poll(() => works(ofEnding)).toBe(401)
  expect(await works(lasting)).toBe(200)
  expect((await ask('/portal/v1/session', lasting, { method: 'DELETE' })).status).toBe(204)
  await expect.poll(() => works(lasting)).toBe(401)
  const gone = await stack.addClient('gone')
  const ofGone = await signIn(gone.key)
  expect(await works(ofGone)).toBe(200)
  await setClientDisabled(stack.pool, gone.name, true)
  await expect.poll(() => works(ofGone)).toBe(401)
})

test('a token that an operator makes shows one client, for 24 hours at most', async () => {
  const admin = `http://127.0.0.1:${stack.gateway.adminAddress.port}/admin/v1/clients/${mine.id}/portal-tokens`
  const make = async (body: object) => {
    const answer = await fetch(admin, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, document: (await answer.json()) as { token: string; id: string } }
  }
  expect((await make({ expires_in: '25h' })).status).toBe(400)
  const { status, document } = await make({ expires_in: '24h' })
  expect(status).toBe(201)
  expect((await ask('/portal/v1/account', document.token)).document).toMatchObject({
    client: 'mine',
    key: null,
  })
  await fetch(`${admin.replace(/clients.*/, '')}portal-tokens/${document.id}/revoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  await expect.poll(async () => (await ask('/portal/v1/account', document.token)).status).toBe(401)
})

test('ten wrong keys a minute are looked at from one address; a right one is taken all the same', async () => {
  const statuses: number[] = []
  while (statuses.at(-1) !== 429 && statuses.length < 20)
    statuses.push((await ask('/portal/v1/session', 'tg_wrong', { method: 'POST' })).status)
  expect(statuses.length).toBeLessThanOrEqual(11)
  const { headers } = await ask('/portal/v1/session', 'tg_wrong', { method: 'POST' })
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await signIn(mine.key)).toMatch(/^tgp_/)
})

test('the page has a strict policy, names who may frame it, sets no cookie, and holds no figures', async () => {
  const page = await ask('/portal', null)
  expect(page.status).toBe(200)
  const policy = page.headers.get('content-security-policy') ?? ''
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    'frame-ancestors https://app.example.com',
    "trusted-types 'none'",
  ])
    expect(policy.split('; ')).toContain(rule)
  expect(page.headers.get('x-frame-options')).toBeNull()
  const named = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? '')
  for (const path of named) {
    const { status, headers } = await ask(`/${path}`, null)
    expect([path, status, headers.get('set-cookie')]).toEqual([path, 200, null])
  }
  expect((await ask('/', null)).status).toBe(302)
  for (const path of ['/portal/page.html', '/portal/health.js', '/portal/%2e%2e/portal.ts'])
    expect((await ask(path, null)).status, path).toBe(404)
})
