import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { LogFields } from '../../../src/lib/logger.ts'
import { LANES } from '../../../src/store/connection/lanes/connection-budget.ts'
import { type Lanes, openLanes } from '../../../src/store/connection/lanes/lanes.ts'
import {
  inTransaction,
  OUT_OF_CONNECTIONS,
  openPostgres,
  type Postgres,
} from '../../../src/store/connection/postgres.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'

const ROLE = `lanes_${randomBytes(6).toString('hex')}`
/** Connections of the role: all that this Postgres has for the process and another program. */
const ALL = 6

let database: TestDatabase
let admin: Postgres
let url: string
let lanes: Lanes
let warned: LogFields[]
const others: pg.Client[] = []
/** So that a test that failed holds nothing. */
const releases: (() => void)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  const limits = { max: 2, statementTimeoutMs: 10_000, applicationName: 'test', log: quiet }
  admin = openPostgres(database.url, limits)
  await admin.query(`create role ${ROLE} login password 'x' connection limit ${ALL}`)
  const named = new URL(database.url)
  named.username = ROLE
  named.password = 'x'
  url = named.href
})
afterAll(async () => {
  await admin.query(`drop role ${ROLE}`)
  await admin.end()
  await database.drop()
})
beforeEach(() => {
  warned = []
  const short = { statementTimeoutMs: 2_000, workMemoryMb: null }
  lanes = openLanes(url, {
    applicationName: 'test lanes',
    limits: {
      polls: short,
      limits: short,
      objects: short,
      usage: { statementTimeoutMs: 3_000, workMemoryMb: null },
      reports: { statementTimeoutMs: 10_000, workMemoryMb: 32 },
    },
    log: { ...quiet, warn: (fields) => void warned.push(fields), info: (fields) => void warned.push(fields) },
  })
})
afterEach(async () => {
  for (const release of releases.splice(0)) release()
  await lanes.end()
  await Promise.all(others.splice(0).map((client) => client.end()))
  await expect.poll(inUse).toBe(0)
})

async function inUse(): Promise<number> {
  const { rows } = await admin.query('select count(*)::int as n from pg_stat_activity where usename = $1', [
    ROLE,
  ])
  return rows[0]?.n
}

/** Another program takes so many. */
async function takeOthers(count: number): Promise<void> {
  for (let taken = 0; taken < count; taken += 1) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    others.push(client)
  }
}

/** Starts queries that end only when the returned function is called. */
async function occupy(lane: Postgres, count: number): Promise<() => Promise<void>> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  releases.push(release)
  const running = Array.from({ length: count }, async () => {
    const session = await lane.connect().catch(() => null)
    await session?.query('select 1')
    await released
    session?.release()
  })
  return async () => {
    release()
    await Promise.all(running)
  }
}

const settings = async (lane: Postgres) => {
  const { rows } = await lane.query(
    `select current_setting('statement_timeout') as timeout, current_setting('work_mem') as memory`,
  )
  return rows[0]
}

test('each lane has its own limits, over the same connections', async () => {
  const { memory } = await settings(lanes.polls)
  for (const _ of [1, 2]) {
    expect(await settings(lanes.reports)).toEqual({ timeout: '10s', memory: '32MB' })
    expect(await settings(lanes.usage)).toEqual({ timeout: '3s', memory })
    expect(await settings(lanes.objects)).toEqual({ timeout: '2s', memory })
    await inTransaction(lanes.reports, async (session) => {
      expect((await session.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '10s' }])
    })
  }
  expect(await inUse()).toBe(1)
  await expect(lanes.limits.query('select pg_sleep(30)')).rejects.toThrow('statement timeout')
})

test('slow queries of clients and operators fill their lanes, and polls and limits are answered at once', async () => {
  lanes.allow(4)
  const reports = await occupy(lanes.reports, 10)
  const usage = await occupy(lanes.usage, 10)
  await expect.poll(inUse).toBe(2)
  // More of them than wait for a connection in the time that a poll has.
  for (let poll = 0; poll < 20; poll += 1) {
    const asked = [lanes.polls.query('select 1'), lanes.limits.query('select 1')]
    expect(await Promise.all(asked)).toHaveLength(2)
  }
  expect(await inUse()).toBe(4)
  await Promise.all([usage(), reports()])
})

test('the process never has more connections than it may, whatever it is asked', async () => {
  for (const allowed of [5, 4]) {
    lanes.allow(allowed)
    const asked = LANES.flatMap((name) =>
      Array.from({ length: 10 }, () => lanes[name].query('select pg_sleep(0.01)')),
    )
    await Promise.all(asked)
    expect(await inUse()).toBeLessThanOrEqual(allowed)
  }
  expect(warned).toEqual([])
})

test('a process that may take fewer closes what no query uses, and counts as its own what is in use', async () => {
  lanes.allow(6)
  const polls = await occupy(lanes.polls, 6)
  await expect.poll(inUse).toBe(6)
  lanes.allow(4)
  expect(lanes.max).toBe(6)
  await polls()
  await expect.poll(inUse).toBe(4)
  expect(lanes.max).toBe(4)
})

test('one that has more than it may, all idle, closes them at once', async () => {
  lanes.allow(6)
  const polls = await occupy(lanes.polls, 6)
  await expect.poll(inUse).toBe(6)
  await polls()
  lanes.allow(4)
  await expect.poll(inUse).toBe(4)
  expect(lanes.max).toBe(4)
})

test('what is beyond a smaller part is closed at once, however often that is said, and no other is opened for it', async () => {
  lanes.allow(8)
  let opened = 0
  lanes.polls.on('connect', () => {
    opened += 1
  })
  const running = await occupy(lanes.polls, 4)
  const idle = await occupy(lanes.polls, 2)
  await expect.poll(() => opened).toBe(6)
  await idle()
  for (let times = 0; times < 3; times += 1) lanes.allow(5)
  await expect.poll(inUse).toBe(5)
  lanes.allow(4)
  await expect.poll(inUse).toBe(4)
  expect([opened, warned]).toEqual([6, []])
  await running()
})

test('where other programs have the rest, queries go on over what the process has, and one line says what to do', async () => {
  lanes.allow(8)
  const polls = await occupy(lanes.polls, 2)
  await takeOthers(ALL - 2)
  await polls()
  const asked = Array.from({ length: 40 }, (_, index) =>
    (index % 2 === 0 ? lanes.polls : lanes.limits).query('select 1'),
  )
  expect(await Promise.all(asked)).toHaveLength(40)
  expect(lanes.shortage).toBe(OUT_OF_CONNECTIONS)
  expect(warned.map(({ event }) => event)).toEqual(['postgres.out_of_connections'])
})

test('a process that finds no connection at all says so, and takes the first that there is', async () => {
  await takeOthers(ALL)
  await expect(lanes.polls.query('select 1')).rejects.toMatchObject({ code: '53300' })
  expect(lanes.shortage).toBe(OUT_OF_CONNECTIONS)
  await others.pop()?.end()
  await expect.poll(() => lanes.polls.query('select 1').then(() => 'answered', String)).toBe('answered')
})
