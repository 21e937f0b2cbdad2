import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDays } from '../../../src/domain/utc-day.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { clientsBelow } from '../../../src/keys/groups/group-spans.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { moveAbout, PlainGroups, randomMoves } from './random-groups.ts'

const FIRST = '2026-10-01'
const DAYS = 40
const SEED = Number(process.env.GROUPS_SEED ?? 4_711)

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    ...{ max: 4, statementTimeoutMs: 60_000, applicationName: 'test groups', log: quiet },
  })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function newClient(name: string): Promise<string> {
  return (await createClient(pool, name))?.id ?? ''
}

test('moves on any days, also of the past, leave each client on each day where a table of all days has it', async () => {
  const clients = await Promise.all(Array.from({ length: 8 }, (_, n) => newClient(`client ${n}`)))
  const [moves = []] = fc.sample(randomMoves(DAYS, 120), { seed: SEED, numRuns: 1 })
  const plain = new PlainGroups(FIRST, DAYS)
  const { refused, agreed } = await moveAbout(pool, plain, 9, clients, moves, FIRST)
  expect(agreed).toBe(moves.length)
  expect(refused).toBeGreaterThan(3)
  for (const groupId of ['', ...plain.ids]) {
    const { rows } = await pool.query<{ client_id: string; day: string; part: string }>(
      `select client_id, day::date as day, part from (${clientsBelow('$1')}) b
       cross join lateral generate_series(greatest(from_day, $2::date), least(to_day, $3::date), '1 day') d (day)`,
      [groupId, FIRST, addDays(FIRST, DAYS - 1)],
    )
    const found = rows
      .filter(({ part }) => part !== '')
      .map((row) => [row.day, row.client_id, row.part].join())
    const expected = clients.flatMap((id) =>
      Array.from({ length: DAYS }, (_, place) => addDays(FIRST, place)).flatMap((day) => {
        const chain = plain.chain(id, day)
        const part = groupId === '' ? chain.at(-1) : chain[Math.max(0, chain.indexOf(groupId) - 1)]
        const isBelow = groupId === '' || chain.includes(groupId)
        return isBelow && part !== undefined ? [[day, id, part].join()] : []
      }),
    )
    expect(found.sort()).toEqual(expected.sort())
  }
})
