import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type LimitOrder, removeLimits, setLimits } from '../../src/limits/table/change-limits.ts'
import { jsonShape } from '../overhead/load/shapes.ts'
import { Rig } from '../overhead/rig.ts'
import { quantile } from '../stand/figures.ts'
import { measureStage, STAGE_CASES } from './stage.ts'

/**
 * What limits cost a call. First the stage alone, with the estimate and what follows at the call's end. Then the CPU of a
 * gateway process for calls of one client, in turn without limits and with a budget, requests and tokens a minute and
 * calls at once: headers of rates are in it, and exchanges with Redis. Linux: reads /proc.
 *
 *   npm run bench:limits -- [--only stage] [--rounds 7] [--calls 20000] [--connections 32]
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    calls: { type: 'string', default: '20000' },
    connections: { type: 'string', default: '32' },
  },
})
const calls = Number(values.calls)
const course = { kind: 'closed', connections: Number(values.connections), calls } as const
/** Gateways read limits twice a second. */
const READ_MS = 1_500
const WARM_UP_CALLS = 2_000

const rateOf = (kind: LimitOrder['kind'], amount: bigint): LimitOrder => ({
  kind,
  per: null,
  isSoft: false,
  amount,
})
/** Far above what is used: what a call costs that is within its limits. */
const LIMITS: readonly LimitOrder[] = [
  {
    kind: 'budget',
    per: 'day',
    isSoft: false,
    amount: 1_000_000n * 1_000_000_000_000n,
    allowsUnpriced: true,
  },
  rateOf('requests', 100_000_000n),
  rateOf('tokens', 1_000_000_000_000n),
  rateOf('concurrent', 10_000n),
]

const rounds = Number(values.rounds)
console.log('| stage, us a call | lowest | median | highest |\n|---|---|---|---|')
for (const [name, limits] of STAGE_CASES) {
  await measureStage(limits, calls)
  const taken: number[] = []
  for (let round = 0; round < rounds; round++) taken.push(await measureStage(limits, calls))
  taken.sort((a, b) => a - b)
  console.log(`| ${name} | ${[0, 0.5, 1].map((share) => at(taken, share)).join(' | ')} |`)
}
if (values.only === 'stage') process.exit(0)

const rig = await Rig.start({ peers: [], originPort: '0', beside: null })
const { tallygate } = rig
const { pool } = tallygate.stand
const { rows } = await pool.query<{ id: string }>('select id from tallygate.clients')
const clientId = rows[0]?.id ?? ''
const shape = jsonShape(1)

/** Microseconds of the gateway's CPU for a call. */
const measure = async (limits: readonly LimitOrder[]): Promise<number> => {
  await removeLimits(pool, { clientId }, 'bench')
  if (limits.length > 0) await setLimits(pool, { clientId, keyId: null, model: null }, limits, 'bench')
  await delay(READ_MS)
  await rig.run(tallygate.target, shape, { ...course, calls: WARM_UP_CALLS })
  const { cpuUs } = await rig.run(tallygate.target, shape, course)
  return (cpuUs.proxy ?? 0) / calls
}

await measure(LIMITS)
const differences: number[] = []
console.log('| round | without limits, us a call | with | difference |\n|---|---|---|---|')
for (let round = 1; round <= rounds; round++) {
  // In turn, and turned around in every other round, as what comes second finds a warmer machine.
  const isTurned = round % 2 === 0
  const first = await measure(isTurned ? LIMITS : [])
  const second = await measure(isTurned ? [] : LIMITS)
  const [without, within] = isTurned ? [second, first] : [first, second]
  differences.push(within - without)
  console.log(
    `| ${round} | ${without.toFixed(1)} | ${within.toFixed(1)} | ${(within - without).toFixed(1)} |`,
  )
}
differences.sort((a, b) => a - b)
const [low, median, high] = [0, 0.5, 1].map((share) => at(differences, share))
console.log(`\nmedian of the differences ${median} us a call (${low} to ${high})`)
await rig.stop()
process.exit(0)

function at(sorted: readonly number[], share: number): string {
  return quantile(sorted, share).toFixed(1)
}
