import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type CallTrace, startSteadyLoad } from '../../src/standalone/prove/load.ts'
import type { TestServer } from '../../test/support/servers/servers.ts'
import { quantile } from '../stand/figures.ts'
import { startLagWatch } from './lag-watch.ts'
import { settle } from './settle.ts'
import { startWorld } from './world.ts'

/**
 * Redis away, then Postgres away, under load: what calls notice, how soon the backlog is gone, what the gateways'
 * memory does. Reads /proc.
 *
 *   npm run chaos:outage -- [--seconds 120] [--rate 200] [--frozen]
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    rate: { type: 'string', default: '200' },
    /** Stopped in the middle of what they do, so that they accept connections and never answer, instead of gone. */
    frozen: { type: 'boolean', default: false },
  },
})
const awayMs = Number(values.seconds) * 1_000
const QUIET_MS = Math.max(10_000, awayMs / 4)
const BACKLOG_WITHIN_MS = 60_000
const MEMORY_GROWTH_MAX_BYTES = 100 * 1024 * 1024
const ADDED_P99_MAX_MS = 5

interface Phase {
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
  readonly memoryBytes: number
  /** From the server's return to the last call before it counted; null: a phase without outage. */
  readonly backlogGoneMs: number | null
}

const world = await startWorld({ gateways: 2, workers: 2, gapPatienceMs: 600_000, direct: true })
const watch = startLagWatch(world.pool)
const load = startSteadyLoad({
  targets: world.gateways,
  keys: world.keys,
  callsPerSecond: Number(values.rate),
  onEnd: (trace) => watch.add(trace),
})
await delay(QUIET_MS) // to warm up
const phases: Phase[] = [
  await quiet('before'),
  await away('Redis away', world.redis),
  await quiet('between'),
  await away('Postgres away', world.postgres),
  await quiet('after'),
]
await load.stop()
const result = await settle(world, load.traces)
await watch.stop()

const before = figures(phases[0])
const failures = [...result.complaints]
console.log(`${load.traces.length} calls at ${values.rate} a second, outages of ${values.seconds} s${values.frozen ? ', frozen' : ''}

| phase | calls | not whole | added p50 | added p99 | memory | backlog gone after |
| --- | --- | --- | --- | --- | --- | --- |`)
for (const phase of phases) {
  const { calls, notWhole, p50, p99 } = figures(phase)
  const backlog = phase.backlogGoneMs === null ? '' : `${(phase.backlogGoneMs / 1_000).toFixed(1)} s`
  const cells = [
    phase.name,
    calls,
    notWhole,
    `${p50.toFixed(1)} ms`,
    `${p99.toFixed(1)} ms`,
    mebibytes(phase.memoryBytes),
    backlog,
  ]
  console.log(`| ${cells.join(' | ')} |`)
  if (notWhole > 0) failures.push(`${phase.name}: ${notWhole} calls without a whole answer`)
  if (phase.backlogGoneMs === null) continue
  if (phase.backlogGoneMs > BACKLOG_WITHIN_MS)
    failures.push(`${phase.name}: the backlog stayed for ${backlog}`)
  if (p99 - before.p99 > ADDED_P99_MAX_MS)
    failures.push(`${phase.name}: p99 is ${(p99 - before.p99).toFixed(1)} ms above what it was before`)
  const grown = phase.memoryBytes - (phases[0]?.memoryBytes ?? 0)
  if (grown > MEMORY_GROWTH_MAX_BYTES) failures.push(`${phase.name}: memory grew by ${mebibytes(grown)}`)
}
console.log(`\nlost ${result.lost.size}, doubled ${result.doubled.size}`)
if (failures.length > 0) console.error(`\nFAILED\n${failures.join('\n')}`)
await world.stop()
process.exit(failures.length > 0 ? 1 : 0)

async function quiet(name: string): Promise<Phase> {
  const fromMs = performance.now()
  const memoryBytes = await memoryFor(QUIET_MS)
  return { name, fromMs, toMs: performance.now(), memoryBytes, backlogGoneMs: null }
}

async function away(name: string, server: TestServer): Promise<Phase> {
  const fromMs = performance.now()
  if (values.frozen) server.freeze()
  else await server.kill()
  const memoryBytes = await memoryFor(awayMs)
  if (values.frozen) server.thaw()
  else await server.start()
  const toMs = performance.now()
  const isOfThen = (trace: CallTrace) => trace.endedMs <= toMs
  while (!watch.haveAll(isOfThen) && performance.now() - toMs < 2 * BACKLOG_WITHIN_MS) await delay(100)
  return { name, fromMs, toMs, memoryBytes, backlogGoneMs: performance.now() - toMs }
}

/** The most that a gateway had in memory within this time, sampled each second. */
async function memoryFor(ms: number): Promise<number> {
  const until = performance.now() + ms
  let most = 0
  while (performance.now() < until) {
    await delay(Math.min(1_000, until - performance.now()))
    most = Math.max(most, ...world.gateways.map(({ pid }) => residentBytes(pid)))
  }
  return most
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024
}

function figures(phase: Phase | undefined) {
  const calls = load.traces.filter(
    ({ beganMs }) => phase !== undefined && beganMs >= phase.fromMs && beganMs < phase.toMs,
  )
  const added = calls.flatMap(({ number }) => result.addedMs.get(number) ?? []).sort((a, b) => a - b)
  return {
    calls: calls.length,
    notWhole: calls.filter(({ answer }) => answer !== 'whole').length,
    p50: quantile(added, 0.5),
    p99: quantile(added, 0.99),
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MiB`
}
