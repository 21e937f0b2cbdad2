import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MAX_PERIOD_DAYS } from '../../src/domain/period.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import type { CleanUp } from '../overhead/targets/own-process.ts'
import { describeTestbed } from '../overhead/testbed.ts'
import { describeFilled, fill, ROWS_PER_CLIENT_AND_DAY } from './fill.ts'
import { measureClients, measureExport, measureOperator, sumUp } from './measure.ts'
import { CLIENT_QUERIES, EXPORT, OPERATOR_QUERIES } from './queries.ts'
import { writeResults } from './report.ts'
import { createIdleKeys, openDatabase, startGateway } from './testbed.ts'

/**
 * What queries about usage cost over a year of totals: milliseconds, CPU of PostgreSQL; and the year as CSV.
 *
 *   npm run bench:usage -- [--rows 10000000] [--calls 10000000] [--folder DIR] [--results bench/results]
 *
 * With `--folder` the database stays, and is asked again by the next run.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    calls: { type: 'string', default: '0' },
    days: { type: 'string', default: '365' },
    /** Clients that ask; with fewer than some hundreds the p99 is the slowest of all. */
    idle: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
    folder: { type: 'string' },
    results: { type: 'string' },
  },
})
const days = Number(values.days)
const filling = {
  clients: Math.max(1, Math.round(Number(values.rows) / days / ROWS_PER_CLIENT_AND_DAY)),
  days,
  calls: Number(values.calls),
}
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'tallygate-usage-'))
const cleanUp: CleanUp = values.folder === undefined ? [() => rmSync(folder, { recursive: true })] : []

try {
  const database = await openDatabase(folder, cleanUp)
  const today = utcDayOf(Date.now())
  await fill(database.pool, filling, addDays(today, 1 - days), today)
  const summing = await sumUp(database)
  const gateway = await startGateway(folder, database.url, cleanUp)
  const keys = await createIdleKeys(database.pool, Math.min(Number(values.idle), filling.clients))
  const isAsked = (query: string) => query.includes(values.only)
  const exportDays = Math.min(days, MAX_PERIOD_DAYS)
  const measured = {
    testbed: describeTestbed(null),
    filled: await describeFilled(database.pool, filling),
    summing,
    clients: await measureClients(gateway, database, keys, CLIENT_QUERIES.filter(isAsked)),
    operator: await measureOperator(gateway, database, OPERATOR_QUERIES.filter(isAsked)),
    exported: isAsked(EXPORT) ? await measureExport(database, addDays(today, 1 - exportDays), today) : null,
  }
  writeResults(values.results ?? null, measured)
} finally {
  for (const undo of cleanUp.reverse()) await undo()
}
