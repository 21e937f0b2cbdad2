import type { Random } from '../../src/standalone/prove/random.ts'
import type { LagWatch } from './lag-watch.ts'
import type { World } from './world.ts'

/** One kind of fault. */
export interface Fault {
  readonly name: string
  /** What it takes away: no other fault of the same part at the same time. */
  readonly part: 'gateways' | 'workers' | 'redis' | 'postgres' | 'wires'
  /** It destroys what others may not touch meanwhile, or reads what they would hide: nothing else happens beside it. */
  readonly alone?: true
  /** It ends a gateway and does nothing else: calls at others meet nothing of it. */
  readonly onlyEnds?: true
  /** What it needs and this machine or run does not have, in words; `null`, or absent: nothing. */
  missing?(world: World): string | null
  /**
   * Injects the fault and repairs it. When this resolves, everything runs again.
   *
   * @throws NotNow when the moment does not allow it, or nothing met it: the fault was not injected.
   */
  inject(world: World, random: Random, watch: LagWatch): Promise<void>
}

/** The fault needs something that is not there at the moment. */
export class NotNow extends Error {}
