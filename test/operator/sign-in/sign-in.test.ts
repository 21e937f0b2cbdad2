import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SignInConfig } from '../../../src/config/yaml/sign-in-config.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { openSignIn, type SignInProvider } from '../../../src/operator/sign-in/provider.ts'
import { type Operator, startOperator } from '../support/operator.ts'
import { Browser, PUBLIC_URL, pathOf } from './browser.ts'

/** People at the company, and their groups. */
const PEOPLE: Readonly<Record<string, readonly string[]>> = {
  ann: ['all', 'platform'],
  bob: ['finance'],
  eve: ['Platform', 'ｐlatform', 'platform​', 'plat\u0066orm '],
  ida: [],
}

let server: Server
let provider: SignInProvider
let operator: Operator
let issuer: string

beforeAll(async () => {
  server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const real = new Provider(issuer, {
    clients: [
      {
        client_id: 'tallygate',
        client_secret: 'the-secret-of-the-client',
        redirect_uris: [`${PUBLIC_URL}/sign-in/callback`],
        post_logout_redirect_uris: [`${PUBLIC_URL}/dashboard`],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: PEOPLE[id] }),
    }),
  })
  server.on('request', real.callback())
  provider = openSignIn(settingsAt(issuer), SILENT_LOG)
  operator = await startOperator({ signIn: provider })
})

afterAll(async () => {
  provider?.stop()
  await operator?.close()
  server?.closeAllConnections()
  server?.close()
})

function settingsAt(url: string): SignInConfig {
  return {
    issuer: url,
    clientId: 'tallygate',
    clientSecret: 'the-secret-of-the-client',
    publicUrl: PUBLIC_URL,
    scope: 'openid email profile',
    groups: ['groups'],
    name: ['email'],
    roles: { read: ['finance'], write: [], admin: ['platform'] },
    sessionSeconds: 3_600,
  }
}

/** Signs a person in at the provider's own pages, and gives where that leads back to. */
async function atProvider(url: URL, person: string): Promise<string> {
  const cookies = new Map<string, string>()
  let next = url
  let form: Record<string, string> | null = null
  for (let step = 0; step < 12; step += 1) {
    const answer: Response = await fetch(next, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === null ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s)
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location?.startsWith(PUBLIC_URL) === true) return pathOf(location)
    const page = await answer.text()
    form = null
    if (location !== null) next = new URL(location, next)
    else {
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? ''
      const action = /action="([^"]+)"/.exec(page)?.[1]
      if (action === undefined) throw new Error(`the provider says: ${page.slice(0, 500)}`)
      next = new URL(action, next)
      form = { prompt, login: person, password: 'any' }
    }
  }
  throw new Error('the provider leads nowhere')
}

async function signInAs(person: string, browser = new Browser(operator.app)) {
  const back = await atProvider(await browser.begin(), person)
  return { browser, back, answer: await browser.get(back) }
}

async function asks(
  token: string | null,
  options: { method?: 'GET' | 'POST'; url?: string; payload?: object } = {},
) {
  const { statusCode } = await operator.app.inject({
    method: 'GET',
    url: '/admin/v1/clients',
    ...options,
    headers: { authorization: `Bearer ${token}` },
  })
  return statusCode
}

test('a person signs in at a real provider, has the role of their groups, and is named in the audit', async () => {
  const { browser, answer } = await signInAs('ann')
  expect([answer.statusCode, answer.headers.location]).toEqual([303, `${PUBLIC_URL}/sign-in/done`])
  expect((await browser.get('/dashboard')).body).toContain('<div id="page" data-sign-in>')
  const page = await browser.get('/sign-in/done')
  expect(page.headers['content-security-policy']).toContain("script-src 'self'")
  const token = await browser.takeToken()
  expect(token).toMatch(/^tga_/)
  expect(await asks(token, { method: 'POST', url: '/admin/v1/clients', payload: { name: 'acme' } })).toBe(201)
  const { rows } = await operator.pool.query('select who, operation from tallygate.audit order by id')
  expect(rows).toEqual([
    { who: 'person:ann@example.com', operation: 'sign_in' },
    { who: 'person:ann@example.com', operation: 'clients.create' },
  ])
  // Neither an address nor the log has it.
  expect(answer.headers.location).not.toContain('tga_')
  expect(operator.log()).not.toContain(token ?? '')
  // It is given once.
  expect(await browser.takeToken()).toBe(null)
})

