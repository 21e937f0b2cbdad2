import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { until } from '../../../src/lib/repeat.ts'
import { patienceMs } from '../../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { moveClock, moveDefaults } from '../../support/servers/database-clock.ts'
import { budget, type LimitedClient, type LimitedWorld, startLimitedWorld } from './support/limited-world.ts'
import { costOf } from './support/origin.ts'

/** A Monday that begins a month: a day, a week and a month begin at once. */
const MIDNIGHT_MS = Date.parse('2027-02-01T00:00:00Z')
/** So long before it the processes start: to start, and to spend what was before, has the time that it takes. */
const START_MS = 7_200_000
/** Then all clocks are set on to so long before it, in which gateways have to read that of the database. */
const BEFORE_MS = 40_000
/** The second gateway's clock is ahead. */
const AHEAD_MS = 2_000
const LIMIT_PICO = 200_000_000_000n
const PERIODS = ['day', 'week', 'month'] as const

let world: LimitedWorld
let database: TestDatabase
let offsetMs: number
const clients = new Map<string, LimitedClient>()
/** Whose budget is spent before midnight. */
const spentBefore = new Set<string>()

beforeAll(async () => {
  offsetMs = MIDNIGHT_MS - START_MS - Date.now()
  const preload = pathToFileURL('test/clock/shift-clock.mjs').href
  const clock = (more: number) => ({
    NODE_OPTIONS: `--import ${preload}`,
    TEST_CLOCK_OFFSET_MS: `${offsetMs + more}`,
    TEST_CLOCK_MOVES: 'true',
  })
  database = await createTestDatabase()
  await moveClock(database.url, offsetMs)
  await moveDefaults(database.url, offsetMs)
  world = await startLimitedWorld({
    gateways: 2,
    redisUrl: inject('redisUrl'),
    databaseUrl: database.url,
    envOf: (gateway) => clock(gateway * AHEAD_MS),
    workerEnv: clock(0),
  })
  for (const per of PERIODS) clients.set(per, await world.addClient(per, [budget(0.2, per)]))
  await world.limitsRead()
})

afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

/** By the first gateway's clock. */
const now = () => Date.now() + offsetMs
const ORDER = { outputTokens: 990, maxTokens: 1_000 } as const

/** The last one sets the clocks on: the processes' first, as no gateway follows a database that alone has jumped. */
async function isSpentBefore(per: string): Promise<void> {
  spentBefore.add(per)
  if (spentBefore.size < PERIODS.length) return
  offsetMs = MIDNIGHT_MS - BEFORE_MS - Date.now()
  await Promise.all([
    ...world.gateways.map((gateway, place) => gateway.moveClock(offsetMs + place * AHEAD_MS)),
    world.worker.moveClock(offsetMs),
  ])
  await moveClock(database.url, offsetMs)
}

test.concurrent.each(
  PERIODS,
)('a %s that begins under load has its whole budget, and nothing of the one before', async (per) => {
  const client = clients.get(per)
  if (client === undefined) throw new Error('no client')
  const spent = { before: 0n, after: 0n }
  let refusedBefore = 0
  let refusedAfter = 0
  const lane = async (gateway: number) => {
    for (;;) {
      // The call belongs to the day of its arrival by its gateway's clock.
      const sentAt = now() + gateway * AHEAD_MS
      const { status, code } = await world.call(client, { gateway, ...ORDER })
      const doneAt = now() + gateway * AHEAD_MS
      const isAfter = sentAt >= MIDNIGHT_MS
      // A call about midnight may belong to either: the usage below shows which.
      const isAbout = !isAfter && doneAt >= MIDNIGHT_MS
      if (status === 200) spent[isAfter || isAbout ? 'after' : 'before'] += costOf(990)
      else if (code === 'budget_exceeded' && isAfter) refusedAfter += 1
      else if (code === 'budget_exceeded') {
        refusedBefore += 1
        if (refusedBefore === 1) await isSpentBefore(per)
      }
      if (refusedAfter > 20 || spent.after > 2n * LIMIT_PICO) return
      await new Promise((resolve) => setTimeout(resolve, status === 200 ? 20 : 200))
    }
  }
  await Promise.all([lane(0), lane(1), lane(0), lane(1)])
  console.log(
    `${per}: before ${Number(spent.before) / 1e12} USD and ${refusedBefore} refused, ` +
      `after ${Number(spent.after) / 1e12} USD and ${refusedAfter} refused`,
  )
  const room = 4n * costOf(990)
  expect(spent.before).toBeGreaterThanOrEqual(LIMIT_PICO)
  expect(spent.before).toBeLessThanOrEqual(LIMIT_PICO + costOf(990))
  expect(refusedBefore).toBeGreaterThan(0)
  // Of the new period all was there to be spent, and no more; a call about midnight may be of the old one.
  expect(spent.after).toBeGreaterThanOrEqual(LIMIT_PICO)
  expect(spent.after).toBeLessThanOrEqual(LIMIT_PICO + room)
  const today = async () => BigInt(Math.round((await world.usage(client)).cost_usd * 1e12))
  // The usage of the new day alone: what was refused or served before it is not in it.
  const counted = async () => ((await today()) >= LIMIT_PICO ? true : null)
  expect(await until(counted, { timeoutMs: patienceMs() })).toBe(true)
  expect(await today()).toBeLessThanOrEqual(LIMIT_PICO + costOf(990))
})
