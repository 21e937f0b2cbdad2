import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { isKeyShaped } from '../../src/domain/api-key.ts'
import { json, run } from '../cli/command-line.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})

afterAll(() => operator.close())

const time = z.iso.datetime()
const clientShape = z.strictObject({
  id: z.string().regex(/^cli_[0-9A-Za-z]+$/),
  name: z.string(),
  disabled: z.boolean(),
  created_at: time,
})
const newKeyShape = z.strictObject({
  id: z.string().regex(/^key_[0-9A-Za-z]+$/),
  client: z.string(),
  name: z.string(),
  prefix: z.string(),
  key: z.string().refine(isKeyShaped),
  expires_at: time.nullable(),
})

function post(url: string, payload?: object): InjectOptions {
  return { method: 'POST', url: `/admin/v1${url}`, ...(payload === undefined ? {} : { payload }) }
}

async function makeClient(name: string) {
  const { status, document } = await operator.ask(post('/clients', { name }))
  expect(status).toBe(201)
  return clientShape.parse(document)
}

async function makeKey(order: object) {
  const { status, document } = await operator.ask(post('/keys', order))
  expect(status).toBe(201)
  return newKeyShape.parse(document)
}

/** What the command line prints for the same request. */
function environment() {
  return { DATABASE_URL: operator.database.url, KEY_PEPPER: 'pepper' }
}

async function fromCommandLine(...args: string[]): Promise<unknown> {
  return await json(environment(), ...args)
}

test('a client is made, listed, disabled and enabled, as the command line shows it', async () => {
  const made = await makeClient('acme')
  expect(made).toMatchObject({ name: 'acme', disabled: false })
  const disabled = await operator.ask(post(`/clients/${made.id}/disable`))
  expect(disabled).toEqual({ status: 200, document: { ...made, disabled: true } })
  const listed = await operator.ask('/admin/v1/clients')
  expect(listed.document).toContainEqual({ ...made, disabled: true })
  expect(listed.document).toEqual(await fromCommandLine('client', 'list'))
  expect((await operator.ask(post(`/clients/${made.id}/enable`))).document).toEqual(made)
})

test('a key is made, listed, rotated and revoked, as the command line shows it', async () => {
  await makeClient('keyed')
  const made = await makeKey({ client: 'keyed', name: 'laptop', expires_in: '90d', models: ['gpt-4o', 'o*'] })
  const { key, ...rest } = made
  expect(rest).toMatchObject({ client: 'keyed', name: 'laptop', prefix: key.slice(0, 11) })
  expect(Date.parse(made.expires_at ?? '') / 1_000).toBeCloseTo(Date.now() / 1_000 + 90 * 86_400, -2)

  const list = async () => (await operator.ask('/admin/v1/keys?client=keyed')).document
  expect(await list()).toEqual([{ ...rest, revoked_at: null, last_used_at: null }])
  expect(await list()).toEqual(await fromCommandLine('key', 'list', '--client', 'keyed'))

  const { status, document } = await operator.ask(post(`/keys/${made.id}/rotate`, { overlap: '0' }))
  expect(status).toBe(201)
  const young = newKeyShape.parse(document)
  expect(young).toMatchObject({ client: 'keyed', name: 'laptop' })
  expect(young.key).not.toBe(key)

  const revoked = await operator.ask(post(`/keys/${young.id}/revoke`))
  expect(revoked.status).toBe(200)
  expect(revoked.document).toMatchObject({ id: young.id, revoked_at: expect.any(String) })
  expect(await list()).toEqual(await fromCommandLine('key', 'list', '--client', 'keyed'))
})

test('lists of clients and keys come in parts too, each item once, as the command line shows them', async () => {
  for (const client of ['part b', 'part a', 'part c']) {
    await makeClient(client)
    for (const name of ['one', 'two']) await makeKey({ client, name })
  }
  for (const [list, args] of [
    ['clients', ['client', 'list']],
    ['keys', ['key', 'list']],
    ['keys?client=part b', ['key', 'list', '--client', 'part b']],
  ] as const) {
    const whole = z.array(z.looseObject({ id: z.string() })).parse(await fromCommandLine(...args))
    for (const limit of [1, 2, 1000]) {
      const items: unknown[] = []
      for (let cursor = ''; ; ) {
        const query = `${list.includes('?') ? '&' : '?'}limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`
        const { headers, body } = await operator.app.inject({
          url: `/admin/v1/${list}${query}`.replaceAll(' ', '%20'),
          headers: { authorization: `Bearer ${TOKEN}` },
        })
        const part = z.array(z.looseObject({ id: z.string() })).parse(JSON.parse(body))
        items.push(...part)
        const next = headers['x-tallygate-next-cursor']
        if (next === undefined) break
        expect(part).toHaveLength(limit)
        expect(next).toBe(part.at(-1)?.id)
        cursor = String(next)
      }
      expect(items).toEqual(whole)
    }
    const { out, err } = await run(environment(), ...args, '--limit', '1', '--json')
    expect(JSON.parse(out)).toEqual(whole.slice(0, 1))
    expect(err).toBe(`tallygate: there is more behind these: --cursor ${whole[0]?.id}\n`)
  }
})

