import { afterEach, beforeEach, expect, test } from 'vitest'
import { addDays } from '../../src/domain/utc-day.ts'
import type { LogFields } from '../../src/lib/logger.ts'
import { addCallDays } from '../../src/rollup/call-days.ts'
import { inTransaction, type Postgres } from '../../src/store/connection/postgres.ts'
import { addCalls } from '../../src/usage/calls/add-calls.ts'
import { addCallDay, selectCallDays, selectToday } from '../../src/usage/calls/call-partitions.ts'
import { prune } from '../../workers/prune.ts'
import { startWorkers } from '../../workers/workers.ts'
import { CLOCK_OFFSET_MS } from '../clock/clock.ts'
import { aRecord } from '../rollup/records.ts'
import { createTestDatabase, dropDays, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'

let database: TestDatabase
let pool: Postgres
let today: string

beforeEach(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url, { max: 4 })
  today = await selectToday(pool)
  await dropDays(pool)
})
afterEach(async () => {
  await pool.end()
  await database.drop()
})

const days = async () => [...(await selectCallDays(pool))].sort()
const tables = async () => {
  const { rows } = await pool.query(
    `select relname from pg_class where relkind = 'r' and relname ~ '^call_rows_[0-9]+$' order by 1`,
  )
  return rows.map(({ relname }) => relname)
}
async function addDay(day: string): Promise<void> {
  const session = await pool.connect()
  await addCallDay(session, day)
  session.release()
}

test('there is a partition for every day that is kept and for a week ahead, however often it is asked for', async () => {
  const runs = await Promise.all([addCallDays(pool, 3), addCallDays(pool, 3), prune(pool, 3)])
  expect(runs[0].length + runs[1].length + (runs[2]?.added.length ?? 0)).toBe(11)
  expect(await days()).toEqual([-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7].map((offset) => addDays(today, offset)))
})

test('partitions older than the retention are dropped, the oldest day kept stays', async () => {
  await addCallDays(pool, 10)
  const pruned = await prune(pool, 2)
  expect(pruned?.dropped).toEqual([-10, -9, -8, -7, -6, -5, -4, -3].map((offset) => addDays(today, offset)))
  expect((await days())[0]).toBe(addDays(today, -2))
  expect(await tables()).toHaveLength(10)
})

test('a worker deletes nothing while the clock of Postgres says another day than its own', async () => {
  await addCallDays(pool, 3)
  const before = await days()
  const named = new URL(database.url).pathname.slice(1)
  const ahead = (name: string) =>
    `create or replace function test_clock.${name}() returns timestamptz language sql stable
       as $$ select pg_catalog.${name}() + interval '${CLOCK_OFFSET_MS} ms' + interval '400 days' $$`
  for (const statement of [
    'create schema if not exists test_clock',
    ...['now', 'clock_timestamp'].map(ahead),
    `alter database ${named} set search_path = test_clock, pg_catalog, "$user", public`,
  ]) {
    await pool.query(statement)
  }
  const events: string[] = []
  const note = ({ event }: LogFields) => void events.push(event)
  const prefix = testRedisPrefix()
  const workers = startWorkers({
    databaseUrl: database.url,
    redisUrl: prefix.redisUrl,
    redisPrefix: prefix.prefix,
    callRetentionDays: 3,
    log: { info: note, warn: note, error: note },
  })
  try {
    await expect.poll(() => events).toContain('queue.prune_postponed')
    expect(events).toContain('clock.off')
    expect(events).not.toContain('queue.pruned')
    expect(await days()).toEqual(expect.arrayContaining(before))
  } finally {
    await workers.close()
    await prefix.drop()
  }
})

test('kinds go with the calls of their day, and stay as long as these', async () => {
  await addCallDays(pool, 3)
  const [kept, dropped, cut] = [-1, -2, -100].map((offset) => addDays(today, offset))
  await addDay(cut ?? '')
  const arrived = (day = '') => aRecord({ arrivedAtMs: Date.parse(`${day}T12:00:00Z`) })
  await inTransaction(pool, (session) => addCalls(session, [kept, dropped, cut].map(arrived)))
  const table = `tallygate.call_rows_${cut?.replaceAll('-', '')}`
  await pool.query(`comment on table ${table} is 'tallygate: expired, to be dropped'`)
  await pool.query(`alter table tallygate.call_rows detach partition ${table}`)
  expect((await prune(pool, 1))?.dropped).toContain(cut)
  const { rows } = await pool.query('select day from tallygate.call_kinds')
  expect(rows).toEqual([{ day: kept }])
})

test('a run that is cut before the table is dropped leaves its kinds', async () => {
  const day = addDays(today, -100)
  await addDay(day)
  await inTransaction(pool, (session) =>
    addCalls(session, [aRecord({ arrivedAtMs: Date.parse(`${day}T12:00:00Z`) })]),
  )
  const table = `tallygate.call_rows_${day.replaceAll('-', '')}`
  await pool.query(`create view keeps_it as select from ${table}`)
  await expect(prune(pool, 1)).rejects.toThrow('depend')
  expect((await pool.query('select from tallygate.call_kinds')).rows).toHaveLength(1)
  await pool.query('drop view keeps_it')
  expect((await prune(pool, 1))?.dropped).toContain(day)
  expect((await pool.query('select from tallygate.call_kinds')).rows).toHaveLength(0)
})

test('with a retention of no days there are no partitions', async () => {
  await addCallDays(pool, 1)
  await prune(pool, 0)
  expect(await tables()).toEqual([])
})

test('what a cut run left is finished, a partition that an operator detached to keep stays', async () => {
  const [mine, theirs] = [addDays(today, -100), addDays(today, -101)]
  await addDay(mine)
  await addDay(theirs)
  const table = (day: string) => `tallygate.call_rows_${day.replaceAll('-', '')}`
  await pool.query(`comment on table ${table(mine)} is 'tallygate: expired, to be dropped'`)
  await pool.query(`alter table tallygate.call_rows detach partition ${table(mine)}`)
  await pool.query(`alter table tallygate.call_rows detach partition ${table(theirs)}`)
  expect((await prune(pool, 1))?.dropped).toEqual([mine])
  expect(await tables()).toContain(table(theirs).split('.')[1])
})

test('a table that was made but not attached is attached', async () => {
  await pool.query(
    `create table tallygate.call_rows_${today.replaceAll('-', '')} (like tallygate.call_rows including all)`,
  )
  await addCallDays(pool, 1)
  expect(await days()).toContain(today)
})

test('response ids are pruned when no provider knows them any more, not sooner', async () => {
  await pool.query(
    `insert into tallygate.responses_seen (upstream, response_id, seen_at) values
       ('openai', 'old', now() - interval '41 days'), ('openai', 'new', now() - interval '39 days')`,
  )
  expect((await prune(pool, 1))?.responsesPruned).toBe(1)
  const { rows } = await pool.query('select response_id from tallygate.responses_seen')
  expect(rows).toEqual([{ response_id: 'new' }])
})
