import { parseArgs } from 'node:util'
import { quantile } from '../stand/figures.ts'
import { type Lags, measureLags, PROBES } from './probes.ts'
import { startLagRig } from './rig.ts'

/**
 * How long a call takes to be in the totals, and how long a client waits for its usage right after its own call, asked
 * at another gateway than the one that took it, while others call at a fixed rate: real gateways, workers, Redis and
 * PostgreSQL, all of them durable, on this machine.
 *
 *   npm run bench:lag -- [--rates 200,1000] [--seconds 30] [--shards 1] [--workers 1] [--clients 10] [--gateways 2]
 *     [--processes 1] [--balanced]
 */
const { values } = parseArgs({
  options: {
    /** Calls a second, one run after the other. */
    rates: { type: 'string', default: '200,1000' },
    seconds: { type: 'string', default: '30' },
    shards: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    /** With one, usage is asked for where the call was made. */
    gateways: { type: 'string', default: '2' },
    /** Of each gateway. */
    processes: { type: 'string', default: '1' },
    /** Calls, and queries for usage, go through HAProxy as compose has it. */
    balanced: { type: 'boolean', default: false },
    /** That call beside the probes. */
    clients: { type: 'string', default: '10' },
  },
})
/** Not measured: until then programs are compiled and partitions made. */
const WARM_UP_S = 5
const WARM_UP_RATE = 100

const rig = await startLagRig({
  clients: Number(values.clients) + PROBES,
  workers: Number(values.workers),
  shards: Number(values.shards),
  gateways: Number(values.gateways),
  processes: Number(values.processes),
  isBalanced: values.balanced,
})
await measureLags(rig, WARM_UP_RATE, WARM_UP_S)
console.log(`${values.shards} shards, ${values.workers} workers, ${values.gateways} gateways of ${values.processes}${values.balanced ? ' behind HAProxy' : ''}; milliseconds

| calls/s | made | failed | lag p50 | p99 | max | of | own usage p50 | p99 | max | of | without the call | and not marked | usage of one without calls p50 | p99 | max | of |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|`)
for (const rate of values.rates.split(',').map(Number))
  console.log(rowOf(rate, await measureLags(rig, rate, Number(values.seconds))))
await rig.stop()
process.exit(0)

function rowOf(rate: number, { lagMs, ownMs, idleMs, unseen, unmarked, calls, failed }: Lags): string {
  const probes = [...spread(lagMs), ...spread(ownMs), unseen, unmarked, ...spread(idleMs)]
  return `| ${[rate, calls, failed, ...probes].join(' | ')} |`
}

/** Median, 99th percentile, highest, and of how many. */
function spread(samples: readonly number[]): readonly string[] {
  const sorted = samples.toSorted((left, right) => left - right)
  return [...[0.5, 0.99, 1].map((share) => quantile(sorted, share).toFixed(0)), `${sorted.length}`]
}
