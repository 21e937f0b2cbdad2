import { picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { oneOf, randomOf } from '../../model/faults/random.ts'
import { limitOf, NOON_MS, USD } from '../engine/fakes.ts'
import { type CallInWorld, type GatewayInWorld, World } from './world.ts'

const CENT = USD / 100n
const GATEWAYS = 4
/** What a session costs more with each of its figures at most, and how often they come. */
const FIGURE = 8n * CENT
const FIGURE_MS = [50, 50, 50, 300] as const
/** A client whose session was ended begins another after so long. */
const AGAIN_MS = 100
const LENGTH_MS = 20_000

/** What happens to Redis meanwhile. */
export const SESSION_FAULTS = ['none', 'stalls', 'emptied', 'fails over', 'away', 'cut off', 'slow'] as const
export type SessionFault = (typeof SESSION_FAULTS)[number]

export interface PlayedSessions {
  /** Pico-USD: what all sessions cost, and what that may be at most. */
  readonly spent: bigint
  readonly bound: bigint
  /** Why sessions were ended. */
  readonly ended: readonly string[]
}

/**
 * A client at each gateway, whose sessions cost more and more, and who begins another when one is ended.
 *
 * @param faultAfterMs When the fault begins, since the sessions have.
 */
export async function playSessions(
  seed: number,
  fault: SessionFault,
  amount: bigint,
  faultAfterMs = 1_000 * ((seed % 4) - 1),
): Promise<PlayedSessions> {
  const random = randomOf(seed)
  const world = new World(random, [limitOf('b', { amount })], NOON_MS)
  for (let number = 0; number < GATEWAYS; number += 1) world.start()
  await world.pass(2_000)
  const startedAtMs = world.nowMs + 2_000
  const ended: string[] = []
  const lane = (gateway: GatewayInWorld) => {
    const estimate = BigInt(1 + random(30)) * CENT
    const figureMs = oneOf(FIGURE_MS, random) ?? 50
    let session: CallInWorld | null = null
    const turn = () => {
      if (session?.isRefused === true) session = null
      if (world.nowMs > startedAtMs + LENGTH_MS) {
        if (session !== null) world.end(session)
        return
      }
      session ??= world.call(gateway, estimate, 0n)
      const refusal =
        session.reservation === null ? null : world.grow(session, FIGURE - BigInt(random(3)) * CENT)
      if (refusal !== null) {
        ended.push(refusal.detail.message ?? refusal.error)
        world.end(session)
        session = null
      }
      world.at(world.nowMs + (refusal === null ? figureMs : AGAIN_MS), gateway, turn)
    }
    turn()
  }
  for (const gateway of world.gateways) world.at(startedAtMs + random(500), gateway, () => lane(gateway))
  world.at(startedAtMs + faultAfterMs + random(1_000), null, () => happen(world, fault))
  await world.pass(LENGTH_MS + 4_000)
  const spent = world.truthOf(utcDayOf(world.wallMs))
  // A figure is known once it is spent. One may pass before Redis confirms it, and the next ends the session.
  const bound = amount + FIGURE + 2n * BigInt(GATEWAYS) * FIGURE
  return { spent, bound, ended }
}

function happen(world: World, fault: SessionFault): void {
  const { redis, random } = world
  const again = (everyMs: number, task: () => void) => {
    const turn = () => {
      task()
      world.at(world.nowMs + everyMs, null, turn)
    }
    world.at(world.nowMs + everyMs, null, turn)
  }
  if (fault === 'stalls') redis.stallAgainAndAgain(350, 900)
  else if (fault === 'emptied') again(1_000, () => redis.flush())
  else if (fault === 'fails over') again(4_000, () => redis.ends(random(1_500), random(20)))
  else if (fault === 'away') world.at(world.nowMs + 700, null, () => redis.ends(10_000))
  else if (fault === 'slow') redis.slowPercent = 30
  else if (fault === 'cut off')
    world.at(world.nowMs + random(1_000), null, () => redis.cutOff(oneOf(world.alive, random), 15_000))
}

export function sayOver({ spent, bound }: PlayedSessions): string | null {
  return spent <= bound ? null : `${picoToUsdText(spent)} USD spent, ${picoToUsdText(bound)} at most`
}