test.each([
  ['clients?limit=0', 'limit'],
  ['clients?cursor=cli_nobody', 'cursor'],
  ['clients?limit=1&cursor=cli_nobody', 'cursor'],
  ['clients?LIMIT=1', 'LIMIT'],
  ['keys?limit=1&limit=2', 'limit'],
  ['keys?cursor=key_nobody', 'cursor'],
  ['keys?after=x', 'after'],
])('/%s is a 400 that names %s', async (path, param) => {
  const { status, document } = await operator.ask(`/admin/v1/${path}`)
  expect(status).toBe(400)
  expect(document).toMatchObject({ error: { type: 'invalid_request_error', param } })
})

test('a key’s secret is in the answer that makes it, and in no list, row or log', async () => {
  await makeClient('secretive')
  const { key } = await makeKey({ client: 'secretive' })
  const { document } = await operator.ask('/admin/v1/keys')
  const { rows } = await operator.pool.query('select * from tallygate.keys')
  for (const text of [JSON.stringify(document), JSON.stringify(rows), operator.log()]) {
    expect(text).not.toContain(key.slice(11))
  }
})

test('a key made here has the defaults of one made on the command line', async () => {
  await makeClient('plain')
  const { key: _key, prefix: _prefix, id: _id, ...rest } = await makeKey({ client: 'plain' })
  expect(rest).toEqual({ client: 'plain', name: 'default', expires_at: null })
  const { rows } = await operator.pool.query(
    'select models from tallygate.keys k join tallygate.clients c on c.id = k.client_id where c.name = $1',
    ['plain'],
  )
  expect(rows).toEqual([{ models: null }])
})

test('every change of clients or keys is announced to the gateways, reading them is not', async () => {
  const { id } = await makeClient('announced')
  const made = await makeKey({ client: 'announced' })
  for (const change of [
    post(`/clients/${id}/disable`),
    post(`/clients/${id}/enable`),
    post('/keys', { client: 'announced' }),
    post(`/keys/${made.id}/rotate`, {}),
    post(`/keys/${made.id}/revoke`),
  ]) {
    const before = operator.announcements()
    await operator.ask(change)
    expect(operator.announcements()).toBe(before + 1)
  }
  const before = operator.announcements()
  await operator.ask('/admin/v1/clients')
  await operator.ask('/admin/v1/keys')
  expect(operator.announcements()).toBe(before)
})

test('a change may be sent with the type of JSON and no body, or with no type', async () => {
  const { id } = await makeClient('bodiless')
  for (const headers of [{}, { 'content-type': 'application/json' }]) {
    expect((await operator.ask({ ...post(`/clients/${id}/disable`), headers })).status).toBe(200)
  }
  const key = await makeKey({ client: 'bodiless' })
  expect((await operator.ask({ ...post(`/keys/${key.id}/rotate`), headers: {} })).status).toBe(201)
})

