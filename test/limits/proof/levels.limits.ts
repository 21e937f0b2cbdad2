import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { moveInto } from '../../../src/keys/groups/group-moves.ts'
import { createGroup } from '../../../src/keys/groups/groups.ts'
import { createLog } from '../../../src/lib/log.ts'
import { type SpendAccount, selectSpent } from '../../../src/limits/spent/select-spent.ts'
import type { LimitScope } from '../../../src/limits/subject.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { withRedis } from '../../../src/store/connection/redis.ts'
import { busyness } from '../../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { moveClock, moveDefaults } from '../../support/servers/database-clock.ts'
import {
  budget,
  type LimitedClient,
  type LimitedWorld,
  rate,
  reportRefusal,
  startLimitedWorld,
} from './support/limited-world.ts'
import { costOf, MODEL } from './support/origin.ts'
import { seeded } from './support/random.ts'

/** A Monday that begins a month. */
const MIDNIGHT_MS = Date.parse('2027-02-01T00:00:00Z')
/** So long before it the processes start: whatever comes before midnight has the time that it takes. */
const START_MS = 7_200_000
/** Then all clocks are set on to so long before it, in which gateways have to read that of the database. */
const BEFORE_MS = 40_000
const CALLS = 200
const USERS = ['u0', 'u1', 'u2', 'u3']
const COST = costOf(990)
const CENT = 10_000_000_000n
/** Of every group, so that an answer shows whether its gateway has read the group and its limits. */
const SHOWN_OF_GROUP = 500_000_000

/** What a round spends: two clients of a team, with budgets at each level. */
interface Team {
  readonly name: string
  readonly clients: readonly LimitedClient[]
  readonly levels: readonly {
    readonly name: string
    readonly scope: LimitScope
    readonly values: readonly string[]
    readonly pico: bigint
  }[]
}

let world: LimitedWorld
let database: TestDatabase
let offsetMs: number
const teams = new Map<string, Team>()
let roomy: Team
const random = seeded(4)

beforeAll(async () => {
  offsetMs = MIDNIGHT_MS - START_MS - Date.now()
  const preload = pathToFileURL('test/clock/shift-clock.mjs').href
  const clock = {
    NODE_OPTIONS: `--import ${preload}`,
    TEST_CLOCK_OFFSET_MS: `${offsetMs}`,
    TEST_CLOCK_MOVES: 'true',
  }
  database = await createTestDatabase()
  await moveClock(database.url, offsetMs)
  await moveDefaults(database.url, offsetMs)
  world = await startLimitedWorld({
    gateways: 4,
    redisUrl: inject('redisUrl'),
    databaseUrl: database.url,
    yaml: ['axes: [{ name: user, from: [{ header: x-user }] }]'],
    envOf: () => clock,
    workerEnv: clock,
  })
  for (const name of ['plain', 'flushed', 'killed', 'midnight']) teams.set(name, await newTeam(name, 1))
  roomy = await newTeam('roomy', 10_000)
  await world.limitsRead()
  for (const { clients } of [...teams.values(), roomy])
    for (const { key } of clients) for (const url of world.urls) await groupRead(url, key)
})

afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

/** Budgets a day of a key, a model, a client, each user of a client and of the team, and the team: all near each other. */
async function newTeam(name: string, times: number): Promise<Team> {
  const group = await createGroup(world.pool, `team ${name}`, null)
  if (typeof group !== 'string') throw new Error('the group is made')
  const clients: LimitedClient[] = []
  for (const place of [1, 2]) clients.push(await world.addClient(`${name} ${place}`, [budget(times * 0.5)]))
  const [first] = clients
  if (first === undefined) throw new Error('there are two clients')
  for (const { id } of clients) await moveInto(world.pool, id, group, '-infinity')
  const { rows } = await world.pool.query<{ id: string }>(
    'select id from tallygate.keys where client_id = $1',
    [first.id],
  )
  const none = { clientId: null, groupId: null, axis: null, value: null, keyId: null, model: null }
  const ofClient = { ...none, clientId: first.id }
  const levels = [
    { name: 'client', scope: ofClient, values: [], usd: 0.5 },
    { name: 'key', scope: { ...ofClient, keyId: rows[0]?.id ?? '' }, values: [], usd: 0.45 },
    { name: 'model', scope: { ...ofClient, model: MODEL }, values: [], usd: 0.48 },
    { name: 'user of the client', scope: { ...ofClient, axis: 'user' }, values: USERS, usd: 0.15 },
    { name: 'user of the team', scope: { ...none, groupId: group, axis: 'user' }, values: USERS, usd: 0.22 },
    { name: 'team', scope: { ...none, groupId: group }, values: [], usd: 0.8 },
  ]
  for (const { scope, usd } of levels) await setLimits(world.pool, scope, [budget(times * usd)], 'test')
  await setLimits(world.pool, { ...none, groupId: group }, [rate('requests', SHOWN_OF_GROUP)], 'test')
  return {
    name,
    clients,
    levels: levels.map(({ usd, ...level }) => ({
      ...level,
      pico: BigInt(Math.round(usd * 100)) * CENT * BigInt(times),
    })),
  }
}

