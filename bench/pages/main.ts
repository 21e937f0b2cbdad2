import { parseArgs } from 'node:util'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { startStand } from '../stand/stand.ts'
import { describeTestbed, OtherWork, warningsFor } from '../stand/testbed.ts'
import { describeFilled, fill, ROWS_PER_CLIENT_AND_DAY } from '../usage/fill.ts'
import { sumUp } from '../usage/measure.ts'
import { measureFirst, measureInteractions } from './browse.ts'
import { measureLists } from './lists.ts'
import { measureTab } from './open-tab.ts'
import { type PageFigures, writePages } from './report.ts'

/**
 * What the operator's page costs over a year of totals, in a real Chromium: the way to the first figures, what a click
 * takes, and what an open tab asks of PostgreSQL. And what its lists take with 10,000 clients. It fails where a bound is
 * not held.
 *
 *   npm run bench:pages -- [--rows 9855000] [--calls 10000000] [--folder DIR] [--results bench/results]
 *
 * With `--folder` the database stays, and is asked again by the next run; `npm run bench:usage` fills the same.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    calls: { type: 'string', default: '0' },
    days: { type: 'string', default: '365' },
    /** Cold browsers that open the page. */
    cold: { type: 'string', default: '3' },
    /** How long a tab is open, and is not, in each of its two states. */
    seconds: { type: 'string', default: '120' },
    /** How many clients the lists are of. */
    clients: { type: 'string', default: '10000' },
    only: { type: 'string', default: '' },
    folder: { type: 'string' },
    results: { type: 'string' },
  },
})
const isAsked = (part: string) => part.includes(values.only)
const testbed = describeTestbed(null)
const others = new OtherWork()
const days = Number(values.days)
const filling = {
  clients: Math.max(1, Math.round(Number(values.rows) / days / ROWS_PER_CLIENT_AND_DAY)),
  days,
  calls: Number(values.calls),
}
const ADMIN_TOKEN = 'a-token-of-the-bench-of-the-pages'
const OPTIONS = {
  durable: false,
  statementTimeoutMs: 3_600_000,
  env: { UPSTREAM_URL: 'http://127.0.0.1:9', ADMIN_TOKEN },
}

const lists = isAsked('lists') ? await measureLists(OPTIONS, ADMIN_TOKEN, Number(values.clients)) : null
const page = isAsked('page') ? await measurePage() : null
const text = writePages(values.results ?? null, {
  testbed,
  warnings: warningsFor(testbed, others.share(), filling.calls < 10_000_000),
  page,
  lists,
})
console.log(text.shown)
process.exit(text.failed === 0 ? 0 : 1)

async function measurePage(): Promise<PageFigures> {
  const stand = await startStand({
    ...OPTIONS,
    name: 'pages',
    ...(values.folder === undefined ? {} : { kept: { folder: values.folder, password: 'bench' } }),
  })
  try {
    const today = utcDayOf(Date.now())
    await fill(stand.pool, filling, addDays(today, 1 - days), today)
    await sumUp(stand)
    const gateway = await stand.gateway()
    await gateway.start()
    const url = `${gateway.adminUrl}/dashboard`
    const first = await measureFirst(url, ADMIN_TOKEN, Number(values.cold))
    return {
      filled: await describeFilled(stand.pool, filling),
      first,
      ...(await measureInteractions(url, ADMIN_TOKEN)),
      tab: await measureTab(stand, url, ADMIN_TOKEN, Number(values.seconds)),
    }
  } finally {
    await stand.stop()
  }
}
