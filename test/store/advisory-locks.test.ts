import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADVISORY_LOCKS, PRICE_CATALOGS_LOCK } from '../../src/store/connection/advisory-locks.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'

let database: LedgerDatabase

beforeAll(async () => {
  database = await openLedgerDatabase(1)
})
afterAll(() => database.drop())

test('no two advisory locks have one number, and every number fits both forms of the lock', async () => {
  const { rows } = await database.pool.query<{ hash: number }>('select hashtext($1) as hash', [
    PRICE_CATALOGS_LOCK,
  ])
  const numbers = [...Object.values(ADVISORY_LOCKS), ...rows.map(({ hash }) => hash)]
  expect(new Set(numbers).size).toBe(numbers.length)
  for (const number of numbers) expect(number | 0).toBe(number)
})

test('every advisory lock is taken in the file that knows all of them', () => {
  const takers = ['src', 'workers'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((file) => file.endsWith('.ts') && /pg_(try_)?advisory/.test(readFileSync(file, 'utf8'))),
  )
  expect(takers).toEqual(['src/store/connection/advisory-locks.ts'])
})
