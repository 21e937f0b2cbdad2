import { keyChannel } from '../domain/redis/redis-names.ts'
import type { Logger } from '../lib/logger.ts'
import type { TableState } from '../lib/watched-table.ts'
import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { openRedis, withRedis } from '../store/connection/redis.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/**
 * `statement`, changing clients or keys, with a row `change(version)` to take the change's number from. Taking it
 * locks the counter until the change commits, so numbers become visible in their order; see the migration.
 */
export function changing(statement: string): string {
  return `with change as (
      update ${SCHEMA}.key_version set version = version + 1 returning version
    ) ${statement}`
}

/** Takes the counter's lock early, in a transaction that reads keys before it changes them. */
export async function lockKeyVersion(session: Pick<PostgresSession, 'query'>): Promise<void> {
  await session.query(`select from ${SCHEMA}.key_version for update`)
}

/** Which state of the keys the store has, and when. */
export interface KeyState extends TableState {
  /** The reading of the server's clock, milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * The state of the keys now.
 * @throws When Postgres is unreachable.
 */
export async function readKeyState(pool: Postgres): Promise<KeyState> {
  const { rows } = await pool.query<{ version: string; server: string; now_ms: number }>(
    `select version, extract(epoch from pg_postmaster_start_time())::text as server,
       (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms from ${SCHEMA}.key_version`,
  )
  const [row] = rows
  return { version: BigInt(row?.version ?? 0), server: row?.server ?? '', nowMs: row?.now_ms ?? Number.NaN }
}

/**
 * A Redis that does not answer is given up after this. Announcing only speeds things up, so callers must not
 * wait for it.
 */
const SILENCE_MS = 1_000

/**
 * Announces to the gateways that clients, keys or limits changed, so that they read them at once. They poll
 * within half a second anyway; a failed announcement is not an error.
 * @returns Whether it was announced.
 */
export async function announceKeyChange(
  redisUrl: string,
  redisPrefix: string,
  log: Logger,
): Promise<boolean> {
  try {
    await withRedis(redisUrl, SILENCE_MS, log, (redis) => redis.publish(keyChannel(redisPrefix), 'changed'))
    return true
  } catch {
    return false
  }
}

/**
 * Calls `onChange` after an announcement, and whenever announcements may have been missed.
 *
 * @param name Of the connection.
 * @param channels That it listens on beside.
 */
export function listenForKeyChanges(
  redisUrl: string,
  redisPrefix: string,
  log: Logger,
  onChange: () => void,
  name = 'tallygate keys',
  channels: readonly string[] = [],
): { close(): void } {
  const redis = openRedis(redisUrl, { name, whenAway: 'fail', silenceMs: SILENCE_MS, log })
  redis.on('message', onChange)
  redis.on('ready', () => {
    redis.subscribe(keyChannel(redisPrefix), ...channels).then(onChange, () => {
      // The connection broke again: the next `ready` subscribes.
    })
  })
  return { close: () => redis.disconnect() }
}
