// @seconds: hundreds of schedules
import { expect, test } from 'vitest'
import { rounds } from '../support/rounds.ts'
import { FAULT_PROFILES, MISSED_AT } from './faults/faults.ts'
import { RULES, type Rule } from './faults/rules.ts'
import { type Outcome, play, shrink, stepsOf } from './run.ts'

/** Schedules of the protocol as it is; `MODEL_SCHEDULES` asks for more, from `MODEL_SEED` on. */
const SCHEDULES = Number(process.env.MODEL_SCHEDULES ?? rounds({ short: 800, long: 15_000 }))
const FIRST_SEED = Number(process.env.MODEL_SEED ?? 1)
/** A rule that so many schedules do not miss is not shown to be needed. */
const MAX_WITHOUT_RULE = 60_000
/** A rule is searched for also where it is known which schedule misses it. */
const SEARCHES_ALL = rounds({ short: false, long: true })

const rules = Object.entries(RULES) as [Rule, string][]
const needed: Rule[] = []

/** The fewest steps that show it. */
function describe({ seed, steps }: Outcome, without: Rule | null): string {
  const fewest = shrink(steps, seed, without)
  const lines = fewest.map(({ name, seed }) => `  ${name} (${seed})`)
  return `MODEL_SEED=${seed}${without === null ? '' : ` without ${without}`}: ${play(fewest, seed, without)}\n${lines.join('\n')}`
}

function problemAt(seed: number, without: Rule | null): Outcome | null {
  const steps = stepsOf(seed)
  return play(steps, seed, without) === null ? null : { seed, steps }
}

function firstProblem(schedules: number, without: Rule | null): { outcome: Outcome | null; steps: number } {
  let steps = 0
  const known = without === null ? undefined : MISSED_AT[without]
  const profile = known === undefined ? undefined : known % FAULT_PROFILES.length
  for (let seed = FIRST_SEED; seed < FIRST_SEED + schedules; seed++) {
    if (profile !== undefined && seed % FAULT_PROFILES.length !== profile) continue
    const schedule = stepsOf(seed)
    steps += schedule.length
    if (play(schedule, seed, without) === null) continue
    return { outcome: { seed, steps: schedule }, steps }
  }
  return { outcome: null, steps }
}

test.each(rules)('%s is needed: %s', (rule) => {
  const known = SEARCHES_ALL ? undefined : MISSED_AT[rule]
  const outcome =
    (known === undefined ? null : problemAt(known, rule)) ?? firstProblem(MAX_WITHOUT_RULE, rule).outcome
  expect(outcome, `no schedule misses ${rule}`).not.toBeNull()
  if (outcome === null) return
  // It is the rule that is missed: with it, the same steps break nothing.
  if (play(outcome.steps, outcome.seed, null) !== null) expect.fail(describe(outcome, rule))
  needed.push(rule)
})

test('nothing is lost, nothing doubled, in any schedule', () => {
  const { outcome, steps } = firstProblem(SCHEDULES, null)
  if (outcome !== null) expect.fail(describe(outcome, null))
  process.stdout.write(
    `${SCHEDULES} schedules, ${steps} steps, 0 violations; ${rules.length} rules, ${needed.length} shown to be needed\n`,
  )
})
