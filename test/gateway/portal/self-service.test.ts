import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { findClient, setClientDisabled } from '../../../src/keys/clients.ts'
import { moveInto } from '../../../src/keys/groups/group-moves.ts'
import { createGroup, findGroup } from '../../../src/keys/groups/groups.ts'
import { openKeyDirectory } from '../../../src/keys/key-directory.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { signInMember } from '../../../src/limits/members/sign-in-member.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { CLIENT_OPERATIONS } from '../../../src/operator/chapters.ts'
import { StoreClock } from '../../../src/store/processes/store-clock.ts'
import { Browser } from '../../operator/sign-in/browser.ts'
import { type Company, startCompany } from '../../operator/sign-in/company.ts'
import { PEPPER, startStack, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

const MEMBER_DAYS = 7

/** People of the company, and their groups there. */
const people: Record<string, string[]> = {
  ann: ['search-leads'],
  bob: ['search'],
  cat: ['search'],
  dan: ['ads-leads'],
  eve: ['Search', 'search ', 'other'],
  fay: ['search'],
  guy: ['ads'],
  hal: ['ads'],
}

const SELF_SERVICE = (issuer: string) => `
self_service:
  issuer: ${issuer}
  client_id: tallygate
  client_secret_env: OIDC_SECRET
  public_url: http://127.0.0.1:9
  member_days: ${MEMBER_DAYS}
  groups:
    - { group: search, members: [search], owners: [search-leads], most_keys: 2, models: [gpt-4o, gpt-4o-mini*], member_budget_usd: 50 }
    - { group: ads, members: [ads], owners: [ads-leads] }
    - { group: not-made-yet, members: [other] }
`

let upstream: TestUpstream
let company: Company
let stack: TestStack
let folder: string
let portal: string

beforeAll(async () => {
  upstream = await startUpstream()
  company = await startCompany(people)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-self-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(file, SELF_SERVICE(company.issuer))
  stack = await startStack(upstream.url, {
    env: { PORTAL_PORT: '0', TALLYGATE_CONFIG: file, OIDC_SECRET: 'the-secret-of-the-client' },
  })
  for (const group of ['search', 'ads']) await createGroup(stack.pool, group, null)
  portal = `http://127.0.0.1:${stack.gateway.portalAddress?.port}`
})

afterAll(async () => {
  await stack?.stop()
  company?.close()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

async function overNetwork({ method = 'GET', url, headers }: InjectOptions) {
  const answer = await fetch(`${portal}${url}`, {
    method,
    redirect: 'manual',
    headers: (headers ?? {}) as Record<string, string>,
  })
  const cookies = answer.headers.getSetCookie().map((line) => {
    const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s)
    return { name, value }
  })
  return {
    statusCode: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: await answer.text(),
    cookies,
  }
}

function newBrowser() {
  return new Browser(overNetwork, '', '/portal/sign-in')
}

/** Signs a person in, as their browser does. */
async function arrive(person: string) {
  const browser = newBrowser()
  const back = await company.signIn(await browser.begin(), person)
  const answer = await browser.get(back)
  return { answer, browser, back }
}

async function signIn(person: string): Promise<string> {
  const { answer, browser } = await arrive(person)
  if (answer.statusCode !== 303) throw new Error(`${person}: ${answer.statusCode} ${answer.body}`)
  return (await browser.takeToken()) ?? ''
}

async function ask(token: string, method: string, path: string, body?: object) {
  const answer = await fetch(`${portal}/portal/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  return { status: answer.status, text, document: isJson ? JSON.parse(text) : null }
}

async function makeKey(token: string, body: object = {}) {
  const { status, text, document } = await ask(token, 'POST', '/keys', body)
  if (status !== 201) throw new Error(`${status} ${text}`)
  return document as { readonly id: string; readonly key: string; readonly expires_at: string }
}

async function call(key: string, model = 'gpt-4o-mini'): Promise<{ status: number; code: string | null }> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [] }),
  })
  const document = (await answer.json()) as { readonly error?: { readonly code: string | null } }
  return { status: answer.status, code: document.error?.code ?? null }
}

async function clientOf(person: string) {
  const client = await findClient(stack.pool, `member:${person}@example.com`)
  if (client === null) throw new Error(`${person} has no client`)
  return client
}

async function revokeAll(token: string): Promise<void> {
  const { document } = await ask(token, 'GET', '/keys?limit=1000')
  for (const { id, revoked_at: revoked } of document)
    if (revoked === null) await ask(token, 'POST', `/keys/${id}/revoke`)
}

test('a member signs in at a real provider, makes a key that is shown once, calls with it, and meets its limit', async () => {
  const { answer, browser } = await arrive('bob')
  expect([answer.statusCode, answer.headers.location]).toEqual([303, 'http://127.0.0.1:9/portal#signed-in'])
  const token = (await browser.takeToken()) ?? ''
  expect(token).toMatch(/^tgm_/)
  expect(await browser.takeToken()).toBe(null)
  expect((await ask(token, 'GET', '/account')).document).toMatchObject({
    client: 'member:bob@example.com',
    key: null,
    member: { group: 'search', owner: false, most_keys: 2, models: ['gpt-4o', 'gpt-4o-mini*'] },
  })
  expect((await clientOf('bob')).group).toBe('search')
  // Of its key, within that of the member, which the group's entry set.
  const made = await makeKey(token, { name: 'laptop', budget_usd: '0.000000001' })
  const listed = await ask(token, 'GET', '/keys')
  expect(listed.document).toMatchObject([{ id: made.id, name: 'laptop' }])
  expect(listed.text).not.toContain(made.key)
  await expect
    .poll(async () => (await ask(token, 'GET', '/limits')).document)
    .toMatchObject([
      { kind: 'budget', per: 'month', key_id: null, limit_usd: 50 },
      { kind: 'budget', per: 'month', key_id: made.id, limit_usd: 1e-9 },
    ])
  await expect.poll(async () => (await call(made.key)).code).toBe('budget_exceeded')
  expect(await call(made.key, 'o1')).toMatchObject({ status: 403, code: 'model_not_allowed' })
  const free = await makeKey(token)
  expect((await call(free.key)).status).toBe(200)
  const { rows } = await stack.pool.query(
    `select who, operation from tallygate.audit where who = 'member:bob@example.com' order by id`,
  )
  expect(rows.map(({ operation }) => operation)).toEqual([
    'member.sign_in',
    'own.keys.create',
    'own.keys.create',
  ])
  await revokeAll(token)
})

test('a key that is rotated goes on for its overlap, one that is revoked is refused within a second', async () => {
  const token = await signIn('bob')
  const old = await makeKey(token)
  const rotated = await ask(token, 'POST', `/keys/${old.id}/rotate`, { overlap: '1h' })
  expect(rotated.status).toBe(201)
  for (const key of [old.key, rotated.document.key])
    await expect.poll(async () => (await call(key)).status).toBe(200)
  const { rows } = await stack.pool.query(
    `select of_member, expires_at < now() + interval '61 minutes' as is_soon from tallygate.keys
     where id = any($1) order by created_at`,
    [[old.id, rotated.document.id]],
  )
  expect(rows).toEqual([
    { of_member: 'replaced', is_soon: true },
    { of_member: 'lasting', is_soon: false },
  ])
  // Another sign-in does not make it last.
  await signIn('bob')
  const again = await stack.pool.query(
    `select expires_at < now() + interval '61 minutes' as is_soon from tallygate.keys where id = $1`,
    [old.id],
  )
  expect(again.rows).toEqual([{ is_soon: true }])
  expect((await ask(token, 'POST', `/keys/${old.id}/rotate`, {})).status).toBe(409)
  expect((await ask(token, 'POST', `/keys/${rotated.document.id}/rotate`, { overlap: '25h' })).status).toBe(
    400,
  )
  expect((await ask(token, 'POST', `/keys/${old.id}/revoke`)).status).toBe(200)
  await expect.poll(async () => (await call(old.key)).code).toBe('key_inactive')
  await revokeAll(token)
})

test('a leaver’s keys end with the days after the last sign-in, and not before; a sign-in moves the end', async () => {
  const token = await signIn('cat')
  const made = await makeKey(token)
  const other = await makeKey(token)
  await stack.pool.query(
    `update tallygate.keys set expires_at = expires_at - interval '1 day' where id = any($1)`,
    [[made.id, other.id]],
  )
  await signIn('cat')
  const { rows } = await stack.pool.query<{ days: number; is_same: boolean }>(
    `select extract(epoch from m.keys_end_at - m.signed_in_at)::float8 / 86400 as days,
       k.expires_at = m.keys_end_at as is_same
     from tallygate.members m join tallygate.keys k on k.client_id = m.id where k.id = any($1)`,
    [[made.id, other.id]],
  )
  expect(rows).toEqual(Array.from({ length: 2 }, () => ({ days: MEMBER_DAYS, is_same: true })))
  /** What a gateway says whose clock is ahead by so much. */
  const stateIn = async (aheadMs: number) => {
    const clock = new StoreClock({ log: SILENT_LOG, wallNow: () => Date.now() + aheadMs })
    const directory = openKeyDirectory({
      pool: stack.pool,
      redisUrl: null,
      redisPrefix: '',
      peppers: [PEPPER],
      graceSeconds: 3_600,
      clock: Object.assign(clock, { learn: () => {} }),
      log: SILENT_LOG,
    })
    try {
      await directory.whenReady()
      return (await directory.find(made.key)).kind
    } finally {
      await directory.close()
    }
  }
  const endMs = MEMBER_DAYS * 86_400_000
  expect(await stateIn(endMs - 3_600_000)).toBe('active')
  expect(await stateIn(endMs + 1_000)).toBe('key_inactive')
  // One that has ended does not come back by a sign-in.
  await stack.pool.query('update tallygate.keys set expires_at = now() where id = $1', [made.id])
  await signIn('cat')
  expect(await stateIn(0)).toBe('key_inactive')
  await revokeAll(token)
})

test('who is disabled, by an owner or an operator, is out within a second, and does not sign in again', async () => {
  const owner = await signIn('ann')
  const token = await signIn('fay')
  const made = await makeKey(token)
  await expect.poll(async () => (await call(made.key)).status).toBe(200)
  const fay = await clientOf('fay')
  const members = await ask(owner, 'GET', '/members')
  expect(members.document.map(({ name }: { name: string }) => name)).toContain(fay.name)
  expect(members.text).not.toContain(made.key)
  const disabled = await ask(owner, 'POST', `/members/${fay.id}/disable`)
  expect(disabled).toMatchObject({ status: 200, document: { disabled: true } })
  await expect.poll(async () => (await call(made.key)).code).toBe('client_disabled')
  await expect.poll(async () => (await ask(token, 'GET', '/account')).status).toBe(401)
  expect((await arrive('fay')).answer.statusCode).toBe(403)
  const { rows } = await stack.pool.query(
    `select who, operation, about from tallygate.audit order by id desc limit 1`,
  )
  expect(rows).toEqual([
    { who: 'member:ann@example.com', operation: 'own.members.disable', about: { client: fay.id } },
  ])
  await setClientDisabled(stack.pool, fay.name, false)
})

test('an owner sets a budget up to what the group allows, and sees what members spent', async () => {
  const owner = await signIn('ann')
  await signIn('bob')
  const bob = await clientOf('bob')
  const set = (budget: unknown) => ask(owner, 'PUT', `/members/${bob.id}/budget`, { budget_usd: budget })
  expect(await set('20')).toMatchObject({ status: 200, document: { budget_usd: '20' } })
  expect((await set('50.01')).document.error.message).toContain('must be at most 50,')
  const group = await findGroup(stack.pool, 'search')
  const scope = { clientId: null, keyId: null, model: null, groupId: group?.id ?? '' }
  await setLimits(
    stack.pool,
    scope,
    [{ kind: 'budget', per: 'month', isSoft: false, amount: 30n * 10n ** 12n }],
    'a test',
  )
  expect((await set('30.01')).document.error.message).toContain('must be at most 30,')
  expect((await set('30')).status).toBe(200)
  // A sign-in leaves what an owner set.
  await signIn('bob')
  const { document } = await ask(owner, 'GET', '/members')
  expect(document.find(({ id }: { id: string }) => id === bob.id)).toMatchObject({
    budget_usd: '30',
    spent_usd: expect.stringMatching(/^\d/),
  })
})

test('of many orders at once for the last keys that there may be, no more are made than may be', async () => {
  const token = await signIn('bob')
  await revokeAll(token)
  const made = await Promise.all(Array.from({ length: 8 }, () => ask(token, 'POST', '/keys', {})))
  expect(made.map(({ status }) => status).sort()).toEqual([201, 201, ...Array.from({ length: 6 }, () => 409)])
  // Nor is rotating a way around it: the old ones that go on are as few, too.
  const [first] = made.filter(({ status }) => status === 201)
  const twice = await Promise.all(
    Array.from({ length: 4 }, () => ask(token, 'POST', `/keys/${first?.document.id}/rotate`, {})),
  )
  expect(twice.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  let last = twice.find(({ status }) => status === 201)?.document.id
  const second = await ask(token, 'POST', `/keys/${last}/rotate`, {})
  expect(second.status).toBe(201)
  last = second.document.id
  expect((await ask(token, 'POST', `/keys/${last}/rotate`, {})).status).toBe(409)
  expect((await ask(token, 'POST', `/keys/${last}/rotate`, { overlap: '0s' })).status).toBe(201)
  const { rows } = await stack.pool.query(
    `select of_member, count(*)::int as keys from tallygate.keys k
     where client_id = $1 and revoked_at is null and expires_at > now() group by 1 order by 1`,
    [(await clientOf('bob')).id],
  )
  expect(rows).toEqual([
    { of_member: 'lasting', keys: 2 },
    { of_member: 'replaced', keys: 2 },
  ])
  await revokeAll(token)
})

test('a program of a member cannot make keys without an end', async () => {
  const token = await signIn('hal')
  const first = await makeKey(token)
  await stack.pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version, of_member, revoked_at)
     select 'key_of_hal_' || n, k.client_id, 'old', 'tg_', sha256(n::text::bytea), k.pepper_id, k.version,
       'lasting', now()
     from tallygate.keys k, generate_series(1, 99) n where k.id = $1`,
    [first.id],
  )
  expect((await ask(token, 'POST', '/keys', {})).document.error.message).toContain('100 keys within a day')
  expect((await ask(token, 'POST', `/keys/${first.id}/rotate`, {})).status).toBe(409)
  expect((await ask(token, 'POST', `/keys/${first.id}/revoke`)).status).toBe(200)
})

test('an issuer that is written with a slash at its end has the same members', async () => {
  const policy = { group: 'ads', members: [], owners: [], mostKeys: 1, models: null, memberBudgetPico: null }
  const member = { subject: 'joe', name: 'joe', policy, isOwner: false, from: '127.0.0.1' }
  const terms = { memberDays: 1, mostMembers: 1_000, sessionSeconds: 300 }
  const names: string[] = []
  for (const issuer of ['https://login.example.com', 'https://login.example.com/']) {
    const today = utcDayOf(Date.now())
    const arrival = await signInMember(stack.pool, { issuer, ...member }, terms, PEPPER, today)
    names.push('made' in arrival ? arrival.made.client : arrival.refused)
  }
  expect(names).toEqual(['member:joe', 'member:joe'])
})

test('two browsers that sign in one new person at once make one client', async () => {
  people.ian = ['ads']
  const tokens = await Promise.all([signIn('ian'), signIn('ian')])
  for (const token of tokens) expect((await ask(token, 'GET', '/account')).status).toBe(200)
  const { rows } = await stack.pool.query(
    `select count(*)::int as clients from tallygate.clients where name like 'member:ian%'`,
  )
  expect(rows).toEqual([{ clients: 1 }])
})

test('keys are of models that the group allows, whatever is asked for', async () => {
  const token = await signIn('bob')
  for (const models of [['*'], ['o1'], ['gpt-4*'], ['gpt-4o*'], ['gpt-4o', 'claude-3'], ['GPT-4O'], []])
    expect((await ask(token, 'POST', '/keys', { models })).status, models.join()).toBe(400)
  for (const more of [{ client: 'member:cat@example.com' }, { expires_in: '90d' }, { of_member: null }])
    expect((await ask(token, 'POST', '/keys', more)).status).toBe(400)
  const made = await makeKey(token, { models: ['gpt-4o-mini-2024*'] })
  const { rows } = await stack.pool.query('select models from tallygate.keys where id = $1', [made.id])
  expect(rows).toEqual([{ models: ['gpt-4o-mini-2024*'] }])
  await revokeAll(token)
})

test('who moves to another group at the company is there from today on, with keys that it allows', async () => {
  const token = await signIn('guy')
  const made = await makeKey(token)
  expect((await ask(token, 'GET', '/account')).document.member).toMatchObject({ group: 'ads', models: null })
  people.guy = ['search']
  const then = await signIn('guy')
  expect((await clientOf('guy')).group).toBe('search')
  // Its key was of every model.
  await expect.poll(async () => (await call(made.key)).code).toBe('key_inactive')
  expect((await ask(then, 'GET', '/account')).document.member).toMatchObject({ group: 'search' })
  // What the operator moves has no policy where there is none.
  const { rows } = await stack.pool.query(
    `select id from tallygate.clients where name = 'member:guy@example.com'`,
  )
  await moveInto(stack.pool, rows[0].id, null, utcDayOf(Date.now()))
  await expect.poll(async () => (await ask(then, 'GET', '/account')).document.member).toBe(null)
  expect((await ask(then, 'POST', '/keys', {})).status).toBe(403)
})

test('who is in no group of the configuration, or in one that is not made, is not let in', async () => {
  const { answer, browser } = await arrive('eve')
  expect([answer.statusCode, JSON.parse(answer.body).error.message]).toEqual([
    403,
    'The group that you are in is not there yet. Ask the operator to make it.',
  ])
  expect(await browser.takeToken()).toBe(null)
  people.eve = ['Search', 'search ', 'ｓearch', 'searc']
  expect((await arrive('eve')).answer.statusCode).toBe(403)
  const { rows } = await stack.pool.query(`select name from tallygate.clients where name like '%eve%'`)
  expect(rows).toEqual([])
})

test('an answer that another browser began, was used, or names another place does not sign in', async () => {
  const { browser, back } = await arrive('bob')
  expect((await browser.get(back)).statusCode).toBe(400)
  const attacker = newBrowser()
  const theirs = await company.signIn(await attacker.begin(), 'bob')
  const victim = newBrowser()
  expect((await victim.get(theirs)).statusCode).toBe(400)
  await victim.begin()
  expect((await victim.get(theirs)).statusCode).toBe(400)
  expect(await victim.takeToken()).toBe(null)
  for (const query of [
    'return_to=https://evil.example',
    'next=//evil.example',
    'redirect_uri=//evil.example',
  ])
    expect((await overNetwork({ url: `/portal/sign-in?${query}` })).statusCode).toBe(400)
  const led = await attacker.get(`${theirs}&return_to=https://evil.example`)
  expect(led.headers.location).toBe('http://127.0.0.1:9/portal#signed-in')
})

test('a token that was exchanged for a key, and one without an owner’s group, may not do more by any request', async () => {
  const member = await signIn('bob')
  const made = await makeKey(member)
  const session = await fetch(`${portal}/portal/v1/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${made.key}` },
  })
  const { token: reader } = (await session.json()) as { readonly token: string }
  const bob = await clientOf('bob')
  const routes = CLIENT_OPERATIONS.flatMap(({ http, role }) => ('path' in http ? [{ ...http, role }] : []))
  expect(routes.filter(({ role }) => role !== 'client')).toHaveLength(6)
  for (const { method, path, role } of routes) {
    const url = path.replace('{id}', path.startsWith('/keys') ? made.id : bob.id)
    const body = method === 'GET' ? undefined : { budget_usd: '1', role: 'owner', is_owner: true }
    if (role !== 'client') expect((await ask(reader, method, url, body)).status, url).toBe(403)
    if (role === 'owner') expect((await ask(member, method, url, body)).status, url).toBe(403)
  }
  await revokeAll(member)
})

