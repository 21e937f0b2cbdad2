import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createLog } from '../../src/lib/log.ts'
import { openRedis } from '../../src/store/connection/redis.ts'
import { systemUseUs, useOf } from '../stand/proc.ts'
import { writeResults } from '../stand/results.ts'
import { describeTestbed } from '../stand/testbed.ts'
import { settleBooks } from './books.ts'
import { coursesOf, descriptorsAtRest } from './figures.ts'
import { Load } from './load.ts'
import { type Reading, read } from './readings.ts'
import { renderSoak, type SoakResults } from './report.ts'
import { startSoakRig } from './rig.ts'

/**
 * Runs the whole for an hour under a steady load, and fails where anything grows that should not, or where a call is
 * lost or counted twice. Linux: reads /proc.
 *
 *   npm run soak -- [--minutes 60] [--rate 800] [--processes 2] [--workers 2] [--shards 2] [--out bench/results]
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    /** Calls a second; absent: what 60 % of this machine carries. */
    rate: { type: 'string' },
    processes: { type: 'string', default: '2' },
    workers: { type: 'string', default: '2' },
    shards: { type: 'string', default: '2' },
    /** Where results are written; absent: nowhere. */
    out: { type: 'string' },
  },
})
const READ_EVERY_MS = 30_000
const WARM_UP_RATE = 100
const WARM_UP_MS = 15_000
const TRIAL_RATE = 200
const TRIAL_MS = 30_000
const TRIALS = 8
const CLOSE_ENOUGH = 1.05
/** The upstream keeps connections for 60 s. */
const REST_MS = 70_000
const SHARE_OF_CPU = 0.6

const testbed = describeTestbed(null)
const options = {
  processes: Number(values.processes),
  workers: Number(values.workers),
  shards: Number(values.shards),
}
const rig = await startSoakRig(options)
const redis = openRedis(rig.stand.redis.url, {
  name: 'soak',
  whenAway: 'fail',
  silenceMs: 10_000,
  log: createLog('silent', 'soak'),
})
const load = new Load(rig.gateway.url, rig.clients)
await callFor(WARM_UP_RATE, WARM_UP_MS)
const rate = values.rate === undefined ? await findRate() : Number(values.rate)
console.log(`${rate} calls a second for ${values.minutes} minutes`)

const atRestBefore = await readAtRest()
const began = { atMs: performance.now(), systemUs: systemUseUs(), ownUs: ownUseUs() }
const readings: Reading[] = [await read(rig, redis, load.seen.ended)]
load.start(rate)
while (performance.now() - began.atMs < Number(values.minutes) * 60_000) {
  await delay(READ_EVERY_MS - ((performance.now() - began.atMs) % READ_EVERY_MS))
  const reading = await read(rig, redis, load.seen.ended)
  readings.push(reading)
  say(reading)
}
const spentUs = (performance.now() - began.atMs) * 1_000 * cpus().length
const ownShare = (ownUseUs() - began.ownUs) / spentUs
const otherShare = Math.max((systemUseUs() - began.systemUs) / spentUs - ownShare, 0)
await load.stop()
await load.close()

const books = await settleBooks(rig)
const courses = coursesOf(readings)
const atRest = descriptorsAtRest(atRestBefore, await readAtRest())
const results: SoakResults = {
  testbed,
  ownShare,
  otherShare,
  minutes: Number(values.minutes),
  callsPerSecond: rate,
  ...options,
  books,
  courses,
  atRest,
  failures: [
    ...books.complaints,
    ...[...load.seen.unplanned].map(([how, count]) => `calls that ended otherwise: ${how}, ${count} times`),
    ...[rig.gateway, ...rig.workers].flatMap(({ unbidden }) => unbidden),
    ...courses
      .filter(({ verdict }) => verdict === 'grows')
      .map(({ name, unit, fit, limit }) => {
        return `grows: ${name}, ${fit?.perHour.toFixed(1)} ${unit} an hour, allowed ${limit?.toFixed(1)}`
      }),
    ...atRest
      .filter(({ after, allowed }) => !(after <= allowed))
      .map(({ name, before, after, allowed }) => {
        return `${name} has ${after} descriptors open at rest, ${before} before, allowed ${allowed}`
      }),
  ],
}
console.log(renderSoak(results))
if (values.out !== undefined) writeResults(values.out, 'soak', renderSoak(results), results)
await rig.stand.stop()
process.exit(results.failures.length === 0 ? 0 : 1)

/** After connections that are kept for a next call have been closed. */
async function readAtRest(): Promise<Reading> {
  await delay(REST_MS)
  return await read(rig, redis, load.seen.ended)
}

async function callFor(perSecond: number, ms: number): Promise<void> {
  load.start(perSecond)
  await delay(ms)
  await load.stop()
}

/**
 * Calls a second with which all of this run takes 60 % of all cores; in tens. By trials, each at the rate that the one
 * before found: a call costs less the more there are, and once its code is compiled.
 */
async function findRate(): Promise<number> {
  let rate = TRIAL_RATE
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const before = { us: ownUseUs(), calls: load.seen.ended }
    await callFor(rate, TRIAL_MS)
    const usPerCall = (ownUseUs() - before.us) / (load.seen.ended - before.calls)
    const found = Math.floor((SHARE_OF_CPU * cpus().length * 1e6) / usPerCall / 10) * 10
    console.log(`a trial of ${rate} calls a second: ${usPerCall.toFixed(0)} us of CPU a call`)
    if (found <= rate * CLOSE_ENOUGH) return found
    rate = Math.min(found, rate * 2)
  }
  return rate
}

/** CPU of this process and of all that it started, servers included. */
function ownUseUs(): number {
  return useOf(process.pid)?.accountedUs ?? 0
}

function say({ atMs, calls, journalMb, redisUsedMb, streamEntries, processes }: Reading): void {
  const memory = [...processes].map(([name, { rssMb }]) => `${name} ${rssMb.toFixed(0)}`).join(', ')
  const minutes = ((atMs - began.atMs) / 60_000).toFixed(1)
  console.log(
    `${minutes} min, ${calls} calls, journals ${journalMb.toFixed(1)} MB, Redis ${redisUsedMb.toFixed(1)} MB, ${streamEntries} entries; RSS, MB: ${memory}`,
  )
}
