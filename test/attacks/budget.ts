import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startSentinels } from '../redis/support/sentinels.ts'
import { startPrivateRedis } from '../support/servers/servers.ts'
import { ASSAULTS, type Assault } from './breaks/assaults.ts'
import { deploy } from './deployment.ts'
import { type Provider, picoOf, usdOf } from './provider.ts'
import { type Attacker, createWorld, show, type World } from './world.ts'

// A hard budget of 1 USD, every assault on it at once over four gateways, and Redis in each state.

const GATEWAYS = 4
const BUDGET_USD = 1
const PACE_MS = 100
/** So many refusals in a row, and nothing fits any more. */
const ENOUGH_REFUSALS = 8
const AT_MOST_MS = 60_000

/** What happens to Redis while budgets are spent. */
interface Fault {
  readonly says: string
  readonly happen: (isOver: () => boolean) => Promise<void>
}

/**
 * @param only Parts of what assaults say: only those are made. Empty: all.
 * @returns How many budgets were passed by more than docs/limits.md allows.
 */
export async function attackBudgets(
  checkout: string,
  provider: Provider,
  only: readonly string[],
): Promise<number> {
  const assaults = ASSAULTS.filter(
    ({ says }) => only.length === 0 || only.some((part) => says.includes(part)),
  )
  const redis = await startPrivateRedis()
  let passed = 0
  const own = await deploy({ checkout, provider, redisUrl: redis.url, gateways: GATEWAYS })
  const flushing = new Redis(redis.url)
  flushing.on('error', () => {})
  const repeat = async (isOver: () => boolean, turn: () => Promise<void>) => {
    while (!isOver()) await turn()
  }
  const faults: readonly Fault[] = [
    { says: 'Redis there', happen: async () => {} },
    {
      says: 'Redis stalled for 0.35 s in every 1.25 s',
      happen: (isOver) =>
        repeat(isOver, async () => {
          redis.freeze()
          await delay(350)
          redis.thaw()
          await delay(900)
        }),
    },
    {
      says: 'Redis away for 10 s',
      async happen() {
        await delay(700)
        redis.freeze()
        await delay(10_000)
        redis.thaw()
      },
    },
    {
      says: 'Redis emptied every second',
      happen: (isOver) =>
        repeat(isOver, async () => {
          await delay(1_000)
          await flushing.flushall().catch(() => {})
        }),
    },
  ]
  try {
    const world = createWorld(own, provider)
    for (const fault of faults) passed += await assault(world, fault, assaults)
  } finally {
    flushing.disconnect()
    await own.stop()
    await redis.stop()
  }
  const sentinels = await startSentinels()
  const watched = await deploy({ checkout, provider, redisUrl: sentinels.url, gateways: GATEWAYS })
  try {
    const failover: Fault = {
      says: 'Redis failing over',
      async happen() {
        await delay(1_000)
        const master = await sentinels.master()
        await master.kill()
        while ((await sentinels.master()) === master) await delay(100)
        await master.start()
      },
    }
    passed += await assault(createWorld(watched, provider, 'failing-over'), failover, assaults)
  } finally {
    await watched.stop()
    await sentinels.stop()
  }
  return passed
}

async function assault(world: World, { says, happen }: Fault, assaults: readonly Assault[]): Promise<number> {
  const attackers: { readonly one: Assault; readonly attacker: Attacker }[] = []
  for (const one of assaults)
    attackers.push({ one, attacker: await world.attacker({ budgetUsd: BUDGET_USD, script: one.script }) })
  let left = attackers.length * GATEWAYS
  const until = performance.now() + AT_MOST_MS
  const lane = async ({ one, attacker }: (typeof attackers)[number], gateway: number) => {
    for (let refused = 0; refused < ENOUGH_REFUSALS && performance.now() < until; ) {
      refused = (await one.strike(attacker, gateway).catch(() => false)) ? 0 : refused + 1
      await delay(PACE_MS)
    }
    left -= 1
  }
  const gateways = Array.from({ length: GATEWAYS }, (_, at) => at)
  await Promise.all([
    happen(() => left === 0),
    ...attackers.flatMap((one) => gateways.map((gateway) => lane(one, gateway))),
  ])
  let passed = 0
  for (const { one, attacker } of attackers) {
    const { account } = attacker
    while (account.running > 0) await delay(100)
    const boundPico = picoOf(BUDGET_USD) + BigInt(aboveOf(one, account.mostRunning)) * account.dearestPico
    const held = account.pico <= boundPico
    if (!held) passed += 1
    console.log(
      `${held ? 'held ' : 'BROKE'} ${says}; ${one.says}: ${show(usdOf(account.pico))} USD of ${BUDGET_USD} ` +
        `(at most ${show(usdOf(boundPico))}), ${account.served} served, ${account.mostRunning} at once`,
    )
  }
  return passed
}

/**
 * The formula of docs/limits.md from the outside, in calls: the dearest one, and what calls in flight cost above their
 * estimates, which is no more than they cost. A session may have two figures on their way.
 */
function aboveOf({ isBounded, says }: Assault, mostRunning: number): number {
  if (isBounded === true) return 1
  return 1 + mostRunning * (says === 'transcriptions' ? 2 : 1)
}
