import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** Everything that decides about a call with a key. */
export interface KeyRecord {
  readonly keyId: string
  readonly keyName: string
  readonly clientId: string
  readonly clientName: string
  readonly digest: Buffer
  readonly models: readonly string[] | null
  /** Milliseconds since 1970; `null`: never. */
  readonly expiresAtMs: number | null
  readonly revoked: boolean
  readonly clientDisabled: boolean
}

interface KeyRecordRow {
  readonly id: string
  readonly name: string
  readonly client_id: string
  readonly client_name: string
  readonly digest: Buffer
  readonly models: string[] | null
  readonly expires_at: Date | null
  readonly revoked: boolean
  readonly disabled: boolean
}

/** So many rows at a time keep the event loop's pauses to a few milliseconds. */
const PAGE_ROWS = 2_000

/**
 * The keys that were changed, or whose client was, since the change numbered `version`; -1n for all. Page by page,
 * so that a hundred thousand do not stop the process.
 *
 * @throws When Postgres is away.
 */
export async function* selectKeyRecords(
  pool: Postgres,
  version: bigint,
): AsyncGenerator<readonly KeyRecord[]> {
  let after = ''
  for (;;) {
    const { rows } = await pool.query<KeyRecordRow>(
      `select k.id, k.name, k.client_id, c.name as client_name, k.digest, k.models, k.expires_at,
         k.revoked_at is not null as revoked, c.disabled
       from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id
       where k.id > $2 and (k.version > $1 or c.version > $1) order by k.id limit ${PAGE_ROWS}`,
      [version, after],
    )
    yield rows.map(keyRecordFrom)
    const last = rows[PAGE_ROWS - 1]
    if (last === undefined) return
    after = last.id
  }
}

/**
 * Notes that these keys were used now. Rows that somebody is changing are left out: it is only a note.
 *
 * @throws When Postgres is away.
 */
export async function recordKeysUsed(pool: Postgres, keyIds: readonly string[]): Promise<void> {
  await pool.query(
    `with free as (select id from ${SCHEMA}.keys where id = any($1) for update skip locked)
     update ${SCHEMA}.keys k set last_used_at = now() from free where k.id = free.id`,
    [keyIds],
  )
}

function keyRecordFrom(row: KeyRecordRow): KeyRecord {
  return {
    keyId: row.id,
    keyName: row.name,
    clientId: row.client_id,
    clientName: row.client_name,
    digest: row.digest,
    models: row.models,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    revoked: row.revoked,
    clientDisabled: row.disabled,
  }
}
