import { stat } from 'node:fs/promises'
import { Client } from 'pg'
import { expect, inject, test } from 'vitest'
import { createTestDatabase } from '../../support/servers/database.ts'
import { startPrivatePostgres } from '../../support/servers/servers.ts'

async function ask(url: string, query: string): Promise<unknown> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(query)).rows[0]
  } finally {
    await client.end()
  }
}

test('the run has one PostgreSQL, and every test database is its own', async () => {
  const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()])
  await ask(one.url, 'create table only_in_one (x int)')
  expect(await ask(two.url, "select to_regclass('only_in_one') as found")).toEqual({ found: null })
  await Promise.all([one.drop(), two.drop()])
  expect(inject('databaseUrl')).toMatch(/^postgres(ql)?:/)
})

test('a private server keeps its data over kill -9 and its port over restarts', async () => {
  const server = await startPrivatePostgres({ durable: true })
  await ask(server.url, 'create table kept as select 42 as answer')
  await server.kill()
  await expect(ask(server.url, 'select 1')).rejects.toThrow()
  await server.start()
  expect(await ask(server.url, 'select answer from kept')).toEqual({ answer: 42 })
  await server.stop()
  await expect(ask(server.url, 'select 1')).rejects.toThrow()
})

test('PostgreSQL does not run as root, and asks for a password', async () => {
  const server = await startPrivatePostgres()
  expect((await stat(`/proc/${server.pid}`)).uid).not.toBe(0)
  const otherAccount = new URL(server.url)
  otherAccount.password = 'guessed'
  await expect(ask(otherAccount.href, 'select 1')).rejects.toThrow(/password/)
  await server.stop()
})
