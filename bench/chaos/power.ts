import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sendSignal } from '../../src/standalone/processes/detached-process.ts'
import { startSteadyLoad } from '../../src/standalone/prove/load.ts'
import { quantile } from '../stand/figures.ts'
import { withDeadJournals } from './dead-gateway.ts'
import { contentOf } from './dead-journal.ts'
import { framesOf, isWithin, readSegments } from './dead-log.ts'
import { SYNC_SIGNALS } from './gateway-signals.ts'
import { settle } from './settle.ts'
import { dropSyncedEnds, knownEnd } from './synced-ends.ts'
import { startWorld } from './world.ts'

/**
 * Measures what a power loss would have taken. Gateways are killed, and the content of their journals is
 * compared with what their last sync is known to have saved. Nothing is removed, so in the end all is
 * counted.
 *
 *     npm run chaos:power -- [--rounds 30] [--rate 200]
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '30' }, rate: { type: 'string', default: '200' } },
})
const RUN_MS = 1_500
const RECORDED_MS = 500

const world = await startWorld({
  gateways: 2,
  workers: 1,
  gapPatienceMs: 600_000,
  direct: true,
  preloads: ['./recorded-syncs.ts'],
})
const load = startSteadyLoad({
  targets: world.gateways,
  keys: world.keys,
  callsPerSecond: Number(values.rate),
})
const oldestMs: number[] = []
const lostRecords: number[] = []
let unknown = 0
for (let round = 0; round < Number(values.rounds); round += 1) {
  await delay(RUN_MS)
  const gateway = world.gateways[round % world.gateways.length]
  if (gateway === undefined) break
  dropSyncedEnds(world.recordFolder)
  for (const { pid } of gateway.takers()) sendSignal(pid, SYNC_SIGNALS.progress)
  await delay(RECORDED_MS)
  await withDeadJournals(world, gateway, async (dead) => {
    for (const { producer, folder, killedAtMs } of dead) {
      const frames = framesOf(readSegments(folder))
      const synced = knownEnd(world.recordFolder, producer)
      if (synced === null) {
        unknown += 1
        continue
      }
      const whole = contentOf(frames)
      const { last } = contentOf(frames.filter((frame) => isWithin(frame, synced)))
      const lost = whole.records.filter(({ sequence }) => sequence > last)
      lostRecords.push(lost.length)
      oldestMs.push(Math.max(0, ...lost.map(({ endedAtMs }) => killedAtMs - endedAtMs)))
    }
  })
  await gateway.start()
}
await load.stop()
const result = await settle(world, load.traces)

oldestMs.sort((a, b) => a - b)
const withLoss = lostRecords.filter((count) => count > 0).length
console.log(
  `${lostRecords.length} kills at ${values.rate} calls a second over ${world.gateways.length} gateways; had each been a power loss: ` +
    `${withLoss} would have taken records, ${Math.max(0, ...lostRecords)} at most; the oldest of them was ` +
    `${quantile(oldestMs, 0.5).toFixed(0)} ms old (median), ${(oldestMs.at(-1) ?? 0).toFixed(0)} ms (worst); ` +
    `${unknown} journals beside were not written to; ${result.lost.size} lost, ${result.doubled.size} doubled`,
)
const failures = [...result.complaints]
if (lostRecords.length === 0) failures.push('nothing was measured')
if (failures.length > 0) console.error(`\nFAILED\n${failures.join('\n')}`)
await world.stop()
process.exit(failures.length > 0 ? 1 : 0)