test('names that would be markup come back as they were sent, as JSON that is not sniffed', async () => {
  const name = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>&amp;\'"'
  await makeClient(name)
  await makeKey({ client: name, name: '"><svg onload=alert(3)>' })
  const answer = await operator.app.inject({
    url: '/admin/v1/keys',
    query: { client: name },
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  expect(answer.json()).toMatchObject([{ client: name, name: '"><svg onload=alert(3)>' }])
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['x-content-type-options']).toBe('nosniff')
})

test.each([
  ['no name', '/clients', {}, 'name', 'name is missing.'],
  ['a name that is not a text', '/clients', { name: 7 }, 'name', 'name must be a text.'],
  ['an empty name', '/clients', { name: '' }, 'name', /^name must be 1 to 128 characters/],
  ['a name that moves the cursor', '/clients', { name: 'a\u{1b}[2J' }, 'name', /^name must be 1 to 128/],
  ['a name that turns the text', '/clients', { name: 'a\u{202e}b' }, 'name', /^name must be 1 to 128/],
  ['a name with half a character', '/clients', { name: 'a\ud800' }, 'name', /^name must be 1 to 128/],
  ['a name with a NUL', '/clients', { name: 'a\0b' }, 'name', /^name must be 1 to 128/],
  ['an unknown parameter', '/clients', { name: 'x', admin: true }, 'admin', 'There is no parameter admin.'],
  ['a list', '/clients', ['x'], null, 'Send a JSON object.'],
  ['a key without a client', '/keys', { name: 'x' }, 'client', 'client is missing.'],
  ['a label that is null', '/keys', { client: 'taken', name: null }, 'name', 'name must be a text.'],
  [
    'a time without a unit',
    '/keys',
    { client: 'taken', expires_in: '90' },
    'expires_in',
    /^expires_in must be/,
  ],
  ['a time as a number', '/keys', { client: 'taken', expires_in: 90 }, 'expires_in', /^expires_in must be/],
  ['no time at all', '/keys', { client: 'taken', expires_in: '0' }, 'expires_in', /longer than nothing\.$/],
  ['models as a text', '/keys', { client: 'taken', models: 'gpt-4o' }, 'models', /^models must be a list/],
  ['no model', '/keys', { client: 'taken', models: [] }, 'models', /^models must name a model/],
  [
    'a star inside a model',
    '/keys',
    { client: 'taken', models: ['o*', 'g*t'] },
    'models.1',
    /^models\.1 must/,
  ],
])('%s is a 400 that names the parameter, and changes nothing', async (_what, url, payload, param, says) => {
  await operator.ask(post('/clients', { name: 'taken' }))
  const count = () =>
    operator.pool.query('select (select count(*) from tallygate.clients), count(*) from tallygate.keys')
  const { rows: before } = await count()
  const { status, document } = await operator.ask(post(url, payload))
  expect(status).toBe(400)
  expect(document).toEqual({
    error: {
      message: typeof says === 'string' ? says : expect.stringMatching(says),
      type: 'invalid_request_error',
      param,
      code: null,
    },
  })
  expect((await count()).rows).toEqual(before)
})

test.each([
  ['POST', '/clients/cli_none/disable', {}, null],
  ['POST', '/clients/cli_none/enable', {}, null],
  ['POST', '/keys/key_none/revoke', {}, null],
  ['POST', '/keys/key_none/rotate', {}, null],
  ['POST', '/keys', { client: 'nobody' }, 'client'],
  ['GET', '/keys?client=nobody', undefined, 'client'],
  ['GET', '/usage?client=nobody', undefined, 'client'],
  ['GET', '/nothing', undefined, null],
] as const)('%s %s is a 404', async (method, path, payload, param) => {
  const body = payload === undefined ? {} : { payload }
  const { status, document } = await operator.ask({ method, url: `/admin/v1${path}`, ...body })
  expect(status).toBe(404)
  expect(document).toMatchObject({ error: { type: 'invalid_request_error', code: 'not_found', param } })
})

test('a name that is taken is a conflict that names the parameter', async () => {
  await operator.ask(post('/clients', { name: 'taken' }))
  expect(await operator.ask(post('/clients', { name: 'taken' }))).toMatchObject({
    status: 409,
    document: {
      error: { message: 'There is already a client named taken.', param: 'name', code: 'conflict' },
    },
  })
})

test('a client is disabled by its id or by its name', async () => {
  await operator.ask(post('/clients', { name: 'named here' }))
  expect(await operator.ask(post('/clients/named%20here/disable'))).toMatchObject({
    status: 200,
    document: { name: 'named here', disabled: true },
  })
})

test.each([
  ['a', 128],
  ['🙂', 128],
  // Such a character stays three in the path that is matched.
  ['/', 128],
])('a client is found by a name that is as long as may be: %s, %d times', async (character, times) => {
  const { name } = await makeClient(character.repeat(times))
  expect(await operator.ask(post(`/clients/${encodeURIComponent(name)}/disable`))).toMatchObject({
    status: 200,
    document: { name, disabled: true },
  })
})

test('a key that is revoked cannot be rotated', async () => {
  await makeClient('over')
  const { id } = await makeKey({ client: 'over' })
  await operator.ask(post(`/keys/${id}/revoke`))
  expect(await operator.ask(post(`/keys/${id}/rotate`))).toMatchObject({
    status: 409,
    document: { error: { param: 'id', message: `Key ${id} is revoked or expired.`, code: 'conflict' } },
  })
})

test.each([
  ['half a document', 'application/json', '{"name":', 400, 'The body is not valid JSON.'],
  ['a prototype', 'application/json', '{"__proto__":{"name":"x"}}', 400, 'The body is not valid JSON.'],
  ['another type', 'text/plain', '{"name":"x"}', 400, /content-type: application\/json/],
  ['a form', 'application/x-www-form-urlencoded', 'name=x', 400, /content-type: application\/json/],
  ['more than anyone needs', 'application/json', `{"name":"${'x'.repeat(70_000)}"}`, 413, /over the limit/],
])('%s as a body is refused', async (_what, type, payload, status, says) => {
  const answer = await operator.ask({ ...post('/clients'), payload, headers: { 'content-type': type } })
  expect(answer).toMatchObject({
    status,
    document: { error: { type: 'invalid_request_error', message: expect.stringMatching(says) } },
  })
})

test('a change says in the log what was changed, by id', async () => {
  const { id } = await makeClient('logged')
  await operator.ask(post(`/clients/${id}/disable`))
  expect(operator.log()).toMatch(new RegExp(`"client":"${id}".*"client disabled"`))
})
