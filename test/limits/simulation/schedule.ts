import { picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import type { CallToLimit } from '../../../src/limits/engine/limiter.ts'
import type { Limit } from '../../../src/limits/limit.ts'
import { oneOf, randomOf } from '../../model/faults/random.ts'
import { limitOf, USD } from '../engine/fakes.ts'
import {
  type Caller,
  type CallInWorld,
  CLIENTS,
  GROUP,
  type Rule,
  settle,
  type Whose,
  World,
} from './world.ts'

/**
 * `strict`: nothing fails but Postgres. `room`: all fails, limits are far, and gateways go on alone. `restarts`: Redis is
 * never away for long, limits are far, and gateways refuse when alone. `stalls`: Redis stands still again and again.
 * `faults`: all fails. `rates`: as strict. `midnight`: stalls and strict, in turn.
 */
export const PROFILES = ['strict', 'room', 'restarts', 'stalls', 'faults', 'rates', 'midnight'] as const
export type Profile = (typeof PROFILES)[number]

/**
 * Others count on a gateway that stands still for so long, and no longer: 5 s for rates; for money 30 s, and 4 s where its
 * connection ends meanwhile, as it does with Redis.
 */
const PAUSE_MS: Readonly<Record<Profile, number>> = {
  strict: 20_000,
  room: 40_000,
  restarts: 3_000,
  stalls: 20_000,
  faults: 3_000,
  rates: 2_000,
  midnight: 20_000,
}
const NOON_MS = Date.UTC(2026, 10, 22, 12)
const STEPS = 60
const CENT = USD / 100n

export interface Played {
  readonly problem: string | null
  readonly calls: number
  readonly refusals: number
}

const USERS = ['ann', 'bob', null] as const

/** Those of the group and of users, with amounts that are as near as those of the client. */
function otherLimitsOf(profile: Profile, clientLimits: readonly Limit[]): readonly Limit[] {
  const isFar = profile === 'room' || profile === 'restarts'
  const like = (parts: bigint, changes: Partial<Limit>) =>
    clientLimits
      .filter(({ kind, per }) => kind !== 'concurrent' && (per === 'day' || per === null))
      .map((limit) => ({
        ...limit,
        ...changes,
        id: `${limit.id}${changes.groupId ?? ''}${changes.axis ?? ''}`,
        amount: isFar ? limit.amount : (limit.amount * parts) / 10n,
      }))
  return [
    ...like(10n, { clientId: 'd' }).map((limit) => ({ ...limit, id: `${limit.id}d` })),
    ...like(6n, { axis: 'user' }),
    ...like(13n, { clientId: null, groupId: GROUP }),
    ...like(9n, { clientId: null, groupId: GROUP, axis: 'user' }),
  ]
}

function limitsOf(profile: Profile): readonly Limit[] {
  const isFar = profile === 'room' || profile === 'restarts'
  const whenAlone = profile === 'room' ? 'share' : 'refuse'
  if (isFar)
    return [
      limitOf('b', { amount: 1_000n * USD, whenAlone }),
      limitOf('w', { per: 'week', amount: 1_000n * USD, whenAlone }),
      limitOf('r', { kind: 'requests', amount: 40_000n }),
      limitOf('t', { kind: 'tokens', amount: 4_000_000n }),
      limitOf('n', { kind: 'concurrent', amount: 20_000n }),
    ]
  if (profile === 'rates')
    return [
      limitOf('r', { kind: 'requests', amount: 30n }),
      limitOf('t', { kind: 'tokens', amount: 2_500n }),
      limitOf('n', { kind: 'concurrent', amount: 7n }),
    ]
  return [limitOf('b'), limitOf('m', { per: 'month', amount: 3n * USD })]
}

/** Plays the schedule of a seed, and says what was broken. */
export async function play(seed: number, profile: Profile, without: Rule | null = null): Promise<Played> {
  const random = randomOf(seed)
  const start = profile === 'midnight' ? Date.UTC(2026, 10, 23) - 20_000 : NOON_MS
  // Half of the schedules have two clients in a group, and users, each with limits: four subjects at a call.
  const hasOthers = seed % 4 > 1 && without === null
  const limits = limitsOf(profile)
  const world = new World(
    random,
    hasOthers ? [...limits, ...otherLimitsOf(profile, limits)] : limits,
    start,
    without,
  )
  const caller = (): Caller =>
    hasOthers
      ? { clientId: oneOf(CLIENTS, random) ?? 'c', user: oneOf(USERS, random) ?? null }
      : { clientId: 'c', user: null }
  const hasFaults = profile === 'room' || profile === 'faults'
  const hasStalls = profile === 'stalls' || (profile === 'midnight' && seed % 2 === 1)
  const isFar = profile === 'room' || profile === 'restarts'
  const count = 1 + random(4)
  for (let number = 0; number < count; number += 1)
    world.start(profile === 'midnight' || hasFaults ? random(4_001) - 2_000 : 0)
  if (hasStalls) world.redis.stallAgainAndAgain(350, 900)
  for (const gateway of world.alive) world.call(gateway, CENT, 0n)
  await world.pass(1_000)
  for (const call of world.running) world.end(call)
  const killed: CallInWorld[] = []
  let problem: string | null = null
  let over = 0n
  const report = (text: string) => {
    problem ??= `${profile} ${seed}: ${text}`
  }
  const check = () => {
    const broken = profile === 'rates' ? checkRates(world) : checkSpent(world, killed, over)
    if (broken !== null) report(broken)
    if (isFar && world.refusals.length > 0)
      report(`a false refusal: ${JSON.stringify(world.refusals[0]?.refusal)}`)
  }
  for (let step = 0; step < STEPS && problem === null; step += 1) {
    const dice = random(100)
    const gateway = oneOf(world.alive, random)
    if (gateway === undefined) world.start()
    else if (dice < 40)
      for (let calls = 1 + random(8); calls > 0; calls -= 1) {
        const estimate = BigInt(random(12)) * CENT
        const isOver = profile === 'faults' && random(10) === 0
        const cost = isOver ? estimate + CENT : (estimate * BigInt(random(101))) / 100n
        if (isOver) over += CENT
        world.call(oneOf(world.alive, random) ?? gateway, estimate, cost, caller())
      }
    else if (dice < 70)
      for (let calls = 1 + random(12); calls > 0; calls -= 1) {
        const call = oneOf(world.running, random)
        if (call !== undefined) world.end(call, random(20) > 0)
      }
    else if (dice < 80) for (const each of world.gateways) world.ship(each, random(10))
    else if (dice < 82 && profile !== 'restarts') world.postgresAwayUntilMs = world.nowMs + random(20_000)
    else if (dice < 84 && profile !== 'restarts' && profile !== 'rates' && profile !== 'midnight') {
      const day = utcDayOf(world.wallMs)
      const credit = BigInt(random(10)) * CENT
      if (world.spentOf({ fromDay: day, toDay: day, clientId: 'c' }) > credit && !hasOthers)
        world.committed.push({ day, cost: -credit, clientId: 'c', user: null })
    } else if (dice < 86) {
      killed.push(...world.unknownOf(gateway))
      world.kill(gateway)
      world.start()
    } else if (dice < 88 && world.gateways.length < 7) world.start()
    else if (dice < 90) {
      // It reports in between.
      if (gateway.pausedUntilMs < world.nowMs - 2_500)
        gateway.pausedUntilMs = world.nowMs + random(PAUSE_MS[profile])
    } else if (profile === 'restarts') restart(world, dice)
    else if (hasFaults) fault(world, dice)
    await world.pass(oneOf([0, 0, 1, 5, 20, 100, 300, 1_000, 2_000, 6_000], random) ?? 0)
    check()
  }
  if (problem === null) problem = await mend(world, profile, seed, check, () => problem)
  return { problem, calls: world.calls.length, refusals: world.refusals.length }
}

function fault(world: World, dice: number): void {
  const { random } = world
  const { redis } = world
  if (dice < 92) redis.ends(random(15_000))
  else if (dice < 93) redis.stalledUntilMs = world.nowMs + random(4_000)
  else if (dice < 94) redis.flush()
  else if (dice < 96) redis.ends(random(5_000), random(20))
  else if (dice < 97) redis.cutOff(oneOf(world.alive, random), random(40_000))
  else if (dice < 98) redis.slowPercent = random(3) === 0 ? 30 : 0
  else redis.offMs = (random(3) - 1) * random(2) * 3_600_000
}

/** What no call may be refused for, as the gateways are alone for a moment only. */
function restart(world: World, dice: number): void {
  const { redis, random } = world
  if (world.nowMs < redis.failedAtMs + 10_000) return
  redis.failedAtMs = world.nowMs
  if (dice < 93) redis.ends(random(1_500), random(20))
  else if (dice < 96) redis.flush()
  else redis.stalledUntilMs = world.nowMs + random(1_500)
}

/** Whose calls a limit is about: those of each of its values apart. */
function subjectsOf({ clientId, axis }: Limit): readonly Whose[] {
  if (axis === null) return [{ clientId }]
  return USERS.flatMap((value) => (value === null ? [] : [{ clientId, value }]))
}

function checkSpent(world: World, killed: readonly CallInWorld[], over: bigint): string | null {
  const longest = 12n * CENT
  const allowance = longest + over + killed.reduce((sum, { cost }) => sum + cost, 0n)
  const days = new Set(world.calls.map(({ call }) => utcDayOf(call.arrivedAtMs)))
  for (const limit of world.limits) {
    if (limit.kind !== 'budget') continue
    const ofDays = limit.per === 'day' ? [...days].map((day) => [day]) : [[...days]]
    for (const period of ofDays)
      for (const whose of subjectsOf(limit)) {
        const spent = period.reduce((sum, day) => sum + world.truthOf(day, whose), 0n)
        const bound = limit.amount + allowance
        if (spent > bound)
          return `${picoToUsdText(spent)} USD spent of ${limit.id}, ${picoToUsdText(limit.amount)}, ${picoToUsdText(bound)} at most`
      }
  }
  return null
}

/** Nothing fails: so limits hold as they are. */
function checkRates(world: World): string | null {
  const counted = world.calls.filter(
    ({ admittedAtMs, endedAtMs, isRecorded, gateway }) =>
      admittedAtMs > world.nowMs - 60_000 &&
      (isRecorded || endedAtMs > world.nowMs) &&
      // What a killed gateway has not reported, a second at most, is not known to anybody.
      !(admittedAtMs > gateway.killedAtMs - 1_200),
  )
  for (const limit of world.limits) {
    if (limit.kind !== 'requests') continue
    for (const whose of subjectsOf(limit)) {
      const requests = counted.filter(({ call }) => isCallOf(call, whose)).length
      if (requests > Number(limit.amount)) return `${requests} requests of ${limit.id} in a minute`
    }
  }
  const running = world.running.filter(({ call }) => call.clientId === 'c').length
  return running > 7 ? `${running} calls at once` : null
}

function isCallOf({ clientId, axes }: CallToLimit, whose: Whose): boolean {
  return (whose.clientId ?? clientId) === clientId && (whose.value == null || axes === `user=${whose.value}`)
}

/** All calls end, nothing fails any more, everything is counted: then all gateways have to name the truth. */
async function mend(
  world: World,
  profile: Profile,
  seed: number,
  check: () => void,
  problem: () => string | null,
): Promise<string | null> {
  world.redis.mend()
  world.postgresAwayUntilMs = 0
  // Those that stand still go on by then. No sooner, or they would tick while their answers and deadlines still wait.
  await world.pass(41_000)
  for (let round = 0; round < 12; round += 1) {
    for (const call of world.running) world.end(call)
    await world.pass(500)
  }
  check()
  if (problem() !== null) return problem()
  for (const gateway of world.gateways) world.ship(gateway, 10_000)
  if (profile === 'rates' || profile === 'room' || profile === 'restarts') return leftovers(world, seed)
  // Each gateway is asked by a call that has to be refused: the limit is under what was spent.
  world.setLimits(
    world.limits.map((limit) => ({ ...limit, amount: limit.per === 'day' ? 1n : 1_000n * USD })),
  )
  for (let round = 0; round < 20; round += 1) {
    for (const gateway of world.alive) world.call(gateway, CENT, 0n)
    await world.pass(1_000)
    for (const call of world.running) world.end(call, false)
  }
  await world.pass(3_000)
  // Of all that are spent, the one of which least is left is named: a group has spent what its clients have.
  const truth = world.truthOf(utcDayOf(world.wallMs))
  if (truth > 0n)
    for (const gateway of world.alive) {
      const before = world.refusals.length
      world.call(gateway, CENT, 0n)
      await world.pass(1_500)
      const refused = world.refusals[before]?.refusal
      if (refused === undefined) return `${profile} ${seed}: no refusal at ${world.usd(truth)} USD`
      const message = refused.detail.message ?? ''
      if (!message.includes(`is spent: ${world.usd(truth)} USD since`))
        return `${profile} ${seed}: "${message}", and the truth is ${world.usd(truth)} USD`
    }
  return leftovers(world, seed)
}

/** No reservation is left: what the gateways report has to show that. */
async function leftovers(world: World, seed: number): Promise<string | null> {
  // A Redis that lost what it had hears of it with the next call.
  for (const gateway of world.alive) world.call(gateway, CENT, 0n)
  for (let round = 0; round < 10; round += 1) {
    for (const call of world.running) world.end(call, false)
    await world.pass(1_000)
  }
  await settle()
  for (const gateway of world.alive) {
    for (const hash of world.redis.hashes.values()) {
      const text = hash.get(`g:${gateway.gatewayId}`)
      if (text !== undefined && /"r":"(?!0")/.test(text)) return `${seed}: a reservation is left: ${text}`
    }
    if (gateway.engine.stats().waiting > 0) return `${seed}: a call waits for ever`
  }
  return null
}
