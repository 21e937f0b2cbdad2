import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SignInConfig } from '../../../src/config/yaml/sign-in-config.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { openSignIn, type SignInProvider } from '../../../src/operator/sign-in/provider.ts'
import { base64url, jwksOf, KEYS, type Members, signTexts } from '../../gateway/identity/provider.ts'
import { type Operator, startOperator } from '../support/operator.ts'
import { Browser, PUBLIC_URL } from './browser.ts'

const { rsa } = KEYS
const SECRET = 'the-secret-of-the-client'

/** A provider that answers as a test wants: of its own will, or because another answers in its place. */
const state = {
  jwks: '',
  asked: 0,
  idToken: (_nonce: string): string | undefined => undefined,
  userinfo: {} as Members,
}
const server = createServer((request, response) => {
  const answer = (document: unknown) =>
    response
      .setHeader('content-type', 'application/json')
      .end(typeof document === 'string' ? document : JSON.stringify(document))
  switch (request.url) {
    case '/.well-known/openid-configuration':
      return answer({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/me`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
      })
    case '/keys':
      return answer(state.jwks)
    case '/me':
      return answer(state.userinfo)
    case '/token':
      state.asked += 1
      return answer({ access_token: 'access', token_type: 'Bearer', id_token: state.idToken(nonce) })
    default:
      return response.writeHead(404).end()
  }
})

let issuer = ''
let nonce = ''
let provider: SignInProvider
let operator: Operator

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  state.jwks = jwksOf(['rsa-1', rsa.publicKey])
  provider = openSignIn(settings(), SILENT_LOG)
  operator = await startOperator({ signIn: provider })
})

afterAll(async () => {
  provider?.stop()
  await operator?.close()
  server.closeAllConnections()
  server.close()
})

function settings(change: Partial<SignInConfig> = {}): SignInConfig {
  return {
    issuer,
    clientId: 'tallygate',
    clientSecret: SECRET,
    publicUrl: PUBLIC_URL,
    scope: 'openid',
    groups: ['groups'],
    name: ['email'],
    roles: { read: [], write: ['ops'], admin: ['admins'] },
    sessionSeconds: 300,
    ...change,
  }
}

function idToken(claims: Members = {}, header: Members = {}, key = rsa.privateKey): string {
  const now = Math.floor(Date.now() / 1_000)
  const right = {
    ...{ iss: issuer, aud: 'tallygate', sub: 'ann', nonce, iat: now, exp: now + 60 },
    ...{ email: 'ann@example.com', groups: ['admins'] },
  }
  return signTexts(
    JSON.stringify({ alg: 'RS256', kid: 'rsa-1', ...header }),
    JSON.stringify({ ...right, ...claims }),
    key,
  )
}

/** The way back from the provider, as `change` has it. Every try comes from an address of its own. */
let tries = 0
async function signIn(change: (query: URLSearchParams) => void = () => {}, by = operator) {
  tries += 1
  const browser = new Browser(by.app, `10.1.0.${tries}`)
  const begun = (await browser.begin()).searchParams
  nonce = begun.get('nonce') ?? ''
  const query = new URLSearchParams({ code: 'code', state: begun.get('state') ?? '', iss: issuer })
  change(query)
  const answer = await browser.get(`/sign-in/callback?${query}`)
  return { status: answer.statusCode, token: await browser.takeToken(), browser, body: answer.body }
}

const LET_IN = { status: 303, token: expect.stringMatching(/^tga_/) }

function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds
}

test('a right answer signs in, with a clock that is seconds off as well', async () => {
  state.idToken = () => idToken()
  expect(await signIn()).toMatchObject(LET_IN)
  state.idToken = () => idToken({ exp: inSeconds(-5), iat: inSeconds(-60) })
  expect(await signIn()).toMatchObject(LET_IN)
})

test('the request to the provider has state, nonce and a challenge of their own, and no secret', async () => {
  const [one, other] = [await new Browser(operator.app).begin(), await new Browser(operator.app).begin()]
  for (const name of ['state', 'nonce', 'code_challenge']) {
    expect(one.searchParams.get(name)?.length).toBeGreaterThan(40)
    expect(one.searchParams.get(name)).not.toBe(other.searchParams.get(name))
  }
  expect(one.searchParams.get('code_challenge_method')).toBe('S256')
  expect(one.searchParams.get('redirect_uri')).toBe(`${PUBLIC_URL}/sign-in/callback`)
  expect(one.href).not.toContain(SECRET)
})

test.each<[string, () => string | undefined]>([
  ['none at all', () => undefined],
  ['one of another nonce', () => idToken({ nonce: 'another' })],
  ['one without a nonce', () => idToken({ nonce: undefined })],
  ['one for another client', () => idToken({ aud: 'another' })],
  ['one for others too, of another party', () => idToken({ aud: ['tallygate', 'another'], azp: 'another' })],
  ['one of another issuer', () => idToken({ iss: 'https://evil.example/' })],
  ['one that ended a minute ago', () => idToken({ exp: inSeconds(-60) })],
  ['one without an end', () => idToken({ exp: undefined })],
  ['one without a subject', () => idToken({ sub: undefined })],
  ['one that is signed by another key', () => idToken({}, {}, KEYS.foreign.privateKey)],
  ['one with a key in it', () => idToken({}, { jwk: {}, kid: 'x' }, KEYS.foreign.privateKey)],
  ['one of another algorithm', () => idToken({}, { alg: 'ES256', kid: 'ec-1' }, KEYS.ec.privateKey)],
  ['one without a signature', () => `${idToken({}, { alg: 'none' }).split('.', 2).join('.')}.`],
  [
    'one that is signed by the secret of the client',
    () => {
      const signed = idToken({}, { alg: 'HS256' }).split('.', 2).join('.')
      return `${signed}.${base64url(createHmac('sha256', SECRET).update(signed).digest())}`
    },
  ],
  [
    'one that is signed by the public key as a secret',
    () => {
      const signed = idToken({}, { alg: 'HS256' }).split('.', 2).join('.')
      const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' })
      return `${signed}.${base64url(createHmac('sha256', pem).update(signed).digest())}`
    },
  ],
])('the ID token is %s: refused', async (_, make) => {
  state.idToken = make
  expect(await signIn()).toMatchObject({ status: 401, token: null })
})

test.each<[string, (query: URLSearchParams) => void, number]>([
  ['another state', (query) => query.set('state', 'another'), 400],
  ['no state', (query) => query.delete('state'), 400],
  ['the state twice', (query) => query.append('state', query.get('state') ?? ''), 400],
  ['another issuer', (query) => query.set('iss', 'https://evil.example/'), 401],
  ['no issuer, which this provider says', (query) => query.delete('iss'), 401],
  ['no code', (query) => query.delete('code'), 401],
  ['an error', (query) => query.set('error', 'access_denied'), 401],
])('the answer has %s: refused, and the provider is not asked', async (_, change, status) => {
  state.idToken = () => idToken()
  const before = state.asked
  expect(await signIn(change)).toMatchObject({ status, token: null })
  expect(state.asked).toBe(before)
})

test.each<[string, (cookie: string) => string]>([
  ['changed', (cookie) => `${cookie.slice(0, 20)}${cookie[20] === 'A' ? 'B' : 'A'}${cookie.slice(21)}`],
  ['cut', (cookie) => cookie.slice(0, -8)],
  ['empty', () => '.'],
  ['there twice', (cookie) => `${cookie}; tallygate-sign-in-begun=${cookie}`],
])('what the browser kept is %s: refused', async (_, change) => {
  const browser = new Browser(operator.app, '10.2.0.1')
  const begun = (await browser.begin()).searchParams
  const name = 'tallygate-sign-in-begun'
  browser.cookies.set(name, change(browser.cookies.get(name) ?? ''))
  expect(
    (await browser.get(`/sign-in/callback?code=code&state=${begun.get('state')}&iss=${issuer}`)).statusCode,
  ).toBe(400)
  // Nor is it good as what the page fetches its token by.
  const other = new Browser(operator.app, '10.2.0.1')
  await other.begin()
  other.cookies.set('tallygate-sign-in-handed', other.cookies.get(name) ?? '')
  expect(await other.takeToken()).toBe(null)
})

test('no address, host or parameter leads the browser to another place', async () => {
  const hosts = { host: 'evil.example', 'x-forwarded-host': 'evil.example', referer: 'https://evil.example/' }
  const { headers } = await operator.app.inject({ url: '/sign-in', headers: hosts })
  expect(headers.location).toContain(encodeURIComponent(`${PUBLIC_URL}/sign-in/callback`))
  for (const query of [
    'return_to=https://evil.example',
    'redirect_uri=https://evil.example',
    'next=//evil.example',
  ])
    expect((await operator.app.inject(`/sign-in?${query}`)).statusCode).toBe(400)
  state.idToken = () => idToken()
  const back = await signIn((query) => query.set('return_to', 'https://evil.example'))
  expect(back).toMatchObject(LET_IN)
})

test.each([
  ['in other letters', ['ADMINS']],
  ['of full width', ['ａdmins']],
  ['with a letter that looks the same', ['аdmins']],
  ['with a mark that is not seen', ['admins​']],
  ['with a space', ['admins ']],
  ['in one text with another', ['ops,admins']],
  ['within a list', [['admins']]],
  ['as the name of a member', { admins: true }],
  ['as a number', [1]],
])('a group %s has no role', async (_, groups) => {
  state.idToken = () => idToken({ groups })
  expect(await signIn()).toMatchObject({ status: 403, token: null })
})

test('of several groups the highest role counts, and one text is one group', async () => {
  const roleOf = async (groups: unknown) => {
    state.idToken = () => idToken({ groups })
    await signIn()
    const { rows } = await operator.pool.query(
      'select role from tallygate.operator_tokens order by created_at desc limit 1',
    )
    return rows[0]?.role
  }
  expect(await roleOf(['ops', 'admins'])).toBe('admin')
  expect(await roleOf('ops')).toBe('write')
})

test('the audit has the address of a person only where the provider verified it, and else the subject', async () => {
  const nameOf = async (claims: Members) => {
    state.idToken = () => idToken(claims)
    await signIn()
    const { rows } = await operator.pool.query('select who from tallygate.audit order by id desc limit 1')
    return rows[0]?.who
  }
  expect(await nameOf({})).toBe('person:ann@example.com')
  expect(await nameOf({ email: 'boss@example.com', email_verified: false })).toBe('person:ann')
  for (const verified of ['false', null, 0, 'no'])
    expect(await nameOf({ email: 'boss@example.com', email_verified: verified })).toBe('person:ann')
  expect(await nameOf({ email_verified: 'true' })).toBe('person:ann@example.com')
  expect(await nameOf({ email: 'a\u202enn@example.com' })).toBe('person:ann')
  expect(await nameOf({ email: ['boss@example.com'] })).toBe('person:ann')
})

test('claims of another person, at the page for more of them, are not taken', async () => {
  state.idToken = () => idToken({ groups: undefined })
  state.userinfo = { sub: 'ann', groups: ['admins'] }
  expect(await signIn()).toMatchObject(LET_IN)
  state.userinfo = { sub: 'eve', groups: ['admins'] }
  expect(await signIn()).toMatchObject({ status: 401, token: null })
})

test('guesses from one address are slowed', async () => {
  const browser = new Browser(operator.app, '10.3.0.1')
  const statuses = new Set<number>()
  for (let i = 0; i < 40; i += 1) statuses.add((await browser.get('/sign-in/callback?state=x')).statusCode)
  expect([...statuses]).toEqual([400, 429])
})

test('over TLS what the browser keeps is for this host alone, and never for scripts', async () => {
  const secure = openSignIn(settings({ publicUrl: 'https://ops.example.com' }), SILENT_LOG)
  const by = await startOperator({ signIn: secure })
  try {
    const { headers } = await by.app.inject('/sign-in')
    expect(String(headers['set-cookie'])).toMatch(
      /^__Host-tallygate-sign-in-begun=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
  } finally {
    secure.stop()
    await by.close()
  }
})

test('new keys of the provider are taken without a restart', async () => {
  state.jwks = jwksOf(['rsa-2', rsa.publicKey])
  state.idToken = () => idToken({}, { kid: 'rsa-2' })
  const fresh = openSignIn(settings(), SILENT_LOG)
  const by = await startOperator({ signIn: fresh })
  try {
    expect(await signIn(() => {}, by)).toMatchObject(LET_IN)
    state.jwks = jwksOf(['rsa-2', rsa.publicKey], ['rsa-3', rsa.publicKey])
    state.idToken = () => idToken({}, { kid: 'rsa-3' })
    await expect.poll(async () => (await signIn(() => {}, by)).status).toBe(303)
  } finally {
    fresh.stop()
    await by.close()
  }
})
