import { SILENT_LOG } from '../../lib/logger.ts'
import { VERSION } from '../../lib/version.ts'
import { copyOut } from '../connection/copy-rows.ts'
import { beginLongTransaction, type LongSession, withSession } from '../connection/long-session.ts'
import { SCHEMA } from '../connection/schema.ts'
import { ArchiveWriter } from './archive.ts'
import { BackupError } from './backup-error.ts'
import { MANIFEST_START, type Manifest } from './manifest.ts'

/** Tables of running processes: where they are restored, none of those runs. */
const OF_THE_MOMENT: readonly string[] = ['processes', 'gateway_journals']

/** A backup that was made. */
export interface BackedUp {
  readonly manifest: Manifest
  readonly rows: number
}

/**
 * Writes the schema as it is at one moment: one snapshot, and one part of a table in memory.
 *
 * @param write Takes the parts of the archive in order.
 * @throws {BackupError} When there is nothing to back up.
 */
export async function makeBackup(
  databaseUrl: string,
  write: (part: Buffer) => Promise<void>,
  onTable: (table: string, rows: number) => void,
): Promise<BackedUp> {
  return await withSession(
    databaseUrl,
    { applicationName: 'tallygate backup', log: SILENT_LOG },
    async (session) => {
      await beginLongTransaction(session, 'isolation level repeatable read, read only')
      await session.query(
        `set local datestyle = 'ISO'; set local intervalstyle = 'postgres'; set local extra_float_digits = 3`,
      )
      await checkSchema(session)
      const manifest = await describe(session)
      const archive = new ArchiveWriter()
      let rows = 0
      await write(archive.manifest(manifest))
      for (const { name, columns } of manifest.tables) {
        const copied = copyOut(
          session,
          `copy (select ${columns.join(', ')} from ${SCHEMA}.${name}) to stdout`,
        )
        for await (const bytes of copied) await write(archive.rows(name, bytes as Buffer))
        await write(archive.table(name, copied.rowCount))
        rows += copied.rowCount
        onTable(name, rows)
      }
      await write(archive.end())
      await session.query('commit')
      return { manifest, rows }
    },
  )
}

async function checkSchema(session: LongSession): Promise<void> {
  const { rows } = await session.query<{ present: boolean }>(
    `select to_regclass('${SCHEMA}.migrations') is not null as present`,
  )
  if (rows[0]?.present !== true)
    throw new BackupError('the database has no ledger: there is nothing to back up')
}

async function describe(session: LongSession): Promise<Manifest> {
  const { rows } = await session.query<{
    made_at: Date
    database: string
    postgres: string
    keys_by_pepper: Record<string, number>
    migrations: string[]
  }>(
    `select now() as made_at, current_setting('server_version') as postgres,
       (select extract(epoch from run_on)::text from ${SCHEMA}.migrations order by id limit 1) as database,
       (select array_agg(name order by name) from ${SCHEMA}.migrations) as migrations,
       (select coalesce(jsonb_object_agg(pepper_id, n), '{}') from
          (select pepper_id, count(*)::int as n from ${SCHEMA}.keys where revoked_at is null group by 1) k)
         as keys_by_pepper`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('Postgres said nothing of the database')
  return {
    ...MANIFEST_START,
    release: VERSION,
    ...row,
    made_at: row.made_at.toISOString(),
    tables: await selectTables(session),
    partitions: await selectPartitions(session),
    sequences: await selectSequences(session),
  }
}

/** Tables with their own rows or partitions, each behind those that it refers to. Detached partitions are left out. */
async function selectTables(session: LongSession): Promise<Manifest['tables']> {
  const { rows } = await session.query<{ name: string; columns: string[]; needs: string[] }>(
    `select c.relname as name,
       (select array_agg(quote_ident(a.attname) order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
       (select coalesce(array_agg(distinct t.relname::text), '{}') from pg_constraint f
        join pg_class t on t.oid = f.confrelid
        where f.conrelid = c.oid and f.contype = 'f' and t.oid <> c.oid) as needs
     from pg_class c
     where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname !~ '_\\d{6}(\\d\\d)?$' and c.relname <> all($1)
     order by 1`,
    [OF_THE_MOMENT],
  )
  const sorted: Manifest['tables'] = []
  const waiting = new Map(rows.map((row) => [row.name, row]))
  while (waiting.size > 0) {
    const next = [...waiting.values()].find(({ needs }) => !needs.some((needed) => waiting.has(needed)))
    if (next === undefined) throw new Error(`tables refer to each other: ${[...waiting.keys()].join(', ')}`)
    waiting.delete(next.name)
    sorted.push({ name: next.name, columns: next.columns })
  }
  return sorted
}

async function selectPartitions(session: LongSession): Promise<Manifest['partitions']> {
  const { rows } = await session.query<Manifest['partitions'][number]>(
    `select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound,
       coalesce(c.reloptions, '{}') as options, c.relreplident = 'f' as has_full_identity
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind = 'r' and not i.inhdetachpending
     order by 1`,
  )
  return rows
}

async function selectSequences(session: LongSession): Promise<Manifest['sequences']> {
  const { rows } = await session.query<Manifest['sequences'][number]>(
    `select * from (
       select c.relname as table, a.attname as column,
         pg_sequence_last_value(pg_get_serial_sequence(format('${SCHEMA}.%I', c.relname), a.attname)::regclass)::text
           as last
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and pg_get_serial_sequence(format('${SCHEMA}.%I', c.relname), a.attname) is not null) s
     where last is not null order by 1, 2`,
  )
  return rows
}
