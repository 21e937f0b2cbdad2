import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setClientDisabled } from '../../src/keys/clients.ts'
import { createOperatorToken } from '../../src/keys/tokens/operator-tokens.ts'
import { OPERATIONS } from '../../src/operator/chapters.ts'
import { json, run } from '../cli/command-line.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

let operator: Operator
let token = ''

beforeAll(async () => {
  operator = await startOperator()
  const order = { name: 'ci', role: 'write', expiresInSeconds: 600 } as const
  token = (await createOperatorToken(operator.pool, order, 'pepper'))?.token ?? ''
})

afterAll(() => operator.close())

interface Audited {
  readonly id: string
  readonly who: string
  readonly from: string
  readonly operation: string
  readonly about: Record<string, unknown> | null
  readonly changes: readonly { what: string; id: string; before: unknown; after: unknown }[]
}

async function audit(query = ''): Promise<readonly Audited[]> {
  return (await operator.ask(`/admin/v1/audit?limit=100${query}`)).document as Audited[]
}

async function post(url: string, payload?: object, as = TOKEN) {
  const { statusCode, body } = await operator.app.inject({
    method: 'POST',
    url: `/admin/v1${url}`,
    remoteAddress: '192.0.2.5',
    headers: { authorization: `Bearer ${as}` },
    ...(payload === undefined ? {} : { payload }),
  } satisfies InjectOptions)
  return { status: statusCode, document: JSON.parse(body) }
}

test('a change is written down with who, from where, and what differs before and after', async () => {
  const { document: client } = await post('/clients', { name: 'acme' }, token)
  const { document: key } = await post('/keys', { client: 'acme', name: 'laptop' }, token)
  await post(`/clients/${client.id}/disable`)
  await post('/limits', { client: 'acme', kind: 'budget', per: 'month', limit: '5' })
  await post('/limits', { client: 'acme', kind: 'budget', per: 'month', limit: '7.5' })
  await post(`/keys/${key.id}/revoke`, undefined, token)
  const rows = await audit()
  expect(rows.map(({ who, from, operation }) => `${who} ${from} ${operation}`)).toEqual([
    'ci 192.0.2.5 keys.revoke',
    'ADMIN_TOKEN 192.0.2.5 limits.set',
    'ADMIN_TOKEN 192.0.2.5 limits.set',
    'ADMIN_TOKEN 192.0.2.5 clients.disable',
    'ci 192.0.2.5 keys.create',
    'ci 192.0.2.5 clients.create',
  ])
  const [revoked, raised, , disabled, made] = rows
  expect(revoked).toMatchObject({
    about: { key: key.id },
    changes: [
      { what: 'keys', id: key.id, before: { revoked_at: null }, after: { revoked_at: expect.any(String) } },
    ],
  })
  expect(raised?.changes).toMatchObject([
    { what: 'limits', before: { amount: '5000000000000' }, after: { amount: '7500000000000' } },
  ])
  expect(disabled?.changes).toEqual([
    { what: 'clients', id: client.id, before: { disabled: false }, after: { disabled: true } },
  ])
  expect(made?.changes).toMatchObject([{ what: 'keys', id: key.id, before: null, after: { name: 'laptop' } }])
  expect(JSON.stringify(rows)).not.toContain(key.key)
})

test('no row of the audit holds a secret, whatever is made', async () => {
  await post('/clients', { name: 'secretive' })
  const { document: key } = await post('/keys', { client: 'secretive' })
  const secrets = [key.key]
  secrets.push((await post(`/keys/${key.id}/sigv4`)).document.secret_access_key)
  secrets.push((await post(`/keys/${key.id}/rotate`, {})).document.key)
  secrets.push((await post('/tokens', { name: 'new', role: 'read' })).document.token)
  secrets.push((await post('/clients/secretive/portal-tokens', {})).document.token)
  const receiver = { url: 'https://example.com/hook?token=hidden', on: ['budget'] }
  secrets.push((await post('/alerts', receiver)).document.secret, 'hidden')
  const { rows } = await operator.pool.query(
    `select (select json_agg(a) from tallygate.audit a)::text || (select json_agg(c) from tallygate.audit_changes c)::text as all`,
  )
  const [{ all }] = rows as [{ all: string }]
  for (const secret of secrets) {
    expect(secret).toBeTruthy()
    expect(all).not.toContain(secret)
  }
  for (const name of ['digest', 'salt', 'pepper', 'secret_']) expect(all).not.toContain(name)
})

