import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { json } from '../cli/command-line.ts'
import { type Operator, startOperator } from '../operator/support/operator.ts'
import { startReceiver, status, type TestReceiver } from './receiver.ts'

let operator: Operator
let receiver: TestReceiver

beforeAll(async () => {
  operator = await startOperator()
  receiver = await startReceiver()
  await operator.ask({ method: 'POST', url: '/admin/v1/clients', payload: { name: 'acme' } })
})
afterAll(async () => {
  await receiver.stop()
  await operator.close()
})

const post = (payload: object) => operator.ask({ method: 'POST', url: '/admin/v1/alerts', payload })
const order = (changes: object = {}) => ({ url: receiver.url, on: ['budget'], ...changes })
const madeShape = z.looseObject({ id: z.string(), secret: z.string() })

test('a receiver is added, listed, tested and removed, as the command line shows it', async () => {
  const { status: code, document } = await post(order({ thresholds: [90, 10], client: 'acme' }))
  const { secret, ...made } = madeShape.parse(document)
  expect(code).toBe(201)
  expect(secret).toMatch(/^[0-9A-Za-z]{43}$/)
  expect(made).toMatchObject({ on: ['budget'], thresholds: [10, 90], client: 'acme', last_delivery: null })
  const listed = await operator.ask('/admin/v1/alerts')
  expect(listed).toEqual({ status: 200, document: [made] })
  expect(await json({ DATABASE_URL: operator.database.url }, 'alerts', 'list')).toEqual([made])
  receiver.answer(status(503))
  const url = `/admin/v1/alerts/${made.id}`
  expect(await operator.ask({ method: 'POST', url: `${url}/test` })).toMatchObject({
    status: 200,
    document: { delivered: false, status: 503, error: 'it answered 503' },
  })
  expect(await operator.ask({ method: 'DELETE', url })).toEqual({ status: 200, document: made })
  for (const [method, path] of [
    ['DELETE', url],
    ['POST', `${url}/test`],
  ] as const)
    expect(await operator.ask({ method, url: path })).toMatchObject({ status: 404 })
})

test.each([
  [{ on: ['weather'] }, 400, 'on.0'],
  [{ on: [] }, 400, 'on'],
  [{ on: ['gap'], client: 'acme' }, 400, 'client'],
  [{ url: 'file:///etc/passwd' }, 400, 'url'],
  [{ thresholds: [0] }, 400, 'thresholds'],
  [{ secret: 'short' }, 400, 'secret'],
  [{ client: 'other' }, 404, 'client'],
])('what cannot work is refused, with its parameter: %j', async (changes, code, param) => {
  expect(await post(order(changes))).toMatchObject({ status: code, document: { error: { param } } })
})
