import { parseArgs } from 'node:util'
import { writeResults } from '../stand/results.ts'
import { startStand } from '../stand/stand.ts'
import { describeTestbed, OtherWork, warningsFor } from '../stand/testbed.ts'
import { measureCase, type RollUpCase } from './case.ts'
import { cellsOf, type RollUpRow, renderRollUp } from './report.ts'

/**
 * What it costs to bring entries from streams into the totals, over workers and shards. Linux: reads /proc.
 *
 *   node bench/rollup/main.ts [--entries 60000] [--warm-up 40000] [--only 1x1] [--clients 10] [--calls yes] [--rounds 1]
 *     [--out folder] [--beside another-checkout]
 */
const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '60000' },
    /** Entries that each worker counts before any is measured. */
    'warm-up': { type: 'string', default: '40000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [] },
    clients: { type: 'string', multiple: true, default: [] },
    calls: { type: 'string' },
    beside: { type: 'string' },
    out: { type: 'string', default: 'bench/results' },
  },
})
const SCALES = [1, 2, 4]
const CLIENTS = [10, 1_000]
const SERVERS_WARM_UP = { entries: 5_000, warmUpPerWorker: 1_000 }

const entries = Number(values.entries)
const load = { entries, warmUpPerWorker: Number(values['warm-up']) }
const all: readonly RollUpCase[] = [false, true].flatMap((calls) =>
  CLIENTS.flatMap((clients) => SCALES.map((scale) => ({ workers: scale, shards: scale, clients, calls }))),
)
const cases = all.filter(
  ({ workers, shards, clients, calls }) =>
    (values.only.length === 0 || values.only.includes(`${workers}x${shards}`)) &&
    (values.clients.length === 0 || values.clients.includes(`${clients}`)) &&
    (values.calls === undefined || (values.calls === 'yes') === calls),
)
const checkouts = [
  { of: 'this', checkout: process.cwd() },
  ...(values.beside === undefined ? [] : [{ of: 'beside', checkout: values.beside }]),
]

const testbed = describeTestbed(null)
const otherWork = new OtherWork()
const stand = await startStand({ name: 'rollup' })
const rows: RollUpRow[] = []
// The first run warms the servers up and is not kept.
if (cases[0] !== undefined) await measureCase(stand, cases[0], SERVERS_WARM_UP, process.cwd())
for (const one of cases) {
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { of, checkout } of checkouts) {
      const row = { of, ...one, ...(await measureCase(stand, one, load, checkout)) }
      rows.push(row)
      console.error(cellsOf(row).join('  '))
    }
  }
}
const warnings = warningsFor(testbed, otherWork.share(), entries < 20_000)
const results = { testbed, warnings, ...load, rows }
const text = renderRollUp(results)
console.log(text)
// A part alone does not replace the figures that pages quote.
const isWhole = cases.length === all.length && checkouts.length === 1
if (isWhole || values.out !== 'bench/results') writeResults(values.out, 'rollup', text, results)
await stand.stop()
process.exit(0)
