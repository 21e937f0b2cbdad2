import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { addDays } from '../../../src/domain/utc-day.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { type GroupDirectory, openGroupDirectory } from '../../../src/keys/groups/group-directory.ts'
import { moveInto } from '../../../src/keys/groups/group-moves.ts'
import { clientsBelow } from '../../../src/keys/groups/group-spans.ts'
import { createGroup } from '../../../src/keys/groups/groups.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { moveAbout, PlainGroups, randomMoves } from './random-groups.ts'

const FIRST = '2026-10-01'
const DAYS = 40
const SEED = Number(process.env.GROUPS_SEED ?? 4_711)

let database: TestDatabase
let pool: Postgres
const opened: GroupDirectory[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    ...{ max: 4, statementTimeoutMs: 60_000, applicationName: 'test groups', log: quiet },
  })
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((directory) => directory.close()))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function openDirectory(): Promise<GroupDirectory> {
  const directory = openGroupDirectory({ pool, log: quiet })
  opened.push(directory)
  await directory.whenReady()
  return directory
}

async function newGroup(name: string, parentId: string | null = null): Promise<string> {
  const made = await createGroup(pool, name, parentId)
  if (typeof made !== 'string') throw new Error('the group is made')
  return made
}

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
  const directory = await openDirectory()
  const last = addDays(FIRST, DAYS - 1)
  for (const id of clients) expect(directory.of(id)).toEqual(plain.chain(id, last))
})

test('a move is known soon: a client has its chain of groups, the same list until it changes', async () => {
  const [client, other] = [await newClient('known'), await newClient('other')]
  const organization = await newGroup('organization')
  const team = await newGroup('team', organization)
  const directory = await openDirectory()
  expect(directory.of(client)).toEqual([])
  await moveInto(pool, client, team, FIRST)
  await expect.poll(() => directory.of(client)).toEqual([team, organization])
  expect(directory.of(client)).toBe(directory.of(client))
  expect(directory.of(other)).toEqual([])
  await moveInto(pool, team, null, addDays(FIRST, 3))
  await expect.poll(() => directory.of(client)).toEqual([team])
  await moveInto(pool, client, null, addDays(FIRST, 3))
  await expect.poll(() => directory.of(client)).toEqual([])
})
