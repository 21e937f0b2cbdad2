import type { Logger } from '../../../lib/log.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { SCHEMA } from '../../../store/connection/schema.ts'
import {
  type KnownRatio,
  LEARNED_KINDS,
  type LearnedKind,
  type LearnedRatios,
  MAX_KEPT_OF_CLIENT,
  MAX_WEIGHT,
} from './learned-ratios.ts'

const SHARED_EVERY_MS = 60_000
const MAX_READ = 10_000

/** Adds what calls taught to what all gateways know: an average by calls, in which older ones weigh less. */
export async function addRatios(pool: Postgres, ratios: readonly KnownRatio[]): Promise<void> {
  if (ratios.length === 0) return
  await pool.query(
    `insert into ${SCHEMA}.estimate_ratios as known (client_id, model, kind, calls, log_ratio)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::double precision[])
    on conflict (client_id, model, kind) do update set
      log_ratio = (known.log_ratio * least(known.calls, $6) + excluded.log_ratio * excluded.calls)
        / (least(known.calls, $6) + excluded.calls),
      calls = known.calls + excluded.calls,
      at = now()`,
    [
      ratios.map(({ clientId }) => clientId),
      ratios.map(({ model }) => model),
      ratios.map(({ kind }) => kind),
      ratios.map(({ calls }) => calls),
      ratios.map(({ logRatio }) => logRatio),
      MAX_WEIGHT,
    ],
  )
}

/** What all gateways know, the latest first, and of each client as much as is kept. */
export async function selectRatios(pool: Postgres): Promise<readonly KnownRatio[]> {
  const { rows } = await pool.query<{
    client_id: string
    model: string
    kind: string
    calls: string
    log_ratio: number
  }>(
    `select client_id, model, kind, calls::text, log_ratio from (
       select *, row_number() over (partition by client_id order by at desc) as nth from ${SCHEMA}.estimate_ratios) known
     where nth <= $2 order by at desc limit $1`,
    [MAX_READ, MAX_KEPT_OF_CLIENT],
  )
  return rows.flatMap(({ client_id, model, kind, calls, log_ratio }) =>
    isKind(kind) ? [{ clientId: client_id, model, kind, calls: Number(calls), logRatio: log_ratio }] : [],
  )
}

function isKind(kind: string): kind is LearnedKind {
  return LEARNED_KINDS.some((known) => known === kind)
}

export interface RatioSharing {
  stop(): Promise<void>
}

/** Shares what this process learns with all gateways, at start and every minute. Without Postgres it learns alone. */
export function shareRatios(pool: Postgres, ratios: LearnedRatios, log: Logger): RatioSharing {
  let sharing = Promise.resolve()
  const share = () => {
    sharing = sharing
      .then(async () => {
        await addRatios(pool, ratios.take())
        ratios.replace(await selectRatios(pool))
      })
      .catch((err: unknown) => log.debug({ err }, 'what estimates learned is shared later'))
  }
  const timer = setInterval(share, SHARED_EVERY_MS).unref()
  share()
  return {
    async stop() {
      clearInterval(timer)
      share()
      await sharing
    },
  }
}
