import { cpSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startLoad } from '../../src/standalone/prove/load.ts'
import { callByRoutes, planCall } from '../../src/standalone/prove/planned-calls.ts'
import { seeded } from '../../src/standalone/prove/random.ts'
import { readStandInLedger } from '../../src/standalone/prove/stand-in-ledger.ts'
import { AXES, describeAxes, valuesOf, wrongAxes } from './axes.ts'
import { FULL_FILE_SYSTEM } from './faults/disks.ts'
import { FAULTS } from './faults.ts'
import { type MovingGroups, startGroups } from './groups.ts'
import { startLagWatch } from './lag-watch.ts'
import { watchProcesses } from './lives.ts'
import { tableOf } from './report.ts'
import { awaitClosedCircuits, failedCalls } from './routed.ts'
import { runSchedule } from './schedule.ts'
import { settle } from './settle.ts'
import { startWorld, type World } from './world.ts'

/**
 * Tries to make tallygate lose a call or count one twice: real processes and servers, calls, and every fault in an
 * order that the seed decides; then everybody's books are compared.
 *
 *   npm run chaos -- --calls 200000 --seed 7 [--rounds 10] [--rate 200] [--faults 'redis FLUSHALL,power loss'] [--minutes 30]
 *   npm run chaos -- --routes [--faults kills]   three targets, ill in turn; kills: of the faults, those that only end gateways
 *   npm run chaos -- --axes --groups             calls have values on two axes, and clients move in three levels of groups
 *
 * Ends with 1, the line that repeats it and the folder with its logs, where the books do not agree or it could not end.
 */
const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    /** How often each fault is injected. */
    rounds: { type: 'string', default: '1' },
    /** Calls a second. */
    rate: { type: 'string', default: '200' },
    /** Names, parted by commas, or `kills`; absent: all. */
    faults: { type: 'string' },
    /** After this time the run gives up and has failed. */
    minutes: { type: 'string', default: '60' },
    gateways: { type: 'string', default: '3' },
    workers: { type: 'string', default: '2' },
    /** Of the first gateway: several are a cluster that shares its port. */
    processes: { type: 'string', default: '2' },
    /** Streams side by side, and roll-up jobs. */
    shards: { type: 'string', default: '2' },
    /** Calls go by routes to three targets each, which are ill in turn, in every way. */
    routes: { type: 'boolean', default: false },
    /** Calls say by headers for whom they are, and each axis has to add up to the whole. */
    axes: { type: 'boolean', default: false },
    /** Clients are in three levels of groups and move meanwhile, and each has to be the sum of its clients. */
    groups: { type: 'boolean', default: false },
    /** Tells of each fault as it is over. */
    verbose: { type: 'boolean', default: false },
  },
})
/** Longer than a busy machine takes to send again what was lost: to give up a gap that is filled later is a failure. */
const GAP_PATIENCE_MS = 30_000
const AT_ONCE = 160
const DEPARTING = 0.02

