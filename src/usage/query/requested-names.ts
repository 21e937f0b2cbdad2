import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { UsageScope } from './select-usage.ts'

/** What requests named whose calls are totalled as `(unknown)`. */
export interface RequestedName {
  /** As the requests wrote it, cleaned and bounded. */
  readonly model: string
  readonly requests: bigint
}

const SHOWN_NAMES = 20

/**
 * The names that those asked for whose calls are totalled as `(unknown)`, those with most calls first, at
 * most 20: from the single calls, as far as they are kept. Clients choose these names, so there is no end to
 * them.
 */
export async function selectRequestedNames(
  pool: Postgres,
  { clientId, fromDay, toDay }: UsageScope,
): Promise<RequestedName[]> {
  const { rows } = await pool.query<{ model: string; requests: string }>(
    `select requested_model as model, count(*) as requests from ${SCHEMA}.calls
     where day between $1 and $2 and model = $3 and requested_model is not null
       and ($4::text is null or client_id = $4)
     group by requested_model order by requests desc, requested_model limit ${SHOWN_NAMES}`,
    [fromDay, toDay, UNKNOWN_MODEL, clientId],
  )
  return rows.map(({ model, requests }) => ({ model, requests: BigInt(requests) }))
}
