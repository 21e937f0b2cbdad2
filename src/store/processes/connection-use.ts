import type { Postgres } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'
import { LIVE } from './processes-table.ts'

/** The connections of a Postgres server, and what the processes that run may take of them. */
export interface ConnectionUse {
  /** `max_connections`, and those of them that only superusers get. */
  readonly most: number
  readonly reserved: number
  readonly inUse: number
  /** In use by programs other than tallygate. */
  readonly others: number
  readonly gateways: number
  /** All gateways together, as they last said. */
  readonly gatewaysMay: number
  readonly workers: number
  readonly workersMay: number
}

/** For commands, `migrate`, and processes that are just starting. */
export const SPARE_CONNECTIONS = 6

/** @throws When Postgres is away. */
export async function selectConnectionUse(pool: Postgres): Promise<ConnectionUse> {
  const { rows } = await pool.query<Record<keyof ConnectionUse, number>>(
    `select current_setting('max_connections')::int as most,
       current_setting('superuser_reserved_connections')::int
         + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved,
       a.*, p.*
     from (select count(*)::int as "inUse",
         count(*) filter (where coalesce(application_name, '') not like 'tallygate%')::int as others
       from pg_stat_activity where datid is not null) a,
       (select count(*) filter (where kind = 'gateway')::int as gateways,
         count(*) filter (where kind = 'worker')::int as workers,
         coalesce(sum(max_connections) filter (where kind = 'gateway'), 0)::int as "gatewaysMay",
         coalesce(sum(max_connections) filter (where kind = 'worker'), 0)::int as "workersMay"
       from ${SCHEMA}.processes where ${LIVE}) p`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('Postgres said nothing of its connections')
  return row
}

/** An equal part for each gateway process of what workers, commands and other programs leave. */
export function shareOf({ most, reserved, others, workersMay, gateways }: ConnectionUse): number {
  return Math.floor((most - reserved - others - workersMay - SPARE_CONNECTIONS) / Math.max(1, gateways))
}
