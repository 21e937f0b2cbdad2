import { parseArgs } from 'node:util'
import { MAX_PERIOD_DAYS } from '../../src/domain/period.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { startStand } from '../stand/stand.ts'
import { describeTestbed } from '../stand/testbed.ts'
import { describeFilled, fill, ROWS_PER_CLIENT_AND_DAY } from './fill.ts'
import { measureClients, measureExport, measureOperator, sumUp } from './measure.ts'
import { CLIENT_QUERIES, EXPORT, OPERATOR_QUERIES } from './queries.ts'
import { writeUsage } from './report.ts'

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
/** The same in every run: a filled database may be asked again. */
const PASSWORD = 'bench'
const TOKEN = 'bench-token'

const stand = await startStand({
  name: 'usage',
  durable: false,
  statementTimeoutMs: 3_600_000,
  env: { UPSTREAM_URL: 'http://127.0.0.1:9', ADMIN_TOKEN: TOKEN },
  ...(values.folder === undefined ? {} : { kept: { folder: values.folder, password: PASSWORD } }),
})
const today = utcDayOf(Date.now())
await fill(stand.pool, filling, addDays(today, 1 - days), today)
const summing = await sumUp(stand)
// Without a worker, so that all clients are idle.
const gateway = await stand.gateway()
await gateway.start()
const keys: string[] = []
for (let number = 1; number <= Math.min(Number(values.idle), filling.clients); number += 1) {
  const order = { client: `client ${number}`, name: 'asking', models: null, expiresInSeconds: null }
  keys.push((await createClientKey(stand.pool, order, stand.pepper))?.key ?? '')
}
const isAsked = (query: string) => query.includes(values.only)
const exportDays = Math.min(days, MAX_PERIOD_DAYS)
writeUsage(values.results ?? null, {
  testbed: describeTestbed(null),
  filled: await describeFilled(stand.pool, filling),
  summing,
  clients: await measureClients(gateway, stand, keys, CLIENT_QUERIES.filter(isAsked)),
  operator: await measureOperator(gateway, stand, TOKEN, OPERATOR_QUERIES.filter(isAsked)),
  exported: isAsked(EXPORT) ? await measureExport(stand, addDays(today, 1 - exportDays), today) : null,
})
await stand.stop()
process.exit(0)
