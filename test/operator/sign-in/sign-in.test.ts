import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SignInConfig } from '../../../src/config/yaml/sign-in-config.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { openSignIn, type SignInProvider } from '../../../src/operator/sign-in/provider.ts'
import { type Operator, startOperator } from '../support/operator.ts'
import { Browser, PUBLIC_URL } from './browser.ts'
import { type Company, startCompany } from './company.ts'

/** People at the company, and their groups. */
const PEOPLE: Readonly<Record<string, readonly string[]>> = {
  ann: ['all', 'platform'],
  bob: ['finance'],
  eve: ['Platform', 'ｐlatform', 'platform​', 'plat\u0066orm '],
  ida: [],
}

let company: Company
let provider: SignInProvider
let operator: Operator
let issuer: string

beforeAll(async () => {
  company = await startCompany(PEOPLE)
  issuer = company.issuer
  provider = openSignIn(settingsAt(issuer), SILENT_LOG)
  operator = await startOperator({ signIn: provider })
})

afterAll(async () => {
  provider?.stop()
  await operator?.close()
  company?.close()
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

async function signInAs(person: string, browser = new Browser(operator.app)) {
  const back = await company.signIn(await browser.begin(), person)
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
  const answer = await company.signIn(url, 'ann')
  expect((await kept.get(answer)).statusCode).toBe(303)
  expect((await copy.get(answer)).statusCode).toBe(401)
  // Who leads another browser to an answer of their own does not sign it in.
  const attacker = new Browser(operator.app)
  const theirs = await company.signIn(await attacker.begin(), 'bob')
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
