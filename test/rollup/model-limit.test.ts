import { afterAll, beforeAll, expect, test } from 'vitest'
import { createModelLimit } from '../../src/rollup/model-limit.ts'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aRecord } from './records.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

/** How many statements deciding on one call of each of these clients takes. */
async function statements(limit: ReturnType<typeof createModelLimit>, clients: readonly string[]) {
  return await inTransaction(ledger.pool, async (session) => {
    const { query } = session
    let count = 0
    const counting = Object.assign(Object.create(session), {
      query: (...args: Parameters<typeof query>) => {
        count += 1
        return query.apply(session, args)
      },
    })
    const { remember } = await limit.apply(
      counting,
      clients.map((clientId) => aRecord({ clientId })),
    )
    remember()
    return count
  })
}

test('clients that call go on being known when many others come, those that do not are dropped first', async () => {
  const limit = createModelLimit(500, 3)
  expect(await statements(limit, ['a'])).toBe(1)
  expect(await statements(limit, ['b'])).toBe(1)
  for (const other of ['c', 'd', 'e', 'f']) {
    expect(await statements(limit, ['a'])).toBe(0)
    expect(await statements(limit, [other])).toBe(1)
  }
  expect(await statements(limit, ['b'])).toBe(1)
})

test('a client that is known costs no statement, however many calls it made', async () => {
  const limit = createModelLimit()
  expect(await statements(limit, ['a', 'a', 'b'])).toBe(1)
  expect(await statements(limit, ['b', 'a', 'a', 'b'])).toBe(0)
})
