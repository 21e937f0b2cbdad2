import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOperatorToken, revokeOperatorToken } from '../../src/keys/tokens/operator-tokens.ts'
import { mayDo, OPERATOR_ROLES, type OperatorRole } from '../../src/operations/operation.ts'
import { OPERATIONS } from '../../src/operator/chapters.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

let operator: Operator
const tokens = new Map<OperatorRole, string>()

beforeAll(async () => {
  operator = await startOperator()
  for (const role of OPERATOR_ROLES) tokens.set(role, await makeToken(`the ${role}`, role))
})

afterAll(() => operator.close())

async function makeToken(name: string, role: OperatorRole, expiresInSeconds = 600): Promise<string> {
  const made = await createOperatorToken(operator.pool, { name, role, expiresInSeconds }, 'pepper')
  if (made === null) throw new Error(`there is a token ${name}`)
  return made.token
}

async function statusOf(token: string, url = '/admin/v1/clients', remoteAddress = '127.0.0.1') {
  const { statusCode } = await operator.app.inject({
    url,
    remoteAddress,
    headers: { authorization: `Bearer ${token}` },
  })
  return statusCode
}

const ROUTES = OPERATIONS.flatMap(({ http, role, name }) => ('path' in http ? [{ ...http, role, name }] : []))

test('each operation needs its role, or one that includes it, before its body is read', async () => {
  for (const { method, path, role: needed } of ROUTES)
    for (const role of OPERATOR_ROLES) {
      const { statusCode, body } = await operator.app.inject({
        method,
        // One that no operation has: what is allowed is then refused for it.
        url: `/admin/v1${path.replace(/\{\w+\}/g, 'none')}?nobody_has_this=1`,
        headers: { authorization: `Bearer ${tokens.get(role)}`, 'content-type': 'application/json' },
        ...(method === 'GET' || method === 'DELETE' ? {} : { payload: '{}' }),
      })
      const allowed = [400, { error: { param: 'nobody_has_this' } }]
      const refused = [
        403,
        {
          error: {
            type: 'permission_error',
            code: 'role_required',
            message: `This needs a token of the role ${needed}, and the ${role} has the role ${role}.`,
          },
        },
      ]
      expect([statusCode, JSON.parse(body)], `${role} ${method} ${path}`).toMatchObject(
        mayDo(role, needed) ? allowed : refused,
      )
    }
})

test('no role of an operator includes that of a client, nor the other way', () => {
  for (const role of OPERATOR_ROLES)
    expect([mayDo(role, 'client'), mayDo('client', role)]).toEqual([false, false])
})

test('a token is shown once, kept as a digest, listed without it, and refused within a second of its end', async () => {
  const { ask, pool } = operator
  const { status, document } = await ask({
    method: 'POST',
    url: '/admin/v1/tokens',
    payload: { name: 'ci', role: 'read', expires_in: '1h' },
  })
  expect([status, document]).toMatchObject([201, { name: 'ci', role: 'read' }])
  const { token, id } = document as { token: string; id: string }
  expect(await statusOf(token)).toBe(200)
  const { rows } = await pool.query(`select row_to_json(t)::text as kept from tallygate.operator_tokens t`)
  const listed = JSON.stringify((await ask('/admin/v1/tokens')).document)
  for (const text of [JSON.stringify(rows), listed, operator.log()]) expect(text).not.toContain(token)
  expect(listed).toContain(id)
  const again = await ask({ method: 'POST', url: '/admin/v1/tokens', payload: { name: 'ci', role: 'admin' } })
  expect(again).toMatchObject({ status: 409 })
  await ask({ method: 'POST', url: '/admin/v1/tokens/ci/revoke' })
  await expect.poll(() => statusOf(token)).toBe(401)
  const next = await ask({ method: 'POST', url: '/admin/v1/tokens', payload: { name: 'ci', role: 'read' } })
  expect(next.status).toBe(201)
})

test('a token whose time is over is refused, and gives its name to the next', async () => {
  const token = await makeToken('short', 'read')
  expect(await statusOf(token)).toBe(200)
  await operator.pool.query(`update tallygate.operator_tokens set expires_at = now() where name = 'short'`)
  await expect.poll(() => statusOf(token)).toBe(401)
  await makeToken('short', 'read')
})

test('a token may not have the name of the variable, and ends', async () => {
  const named = (payload: object) => operator.ask({ method: 'POST', url: '/admin/v1/tokens', payload })
  expect(await named({ name: 'ADMIN_TOKEN', role: 'read' })).toMatchObject({
    status: 400,
    document: { error: { param: 'name' } },
  })
  expect((await named({ name: 'one', role: 'owner' })).status).toBe(400)
  expect((await named({ name: 'one', role: 'read', expires_in: '0s' })).status).toBe(400)
})

test('who guesses waits, and who has a token of 32 characters does not wait for those who guess', async () => {
  const address = '192.0.2.99'
  const known = tokens.get('read') ?? ''
  expect(await statusOf(known, undefined, address)).toBe(200)
  const statuses = []
  for (let guess = 0; guess < 40; guess += 1) statuses.push(await statusOf('guess', undefined, address))
  expect(statuses).toEqual([...Array(30).fill(401), ...Array(10).fill(429)])
  const { headers, body } = await operator.app.inject({
    url: '/admin/v1/clients',
    remoteAddress: address,
    headers: { authorization: 'Bearer guess' },
  })
  expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'too_many_guesses' } })
  const without = await operator.app.inject({ url: '/admin/v1/clients', remoteAddress: address })
  expect(without.statusCode).toBe(401)
  // One that was never seen here is looked up as well.
  expect(await statusOf(tokens.get('write') ?? '', undefined, address)).toBe(200)
  expect(await statusOf(known, undefined, address)).toBe(200)
  // The one of these tests is short: it might be guessed.
  expect(await statusOf(TOKEN, undefined, address)).toBe(429)
  expect(await statusOf(TOKEN)).toBe(200)
})

test('a token is ended by its name or its id', async () => {
  await makeToken('by name', 'read')
  expect(await revokeOperatorToken(operator.pool, 'by name')).toMatchObject({ name: 'by name' })
  expect(await revokeOperatorToken(operator.pool, 'nothing')).toBeNull()
})