async function groupRead(url: string, key: string): Promise<void> {
  const hasRead = async () => {
    const { headers } = await fetch(`${url}/v1/files`, { headers: { authorization: `Bearer ${key}` } })
    return headers.get('x-ratelimit-limit-requests') === `${SHOWN_OF_GROUP}`
  }
  while (!(await hasRead())) await delay(50)
}

interface Made {
  readonly gateway: number
  /** `null`: the gateway was killed meanwhile. */
  readonly status: number | null
  readonly code: string
  readonly message: string
}

async function call({ clients }: Team, number: number, ms: number, gateway = number % 4): Promise<Made> {
  const client = clients[Math.floor(number / 4) % 2]
  if (client === undefined) throw new Error('there are two clients')
  const user = USERS[Math.floor(random() * USERS.length)] ?? 'u0'
  const order = { gateway, outputTokens: 990, maxTokens: 1_000, ms, user, stream: number % 3 === 0 }
  const answer = await world.call(client, order).catch(() => null)
  return {
    gateway,
    status: answer?.status ?? null,
    code: answer?.code ?? '',
    message: answer?.message ?? '',
  }
}

const at = () => utcDayOf(Date.now() + offsetMs)

/** What Postgres has of each level on a day, and of each user. */
async function spentOf({ levels }: Team, day: string) {
  const accounts = levels.flatMap(({ name, scope, values, pico }) =>
    (values.length === 0 ? [null] : values).map((value) => ({
      name: value === null ? name : `${name} ${value}`,
      pico,
      account: { ...scope, value, fromDay: day, toDay: day } satisfies SpendAccount,
    })),
  )
  const { spentPico } = await selectSpent(
    world.pool,
    accounts.map(({ account }) => account),
    [],
  )
  return accounts.map(({ name, pico }, place) => ({ name, pico, spent: spentPico[place] ?? 0n }))
}

async function totalOf(team: Team, day: string): Promise<bigint> {
  return (await spentOf(team, day)).find(({ name }) => name === 'team')?.spent ?? 0n
}

/** Two hundred at once, and then one after the other until no user has anything left. */
async function spendAll(
  team: Team,
  meanwhile: () => Promise<void> = async () => {},
): Promise<readonly Made[]> {
  const load = Array.from({ length: CALLS }, (_, number) => call(team, number, Math.floor(random() * 400)))
  await meanwhile()
  const made = await Promise.all(load)
  for (let number = 0, spent = 0; spent < 40 && number < 800; number += 1) {
    const one = await call(team, number, 0)
    made.push(one)
    spent = one.code === 'budget_exceeded' ? spent + 1 : 0
  }
  return made
}

function costOfServed(made: readonly Made[]): bigint {
  return COST * BigInt(made.filter(({ status }) => status === 200).length)
}

/** No level is overspent by more than one call, but for what is said to be lost with a killed gateway. */
async function checkLevels(team: Team, day: string, lost = 0n): Promise<void> {
  for (const { name, pico, spent } of await spentOf(team, day)) {
    console.log(`${team.name}, ${name}: ${usd(spent)} of ${usd(pico)}`)
    expect(spent, name).toBeLessThanOrEqual(pico + COST + lost)
  }
}

/** Each gateway names one of the sums that Postgres has. */
async function checkNames(team: Team, day: string): Promise<void> {
  for (const gateway of [0, 1, 2, 3]) {
    const isTrue = async () => {
      const { code, message } = await call(team, 0, 0, gateway)
      const sums = (await spentOf(team, day)).map(({ spent }) => usd(spent))
      return code === 'budget_exceeded' && sums.some((sum) => message.includes(`is spent: ${sum} USD`))
    }
    await expect.poll(isTrue, { timeout: 60_000 * busyness(), interval: 500 }).toBe(true)
  }
}

