import { FAULT_PROFILES } from './faults/faults.ts'
import { randomOf } from './faults/random.ts'
import type { Rule } from './faults/rules.ts'
import { settleRound } from './faults/settle.ts'
import { randomSteps, runStep, type Step } from './steps.ts'
import { Violation } from './violation.ts'
import { World } from './world.ts'

const MIN_STEPS = 20
const MAX_STEPS = 300
/** Far more than needed after the worst; the clock moves faster where nothing does. */
const REPAIR_ROUNDS = 260

/** A schedule that breaks something. */
export interface Outcome {
  readonly seed: number
  readonly steps: readonly Step[]
}

/** A schedule by its seed. */
export function stepsOf(seed: number): Step[] {
  const random = randomOf(seed)
  return randomSteps(MIN_STEPS + random(MAX_STEPS), random, FAULT_PROFILES[seed % FAULT_PROFILES.length])
}

/** Lets everything happen, then everything recover, and reports what was broken. */
export function play(steps: readonly Step[], seed: number, without: Rule | null): string | null {
  const world = new World(without)
  try {
    for (const step of steps) runStep(world, step, randomOf)
    return mend(world, seed)
  } catch (error) {
    if (error instanceof Violation) return error.message
    throw error
  }
}

/** The fewest of `steps` that still break something: each that can be left out is. */
export function shrink(steps: readonly Step[], seed: number, without: Rule | null): readonly Step[] {
  let fewest = steps
  for (let size = fewest.length >>> 1; size > 0; size >>>= 1)
    for (let at = 0; at < fewest.length; ) {
      const fewer = fewest.toSpliced(at, size)
      if (play(fewer, seed, without) === null) at += size
      else fewest = fewer
    }
  return fewest
}

/** No more faults: the processes that run go on, or die and leave it to one that starts. */
function mend(world: World, seed: number): string | null {
  const random = randomOf(~seed)
  if (random(2) === 0) for (const gateway of world.gateways) world.kill(gateway)
  if (world.gateways.every(({ isOld }) => isOld)) world.startGateway()
  for (const gateway of world.gateways) for (const call of gateway.under) gateway.close(call)
  let problems: readonly string[] = []
  for (let round = 0; round < REPAIR_ROUNDS; round++) {
    settleRound(world, random)
    problems = world.calls.owed(world.database.totals)
    if (!world.isSettled) problems = [...problems, 'a committed offset stays behind its journal']
    if (problems.length === 0) return null
    world.pass(round < 20 ? 1_000 : 40_000)
  }
  return problems.join('; ')
}