test('a smaller role may not do more, and who is in no group is not let in', async () => {
  const bob = await signInAs('bob')
  const token = await bob.browser.takeToken()
  expect(await asks(token)).toBe(200)
  expect(await asks(token, { method: 'POST', url: '/admin/v1/clients', payload: { name: 'b' } })).toBe(403)
  for (const person of ['eve', 'ida']) {
    const { browser, answer } = await signInAs(person)
    expect([answer.statusCode, JSON.parse(answer.body).error.code]).toEqual([403, 'role_required'])
    expect(await browser.takeToken()).toBe(null)
  }
})

test('a code that was used, or that another browser began, does not sign in', async () => {
  const { browser, back } = await signInAs('ann')
  expect((await browser.get(back)).statusCode).toBe(400)
  // The same browser keeps what it began, as a copy of its cookies would.
  const kept = new Browser(operator.app)
  const url = await kept.begin()
  const copy = new Browser(operator.app)
  for (const [name, value] of kept.cookies) copy.cookies.set(name, value)
  const answer = await atProvider(url, 'ann')
  expect((await kept.get(answer)).statusCode).toBe(303)
  expect((await copy.get(answer)).statusCode).toBe(401)
  // Who leads another browser to an answer of their own does not sign it in.
  const attacker = new Browser(operator.app)
  const theirs = await atProvider(await attacker.begin(), 'bob')
  const victim = new Browser(operator.app)
  expect((await victim.get(theirs)).statusCode).toBe(400)
  await victim.begin()
  expect((await victim.get(theirs)).statusCode).toBe(400)
  expect(await victim.takeToken()).toBe(null)
})

test('who signs out has no token any more, at the provider neither; a token that an operator made stays', async () => {
  const { browser } = await signInAs('ann')
  const token = await browser.takeToken()
  const ended = await browser.post('/sign-in/end', { authorization: `Bearer ${token}` })
  expect(JSON.parse(ended.body).url).toMatch(`${issuer}/session/end?`)
  await expect.poll(() => asks(token)).toBe(401)
  const { document } = await operator.ask({
    method: 'POST',
    url: '/admin/v1/tokens',
    payload: { name: 'program', role: 'read' },
  })
  const { token: other } = document as { readonly token: string }
  const left = await browser.post('/sign-in/end', { authorization: `Bearer ${other}` })
  expect(JSON.parse(left.body)).toEqual({ url: null })
  expect(await asks(other)).toBe(200)
})

test('a person may sign in at several browsers, and revoking their name ends all of them', async () => {
  const tokens = [
    await (await signInAs('ann')).browser.takeToken(),
    await (await signInAs('ann')).browser.takeToken(),
  ]
  for (const token of tokens) expect(await asks(token)).toBe(200)
  const url = `/admin/v1/tokens/${encodeURIComponent('person:ann@example.com')}/revoke`
  expect((await operator.ask({ method: 'POST', url })).status).toBe(200)
  for (const token of tokens) await expect.poll(() => asks(token)).toBe(401)
})

test('no token of an operator can have the name of a person', async () => {
  const payload = { name: 'person:ann@example.com', role: 'read' }
  expect((await operator.ask({ method: 'POST', url: '/admin/v1/tokens', payload })).status).toBe(400)
})

test('while the provider is away from the start, sign-in says so and tokens go on', async () => {
  const away = openSignIn(settingsAt('http://127.0.0.1:1'), SILENT_LOG)
  const without = await startOperator({ signIn: away })
  try {
    const { statusCode, body } = await without.app.inject('/sign-in')
    expect([statusCode, JSON.parse(body).error.message]).toEqual([
      502,
      expect.stringContaining('not reached'),
    ])
    expect((await without.ask('/admin/v1/clients')).status).toBe(200)
    expect((await without.app.inject('/dashboard')).statusCode).toBe(200)
    expect(away.state()).toMatchObject({ isUsable: false, problem: expect.any(String) })
  } finally {
    away.stop()
    await without.close()
  }
})

test('without sign-in configured there is none of its paths', async () => {
  const without = await startOperator()
  try {
    expect((await without.app.inject('/dashboard')).body).toContain('<div id="page">')
    for (const path of ['/sign-in', '/sign-in/callback', '/sign-in/done'])
      expect((await without.app.inject(path)).statusCode).not.toBe(200)
  } finally {
    await without.close()
  }
})
