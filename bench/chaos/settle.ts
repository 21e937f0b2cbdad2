import { setTimeout as delay } from 'node:timers/promises'
import type { CallTrace } from '../../src/standalone/prove/load.ts'
import { type Audit, audit } from './audit.ts'
import type { Death } from './lives.ts'
import type { World } from './world.ts'

/** From the last fault to the last call counted: patience with a gap, twice, and backoffs of 30 s. */
const SETTLES_WITHIN_MS = 120_000
/** The books are to agree, and to agree again this much later. */
const AGREES_FOR_MS = 3_000

/** Audits until the books agree twice, or time is up. No calls are made any more. */
export async function settle(
  world: World,
  traces: readonly CallTrace[],
  deaths: readonly Death[] | null = null,
): Promise<Audit> {
  const until = performance.now() + SETTLES_WITHIN_MS
  while (true) {
    const first = await audit(world, traces, deaths)
    const agrees = first.complaints.length === 0
    if (!agrees && performance.now() > until) return first
    await delay(agrees ? AGREES_FOR_MS : 1_000)
    if (!agrees) continue
    const second = await audit(world, traces, deaths)
    if (second.complaints.length === 0) return second
  }
}
