/**
 * What long work costs: verify and rebuild of a day, verify while calls of that day are counted, a repricing that only
 * says what it would do, and exports. Each is one command of the command line on a private PostgreSQL. CPU is what
 * counts; wall time holds on an idle machine only.
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDatabase } from '../stand/stand.ts'
import { addCallsOfDay, addPastDays, countRows, type DataShape, firstDayOf, KEPT_DAY } from './data.ts'
import { type BesideFigures, rollUpBeside } from './roll-ups.ts'
import { type Measured, runCommand } from './run-command.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    clients: { type: 'string', default: '1000' },
    models: { type: 'string', default: '3' },
    days: { type: 'string', default: '10' },
    /** Other checkouts, measured in turn with this one on the same data. */
    beside: { type: 'string', multiple: true, default: [] },
    only: { type: 'string' },
    out: { type: 'string', default: 'bench/results' },
  },
})
const shape: DataShape = {
  calls: Number(values.calls),
  clients: Number(values.clients),
  models: Number(values.models),
  days: Number(values.days),
}
/** How long roll-ups run without anything beside them. */
const ALONE_MS = 20_000
const rollUps: Record<string, BesideFigures> = {}

const { postgres, pool } = await startDatabase({
  name: 'long',
  durable: false,
  connections: 1,
  statementTimeoutMs: 600_000,
})
try {
  const results: Record<string, Measured & { readonly tree: string }> = {}
  const trees = [process.cwd(), ...values.beside]
  const measure = async (name: string, args: readonly string[], inEach = trees): Promise<void> => {
    for (const tree of inEach) {
      if (values.only !== undefined && !name.startsWith(values.only) && name !== 'rebuild') continue
      const options = { tree, databaseUrl: postgres.url, postgresPid: postgres.pid }
      const measured = await runCommand(args, options)
      results[tree === process.cwd() ? name : `${name} (${tree})`] = { ...measured, tree }
      print(name, tree, measured)
    }
  }
  const period = ['--from', firstDayOf(shape), '--to', KEPT_DAY]
  console.log(`${shape.calls} calls of ${shape.clients} clients on ${KEPT_DAY}`)
  await addCallsOfDay(pool, shape)
  await measure('rebuild', ['ledger', 'rebuild', '--day', KEPT_DAY, '--json'], [process.cwd()])
  await measure('rebuild, nothing wrong', ['ledger', 'rebuild', '--day', KEPT_DAY, '--json'])
  const verify = ['ledger', 'verify', '--since', KEPT_DAY, '--json']
  await measure('verify', verify)
  if (values.only === undefined || values.only === 'verify') {
    let isOver = false
    setTimeout(() => {
      isOver = true
    }, ALONE_MS)
    printBeside('roll-ups alone', await rollUpBeside(postgres.url, KEPT_DAY, () => isOver))
    isOver = false
    const counting = rollUpBeside(postgres.url, KEPT_DAY, () => isOver)
    await measure('verify, roll-ups beside', verify)
    isOver = true
    printBeside('roll-ups beside verify', await counting)
  }
  const scope = ['--model', 'model-*', '--since', KEPT_DAY, '--reason', 'bench']
  await measure('reprice, dry run', ['prices', 'reprice', ...scope, '--dry-run'])
  await addPastDays(pool, shape)
  const rows = await countRows(pool)
  console.log(`${rows} rows of daily_usage on ${shape.days} days`)
  for (const format of ['csv', 'jsonl', 'focus'])
    await measure(`export ${format}`, ['usage', 'export', '--format', format, ...period])
  await measure('export cloudevents', [
    'usage',
    'export',
    '--format',
    'cloudevents',
    '--from',
    KEPT_DAY,
    '--to',
    KEPT_DAY,
  ])
  await pool.end()
  if (values.only === undefined) {
    mkdirSync(values.out, { recursive: true })
    writeFileSync(
      join(values.out, 'long.json'),
      `${JSON.stringify({ shape, rows, results, rollUps }, null, 2)}\n`,
    )
  }
} finally {
  await postgres.stop()
}

function print(name: string, tree: string, measured: Measured): void {
  const { exitCode, cpuSeconds, postgresCpuSeconds, wallSeconds, peakMb, bytesOut } = measured
  const figures = [
    `CPU ${cpuSeconds.toFixed(2)} s`,
    `PostgreSQL ${postgresCpuSeconds.toFixed(2)} s`,
    `wall ${wallSeconds.toFixed(1)} s`,
    `peak ${peakMb.toFixed(0)} MB`,
    `${(bytesOut / 1e6).toFixed(1)} MB out`,
  ]
  console.log(`${name.padEnd(26)} ${tree === process.cwd() ? '' : `(${tree}) `}${figures.join(', ')}`)
  if (exitCode !== 0) console.log(`  ended with ${exitCode}: ${measured.output.trim()}`)
}

function printBeside(name: string, figures: BesideFigures): void {
  rollUps[name] = figures
  const { batches, calls, busy, p50Ms, p99Ms, longestMs } = figures
  console.log(
    `${name.padEnd(26)} ${batches} batches, ${calls} calls, ${busy} busy, ${p50Ms.toFixed(1)} ms median, ` +
      `${p99Ms.toFixed(1)} ms p99, ${longestMs.toFixed(1)} ms longest`,
  )
}
