import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type CallTrace, startSteadyLoad } from '../../src/standalone/prove/load.ts'
import { quantile } from '../stand/figures.ts'
import { startLagWatch } from './lag-watch.ts'
import { settle } from './settle.ts'
import { startWorld } from './world.ts'

/**
 * Measures the time from the kill -9 of a gateway that stays dead until the gateway beside it has its last
 * call counted.
 *
 *     npm run chaos:kill -- [--rounds 10] [--rate 200]
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, rate: { type: 'string', default: '200' } },
})
const RUN_MS = 3_000
const WITHIN_MS = 60_000

const world = await startWorld({ gateways: 2, workers: 1, gapPatienceMs: 600_000, direct: true })
const watch = startLagWatch(world.pool)
const load = startSteadyLoad({
  targets: world.gateways,
  keys: world.keys,
  callsPerSecond: Number(values.rate),
  onEnd: (trace) => watch.add(trace),
})
const tookMs: number[] = []
let cut = 0
for (let round = 0; round < Number(values.rounds); round += 1) {
  await delay(RUN_MS)
  const gateway = world.gateways[round % world.gateways.length]
  if (gateway === undefined) break
  const killedMs = performance.now()
  await gateway.kill()
  const isOfIt = (trace: CallTrace) => trace.gateway === gateway.name && trace.beganMs <= killedMs
  cut += load.traces.filter((trace) => isOfIt(trace) && trace.endedMs >= killedMs).length
  while (!watch.haveAll(isOfIt) && performance.now() - killedMs < WITHIN_MS) await delay(20)
  tookMs.push(performance.now() - killedMs)
  await gateway.start()
}
await load.stop()
const result = await settle(world, load.traces)
await watch.stop()

tookMs.sort((a, b) => a - b)
console.log(
  `${tookMs.length} kills, ${cut} calls under way: all calls of the dead counted after ${seconds(quantile(tookMs, 0.5))} (median), ` +
    `${seconds(tookMs.at(-1) ?? 0)} (worst); ${result.interrupted.size} interrupted, ${result.lost.size} lost, ${result.doubled.size} doubled`,
)
if (result.complaints.length > 0) console.error(`\nFAILED\n${result.complaints.join('\n')}`)
await world.stop()
process.exit(result.complaints.length > 0 ? 1 : 0)

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
