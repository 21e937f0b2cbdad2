import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../../../src/standalone/prove/random.ts'
import { type Fault, NotNow } from '../fault.ts'
import type { FaultProxy } from '../fault-proxy.ts'
import { proxiesOf, type World } from '../world.ts'

const CUT_TIMES = 5

const wires: readonly Fault[] = [
  {
    name: 'connections cut',
    part: 'wires',
    async inject(world, random) {
      for (let times = 0; times < CUT_TIMES; times += 1) {
        pickStore(world, random).cut(0.5, () => random.below(1_000) / 1_000)
        await delay(random.between(50, 500))
      }
    },
  },
  {
    name: 'connections late',
    part: 'wires',
    async inject(world, random) {
      const proxy = pickStore(world, random)
      proxy.delay(random.between(20, 300))
      await delay(4_000)
      proxy.delay(0)
    },
  },
  {
    name: 'connections half open',
    part: 'wires',
    async inject(world, random) {
      const proxy = pickStore(world, random)
      proxy.stall()
      await delay(random.between(2_000, 6_000))
      // Half of them come back to life with what they had kept, the others are gone.
      proxy.cut(0.5, () => random.below(1_000) / 1_000)
      proxy.resume()
    },
  },
  {
    name: 'answers lost',
    part: 'wires',
    async inject(world, random) {
      const proxy = pickStore(world, random)
      proxy.loseAnswers()
      await delay(random.between(500, 4_000))
      proxy.endLosingAnswers()
    },
  },
  {
    name: 'connections doubled',
    part: 'wires',
    async inject({ proxies: { redis } }, random) {
      redis.duplicate(true)
      redis.cut(1, () => 0) // the new ones are sent twice
      await delay(random.between(2_000, 4_000))
      redis.duplicate(false)
      redis.cut(1, () => 0)
    },
  },
  {
    name: 'upstream cut',
    part: 'wires',
    async inject({ proxies: { upstreams } }, random) {
      const upstream = random.pick(upstreams)
      for (let times = 0; times < CUT_TIMES; times += 1) {
        upstream.cut(0.5, () => random.below(1_000) / 1_000)
        await delay(random.between(50, 300))
      }
    },
  },
]

/** The wires between gateways, workers, servers and upstream. */
export const networkFaults: readonly Fault[] = wires.map((fault) => ({
  ...fault,
  async inject(world, random, watch) {
    const proxies = proxiesOf(world.proxies)
    const met = () => proxies.reduce((sum, proxy) => sum + proxy.met, 0)
    const before = met()
    await fault.inject(world, random, watch)
    if (met() === before) throw new NotNow('nothing was on the wires')
  },
}))

function pickStore({ proxies }: World, random: Random): FaultProxy {
  return random.chance(0.5) ? proxies.redis : proxies.postgres
}
