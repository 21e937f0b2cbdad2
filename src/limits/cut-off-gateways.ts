import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** A gateway that has not said it for so long has ended, or reaches no store. */
const SILENT_SECONDS = 4
/**
 * How long ago another process may have said how full its journal is, so that it may run still. It says so each 15 s,
 * and not while Postgres is away: that may have been so for long, and Redis emptied meanwhile.
 */
const PEER_SECONDS = 3_600

/** Says that a gateway runs and cannot reach Redis: what it holds of limits is its own still. */
export async function saySelfCutOff(pool: Postgres, gatewayId: string): Promise<void> {
  await pool.query(
    `insert into ${SCHEMA}.cut_off_gateways (gateway, at) values ($1, now())
     on conflict (gateway) do update set at = excluded.at`,
    [gatewayId],
  )
}

/** Which of these have said so just now. @throws When Postgres is away. */
export async function selectCutOff(
  pool: Postgres,
  gatewayIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ gateway: string }>(
    `select gateway from ${SCHEMA}.cut_off_gateways
     where gateway = any($1::text[]) and at > now() - make_interval(secs => ${SILENT_SECONDS})`,
    [gatewayIds],
  )
  return new Set(rows.map(({ gateway }) => gateway))
}

/** Whether a gateway has run here shortly before. @throws When Postgres is away. */
export async function hadGateways(pool: Postgres): Promise<boolean> {
  const { rows } = await pool.query<{ had: boolean }>(
    `select exists (select from ${SCHEMA}.gateway_journals
       where at > now() - make_interval(secs => ${PEER_SECONDS})) as had`,
  )
  return rows[0]?.had !== false
}