test('no token sees or changes what is of another member or group, whatever the route', async () => {
  const tokens = { bob: await signIn('bob'), dan: await signIn('dan'), ann: await signIn('ann') }
  const catToken = await signIn('cat')
  const cat = await clientOf('cat')
  const made = await makeKey(catToken, { name: 'the key of cat' })
  const signs = [cat.name, cat.id, made.id, made.key.slice(0, 11), 'the key of cat']
  // An owner of the group is shown the name and the beginning, and never the id of the key.
  const seen = (await ask(tokens.ann, 'GET', '/members')).text
  for (const sign of signs.filter((one) => one !== made.id)) expect(seen).toContain(sign)
  for (const token of [tokens.bob, tokens.dan])
    for (const { http } of CLIENT_OPERATIONS) {
      if (!('path' in http)) continue
      for (const id of [made.id, cat.id]) {
        const path = http.path.replace('{id}', id)
        const queries = http.method === 'GET' ? ['', `?cursor=${id}`] : ['']
        const body = http.path.endsWith('budget')
          ? { budget_usd: '1' }
          : http.path === '/keys'
            ? { name: id }
            : {}
        if (http.method === 'POST' && http.path === '/keys') continue
        for (const query of queries) {
          const { status, text } = await ask(
            token,
            http.method,
            path + query,
            http.method === 'GET' ? undefined : body,
          )
          expect(status, path).toBeLessThan(500)
          if (path !== http.path) expect([403, 404], path).toContain(status)
          for (const sign of signs.filter((one) => !path.includes(one) && !query.includes(one)))
            expect(text.includes(sign), `${path}${query} shows ${sign}: ${text}`).toBe(false)
        }
      }
    }
  expect((await ask(tokens.ann, 'POST', `/keys/${made.id}/revoke`)).status).toBe(404)
  await expect.poll(async () => (await call(made.key)).status).toBe(200)
  await revokeAll(catToken)
})

test('who signs out has no token any more, and is led to the provider; no route is an operator’s', async () => {
  const { browser } = await arrive('bob')
  const token = (await browser.takeToken()) ?? ''
  const ended = await browser.post('/portal/sign-in/end', { authorization: `Bearer ${token}` })
  expect(JSON.parse(ended.body).url).toMatch(`${company.issuer}/session/end?`)
  await expect.poll(async () => (await ask(token, 'GET', '/account')).status).toBe(401)
  for (const path of ['/admin/v1/keys', '/admin/v1/clients', '/dashboard', '/metrics', '/sign-in'])
    expect((await overNetwork({ url: path })).statusCode).toBe(404)
  expect((await overNetwork({ url: '/portal' })).body).toContain('data-sign-in')
})
