import { clientsBelow } from '../../keys/groups/group-spans.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Summarised } from '../summaries/summarised.ts'
import { CLIENT_GROUP_COLUMN, isClientGroup, type ReportGroup, type ReportQuery } from './report-query.ts'
import type { SourceOrder, Values } from './report-source.ts'

/** The group of clients that a report is within. */
export interface PlaceOrder {
  /** Whether the groups right below it are kept apart. */
  readonly isKept: boolean
  /** `null`: all clients, those without a group, too. */
  readonly within: string | null
}

/** `null`: the report is about no group of clients. */
export function placeOf(
  { filters }: Pick<ReportQuery, 'filters'>,
  groupBy: readonly ReportGroup[],
): PlaceOrder | null {
  const within = filters.find(({ group }) => isClientGroup(group))?.ids[0] ?? null
  const isKept = groupBy.some(isClientGroup)
  return isKept || within !== null ? { isKept, within } : null
}

/** What rows need beside what they are asked by: where a client was is known by its days. */
export function byPlace(order: SourceOrder): SourceOrder {
  const { by } = order
  return { ...order, by: by.includes('clientId') ? by : [...by, 'clientId'], keepsDay: true }
}

/**
 * Rows of `source`, which has `client_id` and `day`, that are within the group, in SQL, each with the group of `clientsBelow`.
 */
export function inPlace(source: string, { within }: PlaceOrder, values: Values): string {
  const places = clientsBelow(values.add(within ?? '', 'text'))
  return `select u.*, coalesce(m.part, '') as ${CLIENT_GROUP_COLUMN} from (${source}) u
    ${within === null ? 'left join' : 'join'} (${places}) m
    on m.client_id = u.client_id and u.day between m.from_day and m.to_day`
}

/** Months in which no client and no group moved: all of such a month is where its first day is. */
export async function withoutMoves(session: PostgresSession, known: Summarised): Promise<Summarised> {
  const { rows } = await session.query<{ month: string }>(
    `select distinct date_trunc('month', from_day)::date as month from ${SCHEMA}.group_members
     where from_day > date_trunc('month', from_day)`,
  )
  const moved = new Set(rows.map(({ month }) => month))
  return { ...known, months: new Set([...known.months].filter((month) => !moved.has(month))) }
}
