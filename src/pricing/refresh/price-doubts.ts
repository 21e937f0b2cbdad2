import type { ModelDocument } from '#prices/catalog-document.ts'
import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { HeldRow } from '../history/read-rows.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'

/** A newer price that waits for a person. */
export interface PriceDoubt extends HeldRow {
  readonly kind: PriceCatalogKind
  /** A URL or a file. */
  readonly origin: string
  /** When it was first seen as it is. */
  readonly since: Date
}

/** More are not kept: a list with as many mistakes is refused as a whole. */
const MOST_KEPT = 500

/** Of all sources, the oldest first. */
export async function selectPriceDoubts(pool: Postgres): Promise<readonly PriceDoubt[]> {
  const { rows } = await pool.query<{
    kind: PriceCatalogKind
    provider: string
    model: string
    why: string
    offered: ModelDocument | null
    origin: string
    since: Date
  }>(
    `select kind, provider, model, why, offered, origin, since from ${SCHEMA}.price_doubts
     order by since, provider, model`,
  )
  return rows
}

/** What waits after a refresh of `kind`: what was doubted before and is no more goes, and what stays as it is keeps its day. */
export async function putPriceDoubts(
  pool: Postgres,
  kind: PriceCatalogKind,
  held: readonly HeldRow[],
  origin: string,
): Promise<void> {
  const kept = JSON.stringify(held.slice(0, MOST_KEPT), storable)
  await inTransaction(pool, async (session) => {
    await session.query(
      `delete from ${SCHEMA}.price_doubts d where kind = $1 and not exists (
         select from json_to_recordset($2) as h (provider text, model text)
         where h.provider = d.provider and h.model = d.model)`,
      [kind, kept],
    )
    await session.query(
      `insert into ${SCHEMA}.price_doubts as d (kind, provider, model, why, offered, origin)
       select distinct on (provider, model) $1, provider, model, why, nullif(offered, 'null'::jsonb), $3
       from json_to_recordset($2) as h (provider text, model text, why text, offered jsonb)
       on conflict (kind, provider, model) do update set
         why = excluded.why, offered = excluded.offered, origin = excluded.origin,
         since = case when d.offered is not distinct from excluded.offered then d.since else now() end`,
      [kind, kept, origin],
    )
  })
}

/** What Postgres takes in place of it: no text of its has NUL, or half of a character. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value
}

/** Ends what was taken, but for what is offered otherwise since it was read. */
export async function dropPriceDoubts(pool: Postgres, taken: readonly PriceDoubt[]): Promise<void> {
  await pool.query(
    `delete from ${SCHEMA}.price_doubts d
     using json_to_recordset($1) as t (kind text, provider text, model text, offered jsonb)
     where t.kind = d.kind and t.provider = d.provider and t.model = d.model and t.offered = d.offered`,
    [JSON.stringify(taken.map(({ kind, provider, model, offered }) => ({ kind, provider, model, offered })))],
  )
}
