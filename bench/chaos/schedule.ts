import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../../src/standalone/prove/random.ts'
import { type Fault, NotNow } from './fault.ts'
import type { Injection } from './injection.ts'
import type { LagWatch } from './lag-watch.ts'
import type { World } from './world.ts'

/** What came of a plan. */
export interface Course {
  readonly injections: readonly Injection[]
  /** Faults that could not be repaired, or never be injected. */
  readonly failures: readonly string[]
}

interface Planned {
  readonly fault: Fault
  readonly part: number
  readonly attempt: number
}

const AT_ONCE = 2
const GAP_MAX_MS = 1_200
const ATTEMPTS = 5

/** Injects every fault `rounds` times, in an order that the seed decides, two at once where they let each other. */
export async function runSchedule(
  world: World,
  watch: LagWatch,
  plan: {
    readonly faults: readonly Fault[]
    readonly rounds: number
    readonly random: Random
    readonly say: (line: string) => void
  },
): Promise<Course> {
  const { faults, rounds, random, say } = plan
  const injections: Injection[] = []
  const failures: string[] = []
  const underWay = new Map<Promise<void>, Fault>()
  const all = Array.from({ length: rounds }, () => faults).flat()
  const queue: Planned[] = random.shuffle(all).map((fault, part) => ({ fault, part, attempt: 1 }))

  async function inject(planned: Planned): Promise<void> {
    const { fault, part, attempt } = planned
    const fromMs = performance.now()
    try {
      await fault.inject(world, random.fork(part * ATTEMPTS + attempt), watch)
      injections.push({ fault: fault.name, fromMs, toMs: performance.now() })
      say(`${fault.name} (${((performance.now() - fromMs) / 1_000).toFixed(1)} s)`)
    } catch (error) {
      if (error instanceof NotNow && attempt < ATTEMPTS) {
        queue.push({ fault, part, attempt: attempt + 1 })
        say(`${fault.name}: put off, ${error.message}`)
      } else failures.push(`${fault.name}: ${error instanceof Error ? error.message : error}`)
    }
  }

  while (queue.length > 0 || underWay.size > 0) {
    const active = [...underWay.values()]
    const next = queue[0]
    const mayBegin =
      next !== undefined &&
      active.length < AT_ONCE &&
      active.every(({ alone, part }) => !alone && !next.fault.alone && part !== next.fault.part)
    if (!mayBegin) {
      await Promise.race(underWay.keys())
      continue
    }
    queue.shift()
    const injecting: Promise<void> = inject(next).finally(() => underWay.delete(injecting))
    underWay.set(injecting, next.fault)
    await delay(random.between(0, GAP_MAX_MS))
  }
  return { injections, failures }
}