const seed = Number(values.seed)
const calls = Number(values.calls)
const KILLS = FAULTS.flatMap(({ name, onlyEnds }) => (onlyEnds === true ? [name] : []))
const wanted = values.faults === 'kills' ? KILLS : values.faults?.split(',').map((name) => name.trim())
const chosen = FAULTS.filter(({ name }) => wanted?.includes(name) ?? true)
const unknown = wanted?.filter((name) => !FAULTS.some((fault) => fault.name === name)) ?? []
if (unknown.length > 0) {
  console.error(
    `no such fault: ${unknown.join(', ')}; there are: ${FAULTS.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}
const repeat = repeatLine()
let started: World | null = null
process.on('uncaughtException', (error) => fail([error.stack ?? `${error}`]))
setTimeout(() => fail([`not done in ${values.minutes} minutes`]), Number(values.minutes) * 60_000).unref()

if (values.routes) callByRoutes()
const world = await startWorld({
  routes: values.routes,
  gateways: Number(values.gateways),
  workers: Number(values.workers),
  gapPatienceMs: GAP_PATIENCE_MS,
  shards: Number(values.shards),
  processes: Number(values.processes),
  configuration: values.axes ? AXES : '',
  ownJournalDisk: chosen.some(({ name }) => name === FULL_FILE_SYSTEM),
})
started = world
const faults = chosen.filter((fault) => {
  const missing = fault.missing?.(world) ?? null
  if (missing !== null) console.log(`left out: ${fault.name}: ${missing}`)
  return missing === null
})
const random = seeded(seed)
const watch = startLagWatch(world.pool)
const lives = watchProcesses(world.gateways)
const groups: MovingGroups | null = values.groups ? await startGroups(world.pool, random.fork(3)) : null
const load = startLoad({
  targets: world.gateways,
  keys: world.keys,
  atOnce: AT_ONCE,
  callsPerSecond: Number(values.rate),
  departing: DEPARTING,
  random: random.fork(1),
  ...(values.axes ? { plan: (number: number) => ({ ...planCall(number), headers: valuesOf(number) }) } : {}),
  onEnd: (trace) => watch.add(trace),
})
const beganMs = performance.now()
const course = await runSchedule(world, watch, {
  faults,
  rounds: Number(values.rounds),
  random: random.fork(2),
  say: (line) => {
    if (values.verbose)
      console.log(`${((performance.now() - beganMs) / 1_000).toFixed(0).padStart(5)} s  ${line}`)
  },
})
while (load.traces.length < calls) await delay(100)
world.heal()
const openCircuits = values.routes ? await awaitClosedCircuits(world.gateways) : []
await load.stop()
await groups?.stop()
const stoppedMs = performance.now()
const result = await settle(world, load.traces, lives.deaths)
const settledMs = performance.now()
await watch.stop()
lives.stop()

const took = ((settledMs - beganMs) / 1_000).toFixed(0)
console.log(`${load.traces.length} calls, seed ${seed}, ${took} s\n`)
console.log(
  tableOf(
    faults.map(({ name }) => name),
    load.traces,
    course.injections,
    result,
    watch,
  ),
)
const statuses = Map.groupBy(
  load.traces.filter(({ answer }) => answer === 'error'),
  ({ status }) => status,
)
const spread = await countByStream(world)
const failed = values.routes
  ? failedCalls(load.traces, lives.deaths, {
      sent: readStandInLedger(world.upstreamLedgerFile).got,
      wants: course.injections.filter(({ fault }) => !KILLS.includes(fault)),
    })
  : []
const misplaced = [
  ...(values.axes ? await wrongAxes(world.pool) : []),
  ...((await groups?.wrongSums()) ?? []),
]
const failures = [
  ...misplaced,
  ...course.failures,
  ...openCircuits,
  ...result.complaints,
  ...failed.map((trace) => `failed: ${JSON.stringify(trace)}`),
]
console.log(`
lost ${result.lost.size}, doubled ${result.doubled.size}${values.routes ? `, failed ${failed.length}, circuits left open ${openCircuits.length}` : ''}, interrupted ${result.interrupted.size} (flagged), rows ${result.rows}
destroyed by design (unsynced at power loss, torn or corrupted tails, corrupted or deleted journals): ${result.destroyed}; oldest record not shipped at power loss ${world.allowances.oldestUnshippedMs.toFixed(0)} ms
named gaps: ${result.namedGaps.map(({ reason, sequences }) => `${reason} ${sequences}`).join(', ') || 'none'}
records by stream: ${spread}${values.axes ? `\naxes: ${await describeAxes(world.pool)}` : ''}${groups === null ? '' : `\ngroups: ${groups.describe()}`}
errors: ${[...statuses].map(([status, { length }]) => `${status} ${length}`).join(', ') || 'none'}; refused: no gateway listened at that port
${failures.length === 0 ? 'all books agree' : 'something is wrong, still,'} ${((settledMs - stoppedMs) / 1_000).toFixed(1)} s after the last call`)
if (failures.length > 0) fail(failures)
await world.stop()
process.exit(0)

/** Says what repeats the run, keeps its logs and journals, and ends; with this process everything that it started ends. */
function fail(failures: readonly string[]): never {
  const kept = started === null ? 'none: nothing had started' : keepFolder(started)
  console.error(`\nFAILED\n${failures.join('\n')}\nrepeat: ${repeat}\nlogs: ${kept}`)
  process.exit(1)
}

/** Where it is now: under its own name it is deleted as this process ends. */
function keepFolder({ upstreamLedgerFile, journalDir, journalDisk }: World): string {
  const folder = dirname(upstreamLedgerFile)
  const kept = `${folder}-failed`
  try {
    renameSync(folder, kept)
    if (typeof journalDisk !== 'string') cpSync(journalDir, join(kept, 'journal'), { recursive: true })
    return kept
  } catch (error) {
    return `not all in ${kept}: ${error}` // gateways still write, and the books' difference matters more
  }
}

/** How many records each stream's producers have in the totals. */
async function countByStream({ pool, streams }: World): Promise<string> {
  const { rows } = await pool.query<Record<'stream' | 'producers' | 'records', string>>(
    'select stream, count(*) as producers, sum(mark) as records from tallygate.producers group by stream',
  )
  const byStream = new Map(rows.map((row) => [row.stream, row]))
  return streams
    .map((stream) => {
      const { records = '0', producers = '0' } = byStream.get(stream) ?? {}
      return `${stream} ${records} of ${producers} producers`
    })
    .join(', ')
}

/** The command that was given, with the seed that was drawn. */
function repeatLine(): string {
  const given = process.argv.slice(2).map((word) => (/[ ,]/.test(word) ? `'${word}'` : word))
  return ['npm run chaos --', ...given, ...(given.includes('--seed') ? [] : ['--seed', `${seed}`])].join(' ')
}