const usd = (pico: bigint) => `${Number(pico) / 1e12}`

function teamOf(name: string): Team {
  const team = teams.get(name)
  if (team === undefined) throw new Error(`no team ${name}`)
  return team
}

/** Calls of a team that is far within its limits, until they are to end. */
function keepCalling(team: Team) {
  let isOver = false
  let served = 0
  const refused: string[] = []
  const lane = async (place: number) => {
    for (let number = place; !isOver; number += 4) {
      const sentAtMs = performance.now()
      const made = await call(team, number, 20)
      if (made.status === 200) served += 1
      else if (made.status === 429) refused.push(reportRefusal(made.gateway, made, sentAtMs))
      await delay(20)
    }
  }
  const lanes = [0, 1, 2, 3].map(lane)
  return async () => {
    isOver = true
    await Promise.all(lanes)
    console.log(`roomy: ${served} served, ${refused.length} refused`)
    expect(refused).toEqual([])
    expect(served).toBeGreaterThan(0)
  }
}

test('200 calls at once pass none of six levels, whose rest is spent, and no call within all is refused', async () => {
  const stop = keepCalling(roomy)
  const team = teamOf('plain')
  const day = at()
  const made = await spendAll(team)
  await expect.poll(() => totalOf(team, day), { timeout: 30_000 * busyness() }).toBe(costOfServed(made))
  await checkLevels(team, day)
  // Every user has spent what it may in the team or with a client, or the team is spent.
  expect(costOfServed(made)).toBeGreaterThanOrEqual(70n * CENT)
  await checkNames(team, day)
  await stop()
})

test('the same holds while Redis is flushed', async () => {
  const stop = keepCalling(roomy)
  const team = teamOf('flushed')
  const day = at()
  const log = createLog('silent', 'test')
  const made = await spendAll(team, async () => {
    await delay(250)
    await withRedis(inject('redisUrl'), 5_000, log, (redis) => redis.flushall())
  })
  await expect.poll(() => totalOf(team, day), { timeout: 60_000 * busyness() }).toBe(costOfServed(made))
  await checkLevels(team, day)
  await checkNames(team, day)
  await stop()
})

test('a gateway that is killed loses the others nothing but its calls under way', async () => {
  const stop = keepCalling(roomy)
  const team = teamOf('killed')
  const day = at()
  const made = await spendAll(team, async () => {
    await delay(250)
    await world.gateways[3]?.kill()
    await world.gateways[3]?.start()
  })
  const underWay = made.filter(({ gateway, status }) => gateway === 3 && status === null).length
  await checkNames(team, day)
  await checkLevels(team, day, COST * BigInt(underWay))
  await stop()
})

/** The processes first: a gateway does not follow a database whose clock alone has jumped. */
async function moveClocks(): Promise<void> {
  offsetMs = MIDNIGHT_MS - BEFORE_MS - Date.now()
  await Promise.all([...world.gateways, world.worker].map((process) => process.moveClock(offsetMs)))
  await moveClock(database.url, offsetMs)
}

test('the levels begin again together at midnight, under load, each with all that it has', async () => {
  const team = teamOf('midnight')
  await spendAll(team)
  await moveClocks()
  const stop = keepCalling(roomy)
  const days = [utcDayOf(MIDNIGHT_MS - 1), utcDayOf(MIDNIGHT_MS)] as const
  const now = () => Date.now() + offsetMs
  let servedAfter = 0
  let refusedAfter = 0
  const lane = async (place: number) => {
    for (let number = place; refusedAfter < 80 && servedAfter < CALLS; number += 4) {
      const isAfter = now() >= MIDNIGHT_MS
      const { code, status } = await call(team, number, 10)
      if (isAfter && status === 200) servedAfter += 1
      if (isAfter && code === 'budget_exceeded') refusedAfter += 1
      await delay(status === 200 ? 10 : 100)
    }
  }
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(lane))
  for (const day of days) {
    await expect
      .poll(() => totalOf(team, day), { timeout: 30_000 * busyness() })
      .toBeGreaterThanOrEqual(60n * CENT)
    await checkLevels(team, day)
  }
  await stop()
})
