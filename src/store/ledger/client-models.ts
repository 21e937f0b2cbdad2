import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** A client on a day: the models of its totals are limited. */
export interface ClientDay {
  readonly clientId: string
  readonly day: UtcDay
}

/** The models that these clients have in the totals of these days. */
export async function selectModels(
  session: PostgresSession,
  clientDays: readonly ClientDay[],
): Promise<(ClientDay & { readonly model: string })[]> {
  const { rows } = await session.query<{ client_id: string; day: UtcDay; model: string }>(
    `select distinct u.client_id, u.day, u.model
     from unnest($1::text[], $2::date[]) as p (client_id, day)
     join ${SCHEMA}.daily_usage u on u.client_id = p.client_id and u.day = p.day`,
    [clientDays.map(({ clientId }) => clientId), clientDays.map(({ day }) => day)],
  )
  return rows.map((row) => ({ clientId: row.client_id, day: row.day, model: row.model }))
}
