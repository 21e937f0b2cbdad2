import { statfs } from 'node:fs/promises'
import { selectRunning } from '../processes/running-processes.ts'
import { selectPendingMigrations } from './migrate.ts'
import type { Postgres } from './postgres.ts'
import { SCHEMA } from './schema.ts'

/** A migration without needs runs beside the programs of the release before. */
interface MigrationNeeds {
  /** Workers of the release before cannot count on the schema that it leaves. */
  readonly workersStopped?: true
  /** Tables that it writes once more: as much room on the disk is in use until its commit. */
  readonly writesAgain?: readonly string[]
}

export const MIGRATION_NEEDS: Readonly<Record<string, MigrationNeeds>> = {
  '0011_months_of_usage': { workersStopped: true, writesAgain: ['daily_usage'] },
  '0022_call_kinds': { workersStopped: true, writesAgain: ['calls'] },
}

/** Less than this fits on any disk that is not full. */
const SMALL_BYTES = 1_073_741_824

/** Why the pending migrations must not run now, in one sentence. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused'
}

export interface NeedsOptions {
  /** The operator knows that the disk has the room. */
  readonly hasRoom: boolean
  /** Tables up to this size need no look at the disk. */
  readonly smallBytes?: number
  /** The room on the disk of PostgreSQL, in bytes; `null`: unknown. */
  readonly findFree?: (pool: Postgres) => Promise<number | null>
}

/**
 * Checks whether what the pending migrations need is there. Gateways may go on in any case.
 *
 * @throws {MigrationRefused} When it is not. Nothing was changed.
 */
export async function checkNeeds(pool: Postgres, options: NeedsOptions): Promise<void> {
  const pending = (await selectPendingMigrations(pool)).flatMap((name) => {
    const needs = MIGRATION_NEEDS[name]
    return needs === undefined ? [] : [{ name, ...needs }]
  })
  const stopping = pending.filter(({ workersStopped }) => workersStopped)
  // A database without the schema has nothing to move, and no worker of it can run.
  const workers = stopping.length === 0 ? [] : (await selectRunning(pool)).filter(isWorker)
  if (workers.length > 0)
    throw new MigrationRefused(
      `${namesOf(stopping)} needs the workers stopped, and ${workers.length} run (${workers.join(', ')}): stop them, wait 45 s where one was killed, and migrate again; calls go on and are counted afterwards. Nothing was changed`,
    )
  for (const { name, writesAgain = [] } of pending) await checkRoom(pool, name, writesAgain, options)
}

/** As `selectRunning` names them: `worker host:1` or `a tallygate worker`. */
function isWorker(running: string): boolean {
  return /^(a tallygate )?worker\b/.test(running)
}

function namesOf(migrations: readonly { readonly name: string }[]): string {
  return migrations.map(({ name }) => name).join(' and ')
}

async function checkRoom(
  pool: Postgres,
  name: string,
  tables: readonly string[],
  { hasRoom, smallBytes = SMALL_BYTES, findFree = freeBytes }: NeedsOptions,
): Promise<void> {
  const bytes = await sizeOf(pool, tables)
  if (hasRoom || bytes < smallBytes) return
  const free = await findFree(pool)
  if (free !== null && free > bytes) return
  const known =
    free === null
      ? 'see that it is there, and migrate again with --has-room'
      : `it has ${inMib(free)}: free some, and migrate again`
  throw new MigrationRefused(
    `${name} writes ${inMib(bytes)} of ${tables.join(', ')} once more, which needs as much room on the disk of PostgreSQL until its commit: ${known}. Nothing was changed`,
  )
}

/** The size of tables with their partitions and indexes; 0: they are not there. */
async function sizeOf(pool: Postgres, tables: readonly string[]): Promise<number> {
  if (tables.length === 0) return 0
  const { rows } = await pool.query<{ bytes: string }>(
    `select coalesce(sum(pg_total_relation_size(coalesce(part.relid, t.id))), 0) as bytes
     from unnest($1::text[]) n (name)
     cross join lateral (select to_regclass(n.name) as id) t
     left join lateral pg_partition_tree(t.id) part on true`,
    [tables.map((table) => `${SCHEMA}.${table}`)],
  )
  return Number(rows[0]?.bytes ?? 0)
}

/** The room on the disk with the server's data, where that is this machine's; `null`: it cannot be seen from here. */
async function freeBytes(pool: Postgres): Promise<number | null> {
  const { rows } = await pool
    .query<{ folder: string; is_here: boolean }>(
      `select current_setting('data_directory') as folder,
         coalesce(inet_server_addr() <<= '127.0.0.0/8' or inet_server_addr() = '::1', true) as is_here`,
    )
    .catch(() => ({ rows: [] })) // only some roles are shown it
  const [row] = rows
  if (row?.is_here !== true) return null
  const disk = await statfs(row.folder).catch(() => null)
  return disk === null ? null : disk.bsize * disk.bavail
}

function inMib(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576)} MiB`
}