test('what is refused, and what changes nothing, leaves no row and changes nothing', async () => {
  const before = await audit()
  expect((await post('/clients', { name: 'acme' })).status).toBe(409)
  expect((await post('/keys', { client: 'nobody' })).status).toBe(404)
  expect((await post('/keys/key_none/revoke')).status).toBe(404)
  expect((await post('/apply', { document: 'alerts: []' })).status).toBe(200)
  expect(await audit()).toEqual(before)
})

test('a change that cannot be written down is not made', async () => {
  await operator.pool.query(
    `alter table tallygate.audit add constraint never check (operation <> 'clients.create') not valid`,
  )
  try {
    expect((await post('/clients', { name: 'unwritten' })).status).toBe(503)
  } finally {
    await operator.pool.query('alter table tallygate.audit drop constraint never')
  }
  const { document } = await operator.ask('/admin/v1/clients')
  expect(JSON.stringify(document)).not.toContain('unwritten')
})

test('the list goes on behind a cursor, and keeps to who, what, which and when', async () => {
  const all = await audit()
  const first = await operator.app.inject({
    url: '/admin/v1/audit?limit=2',
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  const cursor = first.headers['x-tallygate-next-cursor']
  expect([...first.json(), ...(await audit(`&cursor=${cursor}`))]).toEqual(all)
  const [last] = all
  expect(await audit('&who=ci')).toEqual(all.filter(({ who }) => who === 'ci'))
  expect(await audit('&operation=keys.revoke')).toHaveLength(1)
  const of = last?.changes[0]?.id ?? ''
  expect(await audit(`&of=${of}`)).toEqual(all.filter(({ changes }) => changes.some(({ id }) => id === of)))
  expect(await audit('&to=2020-01-01')).toEqual([])
  expect(await audit('&from=2020-01-01')).toEqual(all)
  expect(await operator.ask('/admin/v1/audit?from=2020-01-02&to=2020-01-01')).toMatchObject({ status: 400 })
})

test('changes outside of an operation leave no row, and bulk changes keep 1,000 rows', async () => {
  const { pool } = operator
  const before = await audit()
  await setClientDisabled(pool, 'acme', false)
  expect(await audit()).toEqual(before)
  const session = await pool.connect()
  try {
    await session.query('begin')
    await session.query(
      `insert into tallygate.audit (who, origin, operation) values ('bulk', 'x', 'x')
       returning set_config('tallygate.audit', id::text, true)`,
    )
    await session.query(
      `insert into tallygate.clients (id, name, version) select 'cli_' || n, 'client ' || n, 0 from generate_series(1, 1200) n`,
    )
    const { rows } = await session.query(
      `select count(*)::int as rows from tallygate.audit_changes where audit_id = current_setting('tallygate.audit')::bigint`,
    )
    expect(rows).toEqual([{ rows: 1_000 }])
  } finally {
    await session.query('rollback')
    session.release()
  }
})

test('commands are written down with the user of the system, or who is named', async () => {
  const env = {
    DATABASE_URL: operator.database.url,
    REDIS_URL: operator.keys.redisUrl,
    REDIS_PREFIX: operator.keys.prefix,
    KEY_PEPPER: 'pepper',
  }
  await json(env, 'client', 'create', 'by command', '--by', 'alice')
  expect(await json(env, 'audit', '--who', 'alice')).toMatchObject([
    { who: 'alice', from: expect.stringMatching(/^command line on ./), operation: 'clients.create' },
  ])
  expect((await run(env, 'audit', '--who', 'alice')).out).toContain('made, name by command')
})

test('every operation that can write says what it changes, unless it changes nothing of ours', () => {
  const silent = OPERATIONS.flatMap(({ name, role, changes }) =>
    role !== 'read' && changes === undefined ? [name] : [],
  )
  expect(silent).toMatchInlineSnapshot(`
    [
      "secrets.show",
      "alerts.test",
      "ledger.claim",
      "journal.drain",
      "migrate",
      "backup",
      "restore",
      "prove",
      "diff",
    ]
  `)
})
