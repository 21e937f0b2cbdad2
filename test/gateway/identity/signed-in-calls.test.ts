import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { revokeKey, rotateKey } from '../../../src/keys/keys.ts'
import { makeSigningSecret } from '../../../src/keys/signing-secrets.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { JWKS, type Members, tokenOf } from './provider.ts'

const SECRET = 'the-secret-of-this-test-long-enough'
const provider = createServer((_request, response) => response.end(JWKS))
const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-identity-'))
const REVOKED = join(folder, 'revoked')
let upstream: TestUpstream
let sockets: WebSocketServer
let stack: TestStack

beforeAll(async () => {
  await once(provider.listen(0, '127.0.0.1'), 'listening')
  const { port } = provider.address() as AddressInfo
  writeFileSync(REVOKED, '# leavers\n')
  const file = join(folder, 'tallygate.yaml')
  writeFileSync(
    file,
    `axes:
  - name: mail
    from: [{ claim: [contact, mail] }]
identity:
  most_keys: 6
  most_clients: 2
  issuers:
    - name: corp
      issuer: https://login.example.com/
      audience: [tallygate, other]
      jwks_url: http://127.0.0.1:${port}/keys
      clock_skew_seconds: 0
      client: { claim: team }
      revoked_file: ${REVOKED}
  proxy:
    secret_env: PROXY_SECRET
    client: header
`,
  )
  upstream = await startUpstream()
  sockets = new WebSocketServer({ server: upstream.server })
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: file, PROXY_SECRET: SECRET } })
})

afterAll(async () => {
  await stack?.stop()
  sockets?.close()
  await upstream?.close()
  provider.close()
  rmSync(folder, { recursive: true, force: true })
})

function bearer(claims: Members = {}): Record<string, string> {
  return { authorization: `Bearer ${tokenOf(Date.now(), claims)}` }
}

const CHAT = { method: 'POST', body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}' }

async function ask(headers: Record<string, string>, path = '/v1/chat/completions', init: object = CHAT) {
  const answer = await fetch(stack.url + path, { ...init, headers })
  return { status: answer.status, body: (await answer.json()) as Members }
}

/** Keys of identities, by their names. */
async function keysOf(name: string): Promise<readonly { id: string; client: string }[]> {
  const { rows } = await stack.pool.query(
    `select k.id, c.name as client from tallygate.keys k join tallygate.clients c on c.id = k.client_id
     where k.name = $1 order by client`,
    [name],
  )
  return rows
}

/** A session that is open at both ends. */
async function openSession(headers: Record<string, string>): Promise<WebSocket> {
  const session = new WebSocket(`${stack.url.replace('http', 'ws')}/v1/live`, { headers })
  session.on('error', () => {})
  await once(session, 'open')
  return session
}

test('a person that is seen for the first time has a key and a client, and its calls are counted as with a key', async () => {
  const ann = bearer({ contact: { mail: 'ann@example.com' } })
  expect(await ask(ann)).toMatchObject({ status: 200 })
  expect(await ask({ 'x-api-key': ann.authorization?.slice(7) ?? '' })).toMatchObject({ status: 200 })
  expect(await ask(ann, '/v1/models', {})).toMatchObject({ body: { data: [{}, {}] } })
  await expect
    .poll(async () => (await ask(ann, '/v1/usage?group_by=key', {})).body)
    .toMatchObject({ client: 'research', requests: 2 })
  const { rows: calls } = await stack.pool.query(
    'select axes, count(*)::int from tallygate.calls group by axes',
  )
  expect(calls).toEqual([{ axes: 'mail=ann@example.com', count: 2 }])
  const [key] = await keysOf('ann')
  expect(key).toMatchObject({ client: 'research', id: expect.stringMatching(/^key_/) })
  const { rows } = await stack.pool.query(
    `select a.who, a.about, array_agg(c.what order by c.place) as what
     from tallygate.audit a join tallygate.audit_changes c on c.audit_id = a.id
     where operation = 'identity.first_seen' group by a.id`,
  )
  expect(rows).toEqual([{ who: 'identity:corp', about: { key: key?.id }, what: ['clients', 'keys'] }])
  expect(upstream.requests.map(({ rawHeaders }) => rawHeaders.join('\n')).join('\n')).not.toMatch(/eyJ/)
})

test('clients and keys are made up to the bounds, and nothing is made for those who find no room', async () => {
  const proxied = (subject: string, client: string) => ({
    'x-tallygate-proxy-secret': SECRET,
    'x-tallygate-subject': subject,
    'x-tallygate-client': client,
  })
  expect((await ask(proxied('pat', 'sales'))).status).toBe(200)
  expect(await ask(bearer({ sub: 'mallory', team: 'another' }))).toMatchObject({
    status: 401,
    body: { error: { message: 'The token is refused: there are as many identities or clients as may be.' } },
  })
  for (const sub of ['bob', 'carol', 'dave', 'eve']) expect((await ask(bearer({ sub }))).status).toBe(200)
  expect((await ask(bearer({ sub: 'frank' }))).status).toBe(401)
  const { rows } = await stack.pool.query('select name from tallygate.clients order by name')
  expect(rows.map(({ name }) => name)).toEqual(['research', 'sales'])
  expect(await keysOf('frank')).toEqual([])
})

test('no secret of ours is made for an identity: a person who leaves has none', async () => {
  const [key] = await keysOf('ann')
  const id = key?.id ?? ''
  expect(await makeSigningSecret(stack.pool, id, 'pepper')).toBe('inactive')
  const rotated = await inTransaction(stack.pool, (session) => rotateKey(session, id, 60, 'pepper'))
  expect(rotated.kind).toBe('inactive')
})

test('a key that is revoked refuses its person, with any token, and ends the open session', async () => {
  const session = await openSession(bearer({ sub: 'bob' }))
  const [key] = await keysOf('bob')
  await Promise.all([once(session, 'close'), revokeKey(stack.pool, key?.id ?? '')])
  await expect.poll(async () => (await ask(bearer({ sub: 'bob' }))).status).toBe(403)
})

test('the list of revoked subjects and tokens is read again while the gateway runs, and ends their sessions', async () => {
  const session = await openSession(bearer({ sub: 'carol' }))
  const dave = bearer({ sub: 'dave', jti: 'lost' })
  expect((await ask(dave)).status).toBe(200)
  writeFileSync(REVOKED, 'sub carol\njti  lost\n')
  await once(session, 'close')
  expect(await ask(bearer({ sub: 'carol' }))).toMatchObject({
    status: 401,
    body: { error: { message: 'The token is refused: it is revoked.' } },
  })
  expect((await ask(dave)).status).toBe(401)
  expect((await ask(bearer({ sub: 'dave' }))).status).toBe(200)
})

test('a session ends with the token that it was opened with', async () => {
  const session = await openSession(bearer({ sub: 'eve', exp: Date.now() / 1_000 + 2 }))
  const [code] = await once(session, 'close')
  expect(code).toBe(1008)
})
