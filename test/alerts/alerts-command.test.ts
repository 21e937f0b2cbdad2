import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { json, run } from '../cli/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { startReceiver, status, type TestReceiver } from './receiver.ts'

let database: TestDatabase
let receiver: TestReceiver
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  receiver = await startReceiver()
  folder = await mkdtemp(join(tmpdir(), 'alerts-'))
  env = { DATABASE_URL: database.url }
  await json(env, 'client', 'create', 'acme')
})
afterAll(async () => {
  await receiver.stop()
  await rm(folder, { recursive: true })
  await database.drop()
})

const receiverShape = z.strictObject({
  id: z.string().regex(/^rcv_[0-9A-Za-z]{20}$/),
  url: z.string(),
  format: z.enum(['generic', 'slack']),
  on: z.array(z.string()),
  thresholds: z.array(z.number()),
  client: z.string().nullable(),
  created_at: z.iso.datetime(),
  last_delivery: z.null(),
})
const newShape = receiverShape.extend({ secret: z.string().regex(/^[0-9A-Za-z]{43}$/) })

const add = (...args: string[]) => ['alerts', 'add', '--url', receiver.url, ...args]

test('a receiver is added, listed and removed, always in the same shape, its secret shown once', async () => {
  const { secret, ...added } = newShape.parse(
    await json(env, ...add('--on', 'budget,gap', '--thresholds', '90,10,90')),
  )
  expect(added).toMatchObject({
    on: ['budget', 'gap'],
    thresholds: [10, 90],
    client: null,
    format: 'generic',
  })
  expect(z.array(receiverShape).parse(await json(env, 'alerts', 'list'))).toEqual([added])
  const { out } = await run(env, 'alerts', 'list')
  expect(out).toContain(added.id)
  expect(out).not.toContain(secret)
  expect(await json(env, 'alerts', 'remove', added.id)).toEqual(added)
  expect(await json(env, 'alerts', 'list')).toEqual([])
})

test('a secret may come from a file, and then is not shown', async () => {
  const file = join(folder, 'secret')
  writeFileSync(file, `${'s'.repeat(32)}\n`)
  const added = await json(env, ...add('--on', 'budget', '--client', 'acme', '--secret-file', file))
  const { id } = receiverShape.parse(added)
  expect(added).toMatchObject({ client: 'acme', thresholds: [50, 80, 100] })
  await json(env, 'alerts', 'remove', id)
  writeFileSync(file, 'short')
  expect(await run(env, ...add('--on', 'budget', '--secret-file', file))).toMatchObject({
    code: 2,
    err: expect.stringContaining('--secret-file must be 32 to 200 characters'),
  })
})

test('a sample is sent now: what came back is said, and a failure is one', async () => {
  const { id } = newShape.parse(await json(env, ...add('--on', 'gap', '--format', 'slack')))
  expect(await json(env, 'alerts', 'test', id)).toMatchObject({ delivered: true, status: 200, error: null })
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '')).toHaveProperty('blocks')
  receiver.answer(status(404))
  const failed = await run(env, 'alerts', 'test', id, '--json')
  expect(failed.code).toBe(1)
  expect(JSON.parse(failed.out)).toMatchObject({ delivered: false, status: 404, error: 'it answered 404' })
  await json(env, 'alerts', 'remove', id)
})

test.each([
  [['--on', 'budget,weather'], 2, '--on must be some of budget'],
  [['--on', 'budget', '--thresholds', '50,0'], 2, 'whole percents'],
  [['--on', 'budget', '--thresholds', '1e2'], 2, 'whole percents'],
  [['--on', 'budget', '--url', 'ftp://localhost/'], 2, 'http or https'],
  [['--on', 'budget', '--url', 'https://me:secret@localhost/'], 2, 'user or password'],
  [['--on', 'budget', '--client', 'other'], 1, 'there is no client named other'],
  [['--on', 'budget,gap', '--client', 'acme'], 2, '--client does not go with gap'],
])('what cannot work is refused: %j', async (args, code, says) => {
  expect(await run(env, ...add(...args))).toMatchObject({ code, err: expect.stringContaining(says) })
})

test('a receiver that is not there is said to be so', async () => {
  for (const verb of ['remove', 'test'])
    expect(await run(env, 'alerts', verb, 'rcv_x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no receiver rcv_x'),
    })
})
