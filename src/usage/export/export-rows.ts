import { countsBy } from '../../call/usage.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { clientsBelow } from '../../keys/groups/group-spans.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { beginTransaction } from '../../store/connection/sessions/session-settings.ts'
import { linesFrom, type StoredLine } from '../costs/operator-costs.ts'
import { shownKeyIn } from '../daily-key.ts'
import { DAILY_COLUMNS, dailyRowFrom } from '../daily-row.ts'
import { selectUsageDays } from '../days/usage-days.ts'
import { DIMENSIONS, joinNames, KEY_DIMENSIONS, nameIn } from '../dimensions.ts'
import { rowsByValue } from '../report/axis-source.ts'
import { AXIS_COLUMNS, EXPORT_COLUMNS, type ExportedRow } from './export-columns.ts'
import type { FocusDay } from './export-focus.ts'

/** What is exported: UTC days, both included, of one client or (`null`) of all. */
export interface ExportScope {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly clientId: string | null
  /** Absent: not by the values of one. */
  readonly axis?: string | undefined
  /** Only what clients used on the days that they were in this group or below it. Absent: all. */
  readonly groupId?: string | undefined
}

/** Some rows of one day. */
export interface ExportPage<Row> {
  readonly day: UtcDay
  readonly rows: readonly Row[]
}

/** Rows in memory at a time, twice: the next ones are fetched while these are written. */
const PAGE = 2_000

const NAMES = DIMENSIONS.flatMap(({ named }) => (named === undefined ? [] : [named]))

/** Of the day `$1`, of the client `$2` and within the group `$3`, where there is one. */
const IN_SCOPE = `u.day = $1 and ($2::text is null or u.client_id = $2) and ($3::text is null or u.client_id in (
  select b.client_id from (${clientsBelow('$3')}) b where $1 between b.from_day and b.to_day))`

/** The group that the client of a row `u` was in on its day, as `g`. */
const JOIN_GROUP = `
left join lateral (
  select m.group_id from ${SCHEMA}.group_members m where m.id = u.client_id and m.from_day <= u.day
  order by m.from_day desc limit 1) m on true
left join ${SCHEMA}.groups g on g.id = m.group_id`

const SELECT_VALUES = `
select ${AXIS_COLUMNS.map(({ sql }) => sql).join(', ')} from (${rowsByValue('$4')}) u
left join ${SCHEMA}.clients clients on clients.id = u.client_id
where ${IN_SCOPE}
order by u.client_id, u.axis_value`

function selectDay(columns: readonly string[]): string {
  return `
select ${columns.join(', ')} from ${SCHEMA}.daily_usage u ${joinNames(DIMENSIONS)} ${JOIN_GROUP}
where ${IN_SCOPE}
order by ${shownKeyIn('u')}`
}

const SELECT_LINES = selectDay(EXPORT_COLUMNS.map(({ sql }) => sql))
/** The corrections of a row `u`: whether they were made when its month was over, and what they did. */
const CORRECTIONS = `
case when exists (select from ${SCHEMA}.adjustment_entries e where e.day = $1) then (
  select json_agg(json_build_array(
    e.at >= (date_trunc('month', u.day) + interval '1 month') at time zone 'UTC',
    a.kind = 'reprice', e.pico::text, e.lines))::text
  from ${SCHEMA}.adjustment_entries e join ${SCHEMA}.adjustments a on a.id = e.adjustment_id
  where ${KEY_DIMENSIONS.map(({ column }) => `e.${column} = u.${column}`).join(' and ')}
) end as corrections`

const SELECT_DAYS = selectDay([
  CORRECTIONS,
  ...DAILY_COLUMNS.map((column) => `u.${column}`),
  ...NAMES.map((named) => `${nameIn(named)} as ${named.column}`),
  'g.name as client_group',
])

/** Daily totals as `csv` and `jsonl` have them: the columns' values as text. */
export function readLines(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportPage<ExportedRow>> {
  const { axis } = scope
  return readPages(pool, scope, axis === undefined ? SELECT_LINES : SELECT_VALUES, fetchValues)
}

/** Daily totals with all that is known of them. */
export async function* readDays(pool: Postgres, scope: ExportScope): AsyncGenerator<ExportPage<FocusDay>> {
  for await (const { day, rows } of readPages(pool, scope, SELECT_DAYS, fetchRows))
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
  fetch: (session: PostgresSession) => Promise<readonly Row[]>,
): AsyncGenerator<ExportPage<Row>> {
  const days = await selectUsageDays(pool, scope.from, scope.to)
  const session = await pool.connect()
  let isWhole = false
  try {
    for (const day of days) {
      await beginTransaction(session, 'isolation level repeatable read, read only')
      await session.query(NO_IDLE_LIMIT)
      await session.query(`declare export no scroll cursor for ${select}`, [
        day,
        scope.clientId,
        scope.groupId ?? null,
        ...(scope.axis === undefined ? [] : [scope.axis]),
      ])
      let next = ahead(fetch(session))
      for (;;) {
        const rows = await next
        const isLast = rows.length < PAGE
        if (!isLast) next = ahead(fetch(session))
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

const FETCH = `fetch ${PAGE} from export`

async function fetchRows(session: PostgresSession): Promise<readonly SqlRow[]> {
  return (await session.query<SqlRow>(FETCH)).rows
}

async function fetchValues(session: PostgresSession): Promise<readonly ExportedRow[]> {
  return (await session.query<(string | null)[]>({ text: FETCH, rowMode: 'array' })).rows
}

/** A page that is fetched while the one before is taken. A reader that stops early does not wait for it. */
function ahead<Page>(page: Promise<Page>): Promise<Page> {
  page.catch(() => {})
  return page
}

type Correction = readonly [
  isLater: boolean,
  isRepricing: boolean,
  pico: string,
  lines: readonly StoredLine[] | null,
]

function dayFrom(row: SqlRow): FocusDay {
  const names = countsBy(
    NAMES.map(({ field }) => field),
    (field) => row[NAMES.find((named) => named.field === field)?.column ?? ''] ?? null,
  )
  const made: readonly Correction[] = JSON.parse(row.corrections ?? '[]')
  const corrections = made.map(([isLater, isRepricing, pico, lines]) => ({
    ...{ isLater, isRepricing, pico: BigInt(pico) },
    lines: lines === null ? null : linesFrom(lines),
  }))
  const clientGroup = row.client_group ?? null
  return { ...dailyRowFrom(row), ...names, clientGroup, corrections }
}
