import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startSteadyLoad } from '../../src/standalone/prove/load.ts'
import { readStandInLedger } from '../../src/standalone/prove/stand-in-ledger.ts'
import { startBalancer } from './balancer.ts'
import { startLagWatch } from './lag-watch.ts'
import { settle } from './settle.ts'
import { startWorld } from './world.ts'

/**
 * Restarts two gateways behind a balancer in turn, by SIGTERM, under calls and open streams. No call may
 * fail, and none may be lost.
 *
 *     npm run chaos:rolling -- [--rounds 5] [--rate 200]
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, rate: { type: 'string', default: '200' } },
})
const GRACE_MS = 40_000
const BETWEEN_MS = 500

const world = await startWorld({ gateways: 2, workers: 1, gapPatienceMs: 600_000, direct: true })
const balancer = await startBalancer(world.gateways.map(({ port }) => port))
const watch = startLagWatch(world.pool)
const load = startSteadyLoad({
  targets: [{ name: 'balancer', url: `http://127.0.0.1:${balancer.port}` }],
  keys: world.keys,
  callsPerSecond: Number(values.rate),
  onEnd: (trace) => watch.add(trace),
})
await delay(BETWEEN_MS)
const endings: { readonly how: string; readonly tookMs: number }[] = []
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const gateway of world.gateways) {
    const fromMs = performance.now()
    const how = await gateway.stop(GRACE_MS)
    endings.push({ how, tookMs: performance.now() - fromMs })
    await gateway.start()
    await delay(BETWEEN_MS)
  }
}
await load.stop()
const result = await settle(world, load.traces)
await watch.stop()

const upstream = readStandInLedger(world.upstreamLedgerFile)
const failed = load.traces.filter(({ answer }) => answer !== 'whole')
const failures = [
  ...result.complaints,
  ...failed.map(
    ({ number, answer, status, beganMs, endedMs, reason }) =>
      `call ${number}: ${answer}, status ${status}, after ${(endedMs - beganMs).toFixed(1)} ms, ${upstream.got.has(number) ? 'reached the upstream' : 'never went upstream'}: ${reason}`,
  ),
  ...endings.filter(({ how }) => how !== 'exit code 0').map(({ how }) => `a gateway ended with ${how}`),
]
const longest = endings.reduce((most, { tookMs }) => Math.max(most, tookMs), 0)
console.log(
  `${endings.length} restarts under ${load.traces.length} calls: ${failed.length} failed, ${result.lost.size} lost, ${result.doubled.size} doubled, ` +
    `${result.interrupted.size} interrupted; a gateway ended within ${(longest / 1_000).toFixed(1)} s of SIGTERM`,
)
if (failures.length > 0) console.error(`\nFAILED\n${failures.join('\n')}`)
await balancer.close()
await world.stop()
process.exit(failures.length > 0 ? 1 : 0)
