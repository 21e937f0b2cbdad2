import { countsBy } from '../../call/usage.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { beginTransaction } from '../../store/connection/sessions/session-settings.ts'
import { shownKeyIn } from '../daily-key.ts'
import { DAILY_COLUMNS, dailyRowFrom } from '../daily-row.ts'
import { joinNames, nameIn } from '../dimension-names.ts'
import { DIMENSIONS } from '../dimensions.ts'
import { selectUsageDays } from '../usage-days.ts'
import { EXPORT_COLUMNS, type ExportedRow } from './export-columns.ts'
import type { ExportedDay } from './exported-day.ts'

/** What is exported: UTC days, both included, of one client or (`null`) of all. */
export interface ExportScope {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly clientId: string | null
}

/** Some rows of one day. */
export interface ExportPage<Row> {
  readonly day: UtcDay
  readonly rows: readonly Row[]
}

/** Rows in memory at a time, twice: the next ones are fetched while these are written. */
const PAGE = 2_000

const NAMES = DIMENSIONS.flatMap(({ named }) => (named === undefined ? [] : [named]))

function selectDay(columns: readonly string[]): string {
  return `
select ${columns.join(', ')} from ${SCHEMA}.daily_usage u ${joinNames(DIMENSIONS)}
where u.day = $1 and ($2::text is null or u.client_id = $2)
order by ${shownKeyIn('u')}`
}

const SELECT_LINES = selectDay(EXPORT_COLUMNS.map(({ sql }) => sql))
const SELECT_DAYS = selectDay([
  ...DAILY_COLUMNS.map((column) => `u.${column}`),
  ...NAMES.map((named) => `${nameIn(named)} as ${named.column}`),
])

/** Daily totals as `csv` and `jsonl` have them: the columns' values as text. */
export function readLines(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportPage<ExportedRow>> {
  return readPages<ExportedRow>(pool, scope, SELECT_LINES, 'array')
}

/** Daily totals with all that is known of them. */
export async function* readDays(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportPage<ExportedDay>> {
  for await (const { day, rows } of readPages<SqlRow>(pool, scope, SELECT_DAYS, undefined))
    yield { day, rows: rows.map(dayFrom) }
}

/** A slow reader idles in its transaction, but holds no lock that another waits for. */
const NO_IDLE_LIMIT = 'set local idle_in_transaction_session_timeout = 0'

type SqlRow = Readonly<Record<string, string | null>>

/**
 * Day by day, each as of one moment, by a cursor of its own: a snapshot that is held for a whole year would
 * keep vacuum from rows that change every second.
 */
async function* readPages<Row>(
  pool: Postgres,
  scope: ExportScope,
  select: string,
  rowMode: 'array' | undefined,
): AsyncGenerator<ExportPage<Row>> {
  const days = await selectUsageDays(pool, scope.from, scope.to)
  const session = await pool.connect()
  let isWhole = false
  try {
    for (const day of days) {
      await beginTransaction(session, 'isolation level repeatable read, read only')
      await session.query(NO_IDLE_LIMIT)
      await session.query(`declare export no scroll cursor for ${select}`, [day, scope.clientId])
      let next = fetchPage<Row>(session, rowMode)
      for (;;) {
        const rows = await next
        const isLast = rows.length < PAGE
        if (!isLast) next = fetchPage<Row>(session, rowMode)
        if (rows.length > 0) yield { day, rows }
        if (isLast) break
      }
      await session.query('commit')
    }
    isWhole = true
  } finally {
    // A reader that stops early leaves the cursor open, so the session is closed.
    session.release(!isWhole)
  }
}

function fetchPage<Row>(session: PostgresSession, rowMode: 'array' | undefined): Promise<readonly Row[]> {
  const query = { text: `fetch ${PAGE} from export`, ...(rowMode === undefined ? {} : { rowMode }) }
  // The driver's types know arrays and objects apart; which it is follows from `rowMode`.
  const page = session.query(query).then(({ rows }) => rows as unknown as readonly Row[])
  page.catch(() => {}) // a reader that stops early does not wait for it
  return page
}

function dayFrom(row: SqlRow): ExportedDay {
  const names = countsBy(
    NAMES.map(({ field }) => field),
    (field) => row[NAMES.find((named) => named.field === field)?.column ?? ''] ?? null,
  )
  return { ...dailyRowFrom(row), ...names }
}
