import { invoiceTrouble } from '../corrections/invoices/match/conditions.ts'
import { selectInvoiceStates } from '../corrections/invoices/match/matches-table.ts'
import { daysOfMonth, nextMonthOf, type UtcMonth } from '../domain/utc-month.ts'
import type { LedgerOverview } from '../ledger/operations/inspect-ledger.ts'
import type { LedgerPorts } from '../ledger/operations/ledger.ts'
import { countJobsBefore } from '../objects/table/jobs-table.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { countJournalsFrom } from '../store/ledger/gateway-journals.ts'

/** Why a month's figures may still change by what was not counted. */
export const OPEN_ENDS = [
  'month_not_over',
  'running_calls',
  'waiting_records',
  'unread_journals',
  'gaps',
  'dead_letters',
  'unsettled_jobs',
  'unmatched_invoices',
] as const

export type OpenEndName = (typeof OPEN_ENDS)[number]

export interface OpenEnd {
  readonly name: OpenEndName
  /** One sentence, and what to do. */
  readonly says: string
}

interface Asked {
  readonly pool: Postgres
  readonly nowMs: number
  readonly clientId: string | null
  readonly month: UtcMonth
  readonly overview: LedgerOverview
}

type Finder = (asked: Asked) => string | null | Promise<string | null>

/** A call is of the month that it begins in. Sessions, the longest of them, are ended within an hour. */
const LONGEST_CALL_MS = 3_600_000

/** Records are of any client, so that each client's month waits for all of them. */
const FINDERS: Readonly<Record<OpenEndName, Finder>> = {
  month_not_over({ nowMs, month }) {
    return nowMs < endOf(month) ? `The month ends at ${nextMonthOf(month)}-01T00:00:00Z.` : null
  },
  running_calls({ nowMs, month }) {
    const until = `${nextMonthOf(month)}-01T01:00:00Z`
    return nowMs >= endOf(month) && nowMs < lastRecordOf(month)
      ? `Calls that began in the month may still run until ${until}.`
      : null
  },
  waiting_records({ overview: { backlogs, redisProblem }, nowMs, month }) {
    if (backlogs === null) return `Redis does not say what waits: ${redisProblem}.`
    const oldestMs = Math.max(0, ...[...backlogs.values()].map((backlog) => backlog.oldestMs))
    const waiting = [...backlogs.values()].reduce((sum, { entries }) => sum + entries, 0)
    return waiting > 0 && nowMs - oldestMs < lastRecordOf(month)
      ? `${numbered(waiting, 'record waits', 'records wait')} to be counted. Workers do it: tallygate ledger status.`
      : null
  },
  async unread_journals({ pool, month, overview: { ledger, journals, corruptJournals } }) {
    const known = new Set(ledger.producers.map(({ producer }) => producer))
    const unknown = [...journals.keys()].filter((producer) => !known.has(producer)).length + corruptJournals
    if (unknown > 0)
      return `${numbered(unknown, 'journal', 'journals')} on this machine ${unknown === 1 ? 'is' : 'are'} not counted: tallygate ledger status.`
    const full = await countJournalsFrom(pool, new Date(lastRecordOf(month)))
    return full > 0
      ? `${numbered(full, 'gateway has', 'gateways have')} records in a journal that are not counted: tallygate doctor.`
      : null
  },
  gaps: ({ pool, month }) =>
    countSince(
      pool,
      month,
      `select coalesce(sum(to_seq - from_seq + 1), 0) from ${SCHEMA}.ledger_gaps
       where filled_at is null and recorded_at >= $1`,
      (count) =>
        `${numbered(count, 'record is', 'records are')} missing since the month began: tallygate ledger gaps.`,
    ),
  dead_letters: ({ pool, month }) =>
    countSince(
      pool,
      month,
      `select count(*) from ${SCHEMA}.dead_letters where resolved_at is null and at >= $1`,
      (count) => `${numbered(count, 'record', 'records')} could not be counted: tallygate dead-letters list.`,
    ),
  async unsettled_jobs({ pool, clientId, month }) {
    const count = await countJobsBefore(pool, clientId, new Date(endOf(month)))
    return count > 0
      ? `${numbered(count, 'job has', 'jobs have')} not reported what they used: tallygate jobs list.`
      : null
  },
  async unmatched_invoices({ pool, month }) {
    const states = (await selectInvoiceStates(pool, month)).filter((state) => state.month === month)
    const [trouble] = states.flatMap((state) => invoiceTrouble(state) ?? [])
    return trouble === undefined
      ? null
      : `${trouble.what.charAt(0).toUpperCase()}${trouble.what.slice(1)}: ${trouble.mend}.`
  },
}

/** All that may still change a month of a client (`null`: of any), in the order of the names. */
export async function findOpenEnds(
  { pool, now, inspectLedger }: Pick<LedgerPorts, 'pool' | 'now' | 'inspectLedger'>,
  clientId: string | null,
  month: UtcMonth,
): Promise<readonly OpenEnd[]> {
  const asked = { pool, nowMs: now(), clientId, month, overview: await inspectLedger() }
  const found = await Promise.all(OPEN_ENDS.map(async (name) => ({ name, says: await FINDERS[name](asked) })))
  return found.flatMap(({ name, says }) => (says === null ? [] : [{ name, says }]))
}

async function countSince(
  pool: Postgres,
  month: UtcMonth,
  select: string,
  says: (count: number) => string,
): Promise<string | null> {
  const { rows } = await pool.query<{ count: string }>(`select (${select})::text as count`, [
    `${daysOfMonth(month).from}T00:00:00Z`,
  ])
  const count = Number(rows[0]?.count ?? '0')
  return count === 0 ? null : says(count)
}

function endOf(month: UtcMonth): number {
  return Date.parse(`${nextMonthOf(month)}-01T00:00:00Z`)
}

/** Until then records of calls of the month may be written. */
function lastRecordOf(month: UtcMonth): number {
  return endOf(month) + LONGEST_CALL_MS
}

/** A number with its noun. */
export function numbered(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
