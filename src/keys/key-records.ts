import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** Everything about a key that decides whether its call is allowed. */
export interface KeyRecord {
  readonly keyId: string
  readonly keyName: string
  readonly clientId: string
  readonly clientName: string
  readonly digest: Buffer
  /**
   * What the digest is made of: the key, a SHA-256 of it that another gateway kept, or the identity that a key without a
   * text stands for.
   */
  readonly digestOf: 'key' | 'sha256' | 'identity'
  readonly models: readonly string[] | null
  /** Milliseconds since 1970; `null`: never. */
  readonly expiresAtMs: number | null
  readonly revoked: boolean
  readonly clientDisabled: boolean
  /** The salt of the secret that its client signs with; `null`: it has none. */
  readonly signing: SigningSalt | null
}

/** The part of a signing secret that is stored. The other is the pepper that `pepperId` names. */
export interface SigningSalt {
  readonly salt: Buffer
  readonly pepperId: string
}

interface KeyRecordRow {
  readonly id: string
  readonly name: string
  readonly client_id: string
  readonly client_name: string
  readonly digest: Buffer
  readonly digest_of: KeyRecord['digestOf']
  readonly models: string[] | null
  readonly expires_at: Date | null
  readonly revoked: boolean
  readonly disabled: boolean
  readonly sigv4_salt: Buffer | null
  readonly sigv4_pepper_id: string | null
}

/** This many rows a page keep the pauses of the event loop to a few milliseconds. */
const PAGE_ROWS = 2_000
/** More changes than these are read with all keys, page by page. */
const MAX_CHANGED = 20_000

const COLUMNS = `k.id, k.name, k.client_id, c.name as client_name, k.digest, k.digest_of, k.models, k.expires_at,
  k.revoked_at is not null as revoked, c.disabled, k.sigv4_salt, k.sigv4_pepper_id`

const SELECT_PAGE = `select ${COLUMNS} from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id
  where k.id > $1 order by k.id limit ${PAGE_ROWS}`

/**
 * Two selects, each by the index of its own version. One condition over both tables could use neither index, and every
 * change would cost a scan of all keys.
 */
const SELECT_CHANGED = `(select ${COLUMNS} from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id
    where k.version > $1 limit ${MAX_CHANGED + 1})
  union all
  (select ${COLUMNS} from ${SCHEMA}.clients c join ${SCHEMA}.keys k on k.client_id = c.id
    where c.version > $1 and k.version <= $1 limit ${MAX_CHANGED + 1})`

/**
 * All keys, page by page: each statement is short, however many there are.
 * @throws When Postgres is unreachable.
 */
export async function* selectKeyRecords(pool: Postgres): AsyncGenerator<readonly KeyRecord[]> {
  let after = ''
  for (;;) {
    const { rows } = await pool.query<KeyRecordRow>(SELECT_PAGE, [after])
    yield rows.map(keyRecordFrom)
    const last = rows[PAGE_ROWS - 1]
    if (last === undefined) return
    after = last.id
  }
}

/**
 * The keys that changed, or whose client changed, after change `version`, as of one moment. `null`: too many to be read
 * at once.
 * @throws When Postgres is unreachable.
 */
export async function selectChangedKeys(pool: Postgres, version: bigint): Promise<KeyRecord[] | null> {
  const { rows } = await pool.query<KeyRecordRow>(SELECT_CHANGED, [version])
  return rows.length > MAX_CHANGED ? null : rows.map(keyRecordFrom)
}

/**
 * Saves that these keys were used now. Rows locked by another transaction are skipped: the time is
 * informative.
 * @throws When Postgres is unreachable.
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
    digestOf: row.digest_of,
    models: row.models,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    revoked: row.revoked,
    clientDisabled: row.disabled,
    signing:
      row.sigv4_salt === null || row.sigv4_pepper_id === null
        ? null
        : { salt: row.sigv4_salt, pepperId: row.sigv4_pepper_id },
  }
}
