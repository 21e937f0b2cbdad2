import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { UtcDay } from '../../domain/utc-day.ts'
import { lockPriceCatalogs } from '../../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'
import { sha256Of } from '../sources/price-catalog-source.ts'

/** What is known of a stored catalog beside its text. */
export interface StoredPriceCatalog {
  /** As `priceCatalogSource` names it. */
  readonly source: string
  readonly kind: PriceCatalogKind
  /** Of the text as it was fetched, before old prices were kept in it; hexadecimal. */
  readonly fetchedSha256: string
  /** A URL, a file's path, or the package's name. */
  readonly origin: string
  /** The newest date in the data itself; `null`: it has none. */
  readonly dataDay: UtcDay | null
  /** When it was fetched, or last found to be the same. */
  readonly fetchedAt: Date
  /** The first UTC day on which prices that it changed are in force. */
  readonly inForceFrom: UtcDay
}

export interface PriceCatalog extends StoredPriceCatalog {
  readonly text: string
}

/** A text longer than this is not a catalog; the largest known one has 2 MiB. */
export const MAX_CATALOG_BYTES = 32 * 1024 * 1024
/** Of each kind, with their texts, beside those that prices, rules or gateways name. */
const KEPT_CATALOGS = 10

/**
 * Puts a catalog in force, whole or not at all, for every gateway at once.
 *
 * @param expected The source it takes the place of, from which its old prices are; `null`: there is none yet.
 * @returns `false`: another one was put meanwhile, and nothing is changed.
 * @throws When Postgres is away, or the text is longer than `MAX_CATALOG_BYTES`.
 */
export async function putPriceCatalog(
  pool: Postgres,
  catalog: PriceCatalog,
  expected: string | null,
): Promise<boolean> {
  const bytes = Buffer.byteLength(catalog.text)
  if (bytes > MAX_CATALOG_BYTES) throw new Error(`the catalog has ${bytes} bytes, more than may be kept`)
  const data = await promisify(gzip)(catalog.text)
  return await inTransaction(pool, async (session) => {
    // 1. One at a time: the second one sees what the first one put, also where there was none.
    await lockPriceCatalogs(session)
    if ((await findCurrentSource(session, catalog.kind)) !== expected) return false
    // 2. The text, before anything names it. One that was dropped comes back.
    await session.query(
      `insert into ${SCHEMA}.price_catalogs
         (source, kind, sha256, fetched_sha256, origin, data_day, fetched_at, in_force_from, data, bytes)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict (source) do update set data = excluded.data`,
      [
        catalog.source,
        catalog.kind,
        sha256Of(catalog.text),
        catalog.fetchedSha256,
        catalog.origin,
        catalog.dataDay,
        catalog.fetchedAt,
        catalog.inForceFrom,
        data,
        bytes,
      ],
    )
    // 3. From the commit on, it is the one that gateways find.
    await session.query(
      `insert into ${SCHEMA}.current_price_catalogs (kind, source) values ($1, $2)
       on conflict (kind) do update set source = excluded.source, since = now()`,
      [catalog.kind, catalog.source],
    )
    await dropOldTexts(session, catalog.kind)
    return true
  })
}

/** The source of the catalog in force; `null`: none was ever put. Cheap enough to ask for again and again. */
export async function findCurrentSource(
  session: Postgres | PostgresSession,
  kind: PriceCatalogKind,
): Promise<string | null> {
  const { rows } = await session.query<{ source: string }>(
    `select source from ${SCHEMA}.current_price_catalogs where kind = $1`,
    [kind],
  )
  return rows[0]?.source ?? null
}

/**
 * The catalog in force with its text; `null`: none was ever put.
 *
 * @throws When its text is not what was put.
 */
export async function findCurrentPriceCatalog(
  session: Postgres | PostgresSession,
  kind: PriceCatalogKind,
): Promise<PriceCatalog | null> {
  const source = await findCurrentSource(session, kind)
  return source === null ? null : await findPriceCatalog(session, source)
}

/**
 * The catalog of this name, in force or not; `null`: it was never put, or its text was dropped.
 *
 * @throws When its text is not what was put.
 */
export async function findPriceCatalog(
  session: Postgres | PostgresSession,
  source: string,
): Promise<PriceCatalog | null> {
  const { rows } = await session.query<CatalogRow>(
    `select * from ${SCHEMA}.price_catalogs where source = $1 and data is not null`,
    [source],
  )
  const [row] = rows
  return row === undefined ? null : { ...fieldsOf(row), text: await textOf(row) }
}

/** Says that the catalog in force is what there is as of `at`, though nothing of it changed. */
export async function confirmPriceCatalog(pool: Postgres, source: string, at: Date): Promise<void> {
  await pool.query(
    `update ${SCHEMA}.price_catalogs set fetched_at = greatest(fetched_at, $2) where source = $1`,
    [source, at],
  )
}

/** Whether data of exactly this text was in force before: then what is in force now is newer. */
export async function wasFetchedBefore(
  session: Postgres | PostgresSession,
  kind: PriceCatalogKind,
  fetchedSha256: string,
): Promise<boolean> {
  const { rowCount } = await session.query(
    `select from ${SCHEMA}.price_catalogs where kind = $1 and fetched_sha256 = $2 limit 1`,
    [kind, fetchedSha256],
  )
  return rowCount === 1
}

interface CatalogRow {
  readonly source: string
  readonly kind: PriceCatalogKind
  readonly sha256: string
  readonly fetched_sha256: string
  readonly origin: string
  readonly data_day: UtcDay | null
  readonly fetched_at: Date
  readonly in_force_from: UtcDay
  readonly data: Buffer
}

function fieldsOf(row: CatalogRow): StoredPriceCatalog {
  return {
    source: row.source,
    kind: row.kind,
    fetchedSha256: row.fetched_sha256,
    origin: row.origin,
    dataDay: row.data_day,
    fetchedAt: row.fetched_at,
    inForceFrom: row.in_force_from,
  }
}

async function textOf({ source, data, sha256 }: CatalogRow): Promise<string> {
  const text = (await promisify(gunzip)(data, { maxOutputLength: MAX_CATALOG_BYTES })).toString()
  if (sha256Of(text) !== sha256) throw new Error(`the price catalog ${source} is not what was put there`)
  return text
}

/**
 * The rows stay: that a text was in force before is known for ever. What names a catalog may name others beside it, as
 * data merged from several has one name.
 */
async function dropOldTexts(session: PostgresSession, kind: PriceCatalogKind): Promise<void> {
  await session.query(
    `update ${SCHEMA}.price_catalogs set data = null
     where kind = $1 and data is not null
       and source not in (
         select source from ${SCHEMA}.price_catalogs where kind = $1 and data is not null
         order by fetched_at desc, source limit $2)
       and source not in (select source from ${SCHEMA}.current_price_catalogs)
       and not exists (select from ${SCHEMA}.repricing_rules where strpos(catalog_source, source) > 0)
       and not exists (select from ${SCHEMA}.gateway_prices join ${SCHEMA}.price_configurations using (hash)
                       where strpos(configuration->>'catalog', source) > 0)
       and not exists (select from ${SCHEMA}.prices where strpos(definition->>'source', source) > 0)`,
    [kind, KEPT_CATALOGS],
  )
}
