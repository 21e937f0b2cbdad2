// @seconds: hours of many clients
import { expect, test } from 'vitest'
import { rounds } from '../../support/rounds.ts'
import { USD } from '../engine/fakes.ts'
import { type Profile, play } from './schedule.ts'
import { playSessions, SESSION_FAULTS, sayOver } from './sessions.ts'
import { RULES, type Rule } from './world.ts'

/**
 * Schedules of each kind; `LIMIT_SCHEDULES` asks for more, from `LIMIT_SEED` on. Seed 2 has what seed 1 has not: limits of groups
 * and users, midnights with a Redis that never stands still, and a fault after the sessions have begun.
 */
const SCHEDULES = Number(process.env.LIMIT_SCHEDULES ?? rounds({ short: 2, long: 12 }))
const FIRST_SEED = Number(process.env.LIMIT_SEED ?? 1)
/** A rule that so many schedules do not miss is not shown to be needed. */
const MAX_WITHOUT_RULE = 60
/** By then gateways were granted shares. One that was not ends sessions, as it refuses calls. */
const GRANTED_MS = 2_000

async function problems(profile: Profile, schedules: number, without: Rule | null = null) {
  const found: string[] = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + schedules; seed += 1) {
    const { problem } = await play(seed, profile, without)
    if (problem === null) continue
    found.push(problem)
    if (without !== null) break
  }
  return found
}

const GUARANTEES = {
  strict:
    'while Redis is there a budget is never overspent by more than one call, and refusals name the truth',
  room: 'whatever fails, a call far within its limits is never refused',
  restarts:
    'while Redis is flushed, fails over and stands still, a call far within its limits is never refused',
  stalls: 'while Redis stands still again and again, no more is spent than while it is there',
  faults: 'whatever fails, all together spend no more than while Redis is there, and refusals name the truth',
  rates: 'requests in a minute and calls at once never go over their limits',
  midnight:
    'a budget is never overspent by more than one call, also as its period changes, and refusals name the truth',
} as const satisfies Partial<Record<Profile, string>>

test.each(Object.entries(GUARANTEES))('%s: %s', async (profile) => {
  expect(await problems(profile as Profile, SCHEDULES)).toEqual([])
})

test.each(
  SESSION_FAULTS,
)('sessions at all gateways go over a budget by two figures each at most (Redis: %s)', async (fault) => {
  const found: string[] = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES; seed += 1) {
    const played = await playSessions(seed, fault, BigInt(1 + (seed % 5)) * USD)
    const problem = sayOver(played)
    if (problem !== null) found.push(`${seed}: ${problem}`)
    if (fault === 'none') expect(played.spent).toBeGreaterThan(USD)
    const { ended } = await playSessions(seed, fault, 1_000n * USD, GRANTED_MS)
    found.push(...ended.map((why) => `${seed}: ended far below its budget: ${why}`))
  }
  expect(found).toEqual([])
})

test.each(Object.entries(RULES))('%s is needed: %s', async (rule) => {
  const found = await problems('midnight', MAX_WITHOUT_RULE, rule as Rule)
  expect(found.length, `no schedule misses ${rule}`).toBeGreaterThan(0)
})
