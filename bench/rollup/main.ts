import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../src/standalone/servers/postgres.ts'
import { startRedis } from '../../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../../src/standalone/servers/redis-program.ts'
import type { CleanUp } from '../overhead/targets/own-process.ts'
import { describeTestbed, OtherWork, warningsFor } from '../overhead/testbed.ts'
import { measureCase, type RollUpCase } from './case.ts'
import { cellsOf, type RollUpRow, renderRollUp, writeRollUpResults } from './report.ts'

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
  { of: 'this', checkout: '' },
  ...(values.beside === undefined
    ? []
    : [{ of: 'beside', checkout: relative(process.cwd(), values.beside) }]),
]

const testbed = describeTestbed(null)
const otherWork = new OtherWork()
const folder = await mkdtemp(join(tmpdir(), 'tallygate-bench-'))
const cleanUp: CleanUp = [() => rm(folder, { recursive: true, force: true })]
let undone: Promise<void> | null = null
// PostgreSQL and Redis do not get a terminal's Ctrl-C, and would run on.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void undo().finally(() => process.exit(1)))
try {
  const password = randomBytes(8).toString('hex')
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), password, durable: true })
  cleanUp.push(() => postgres.stop())
  const program = await findRedisProgram({ say: console.error, ask: async () => true })
  const redis = await startRedis({ folder: join(folder, 'redis'), password, durable: true, program })
  cleanUp.push(() => redis.stop())
  const servers = { postgres, redis, folder }
  const rows: RollUpRow[] = []
  // The first run warms the servers up and is not kept.
  if (cases[0] !== undefined) await measureCase(servers, cases[0], SERVERS_WARM_UP, '')
  for (const one of cases) {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const { of, checkout } of checkouts) {
        const row = { of, ...one, ...(await measureCase(servers, one, load, checkout)) }
        rows.push(row)
        console.error(cellsOf(row).join('  '))
      }
    }
  }
  const warnings = warningsFor(testbed, otherWork.share(), entries < 20_000)
  const results = { testbed, warnings, ...load, rows }
  console.log(renderRollUp(results))
  // A part alone does not replace the figures that pages quote.
  const isWhole = cases.length === all.length && checkouts.length === 1
  if (isWhole || values.out !== 'bench/results') writeRollUpResults(values.out, results)
} finally {
  await undo()
}

/** Once: a run that is interrupted fails too, and has to wait until all is undone. */
function undo(): Promise<void> {
  undone ??= (async () => {
    for (const step of cleanUp.reverse()) await step()
  })()
  return undone
}
