import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { SILENT_LOG } from '../../lib/logger.ts'
import { lockMigrations } from '../connection/advisory-locks.ts'
import { copyIn } from '../connection/copy-rows.ts'
import { beginLongTransaction, type LongSession, withSession } from '../connection/long-session.ts'
import { applyPending, listMigrations } from '../connection/migrate.ts'
import { SCHEMA } from '../connection/schema.ts'
import type { ArchivePart } from './archive.ts'
import { BackupError } from './backup-error.ts'
import type { Manifest } from './manifest.ts'

/** The name of the present schema until the transaction ends, which drops it. */
const BEFORE = `${SCHEMA}_before_restore`

export interface RestoreChecks {
  /** Looks at the archive and at the present database, before anything is made. Throws to stop. */
  readonly onManifest: (manifest: Manifest) => Promise<void>
  /** Called when all is loaded, before the commit. Throws to leave all as it was. */
  readonly beforeSwap: (manifest: Manifest) => Promise<void>
  readonly onTable: (table: string, rows: number) => void
}

/** A restore that was done. */
export interface RestoredSchema {
  readonly manifest: Manifest
  readonly rows: number
  /** Migrations that the backup lacked, which were applied to it. */
  readonly migrated: readonly string[]
  /** Tables of the archive that no migration makes. */
  readonly skipped: readonly string[]
}

/**
 * Replaces the schema by the one of an archive, in one transaction: others see the old one until all of the archive was
 * read, checked and brought to this release, and the new one from then on. A process that is killed leaves the old one.
 *
 * @throws {BackupError} When the archive or a check stops it. Nothing was changed then.
 */
export async function restoreSchema(
  databaseUrl: string,
  archive: AsyncIterable<ArchivePart>,
  { onManifest, beforeSwap, onTable }: RestoreChecks,
): Promise<RestoredSchema> {
  return await withSession(
    databaseUrl,
    { applicationName: 'tallygate restore', log: SILENT_LOG },
    async (session) => {
      const parts = archive[Symbol.asyncIterator]()
      const first = (await parts.next()).value
      if (first?.kind !== 'manifest') throw new BackupError('the backup is empty; nothing was changed')
      const { manifest } = first
      await checkMigrations(manifest)
      await onManifest(manifest)
      await beginLongTransaction(session, 'isolation level read committed')
      await session.query(`set local datestyle = 'ISO'; set local intervalstyle = 'postgres'`)
      await lockMigrations(session)
      const hadOne = await takeOwner(session)
      if (hadOne) {
        await checkDependents(session)
        await session.query(`alter schema ${SCHEMA} rename to ${BEFORE}`)
      }
      await applyPending(session, SILENT_LOG, manifest.migrations.length)
      const skipped = await prepareTables(session, manifest)
      const rows = await loadRows(
        session,
        { [Symbol.asyncIterator]: () => parts },
        manifest,
        skipped,
        onTable,
      )
      for (const { table, column, last } of manifest.sequences)
        await session.query('select setval(pg_get_serial_sequence($1, $2), $3)', [
          `${SCHEMA}.${table}`,
          column,
          last,
        ])
      const migrated = await applyPending(session, SILENT_LOG)
      if (hadOne) await copyGrants(session)
      for (const { name } of manifest.tables) if (!skipped.includes(name)) await analyze(session, name)
      await beforeSwap(manifest)
      if (hadOne) await session.query(`drop schema ${BEFORE} cascade`)
      await session.query('commit')
      return { manifest, rows, migrated, skipped }
    },
  )
}

async function checkMigrations({ migrations, release }: Manifest): Promise<void> {
  const ours = await listMigrations()
  const unknown = migrations.filter((name) => !ours.includes(name))
  if (unknown.length > 0)
    throw new BackupError(
      `the backup is of a newer release (${release}, with ${unknown.join(', ')}): restore it with that one; nothing was changed`,
    )
  const lacking = ours.slice(0, migrations.length).filter((name) => !migrations.includes(name))
  if (lacking.length > 0)
    throw new BackupError(
      `the backup has a schema that no release has (it lacks ${lacking.join(', ')}): restore it with the checkout that made it; nothing was changed`,
    )
}

/** Views of the operator's own, outside of our schema, would be dropped with what they read. */
async function checkDependents(session: LongSession): Promise<void> {
  const { rows } = await session.query<{ view: string }>(
    `select distinct v.oid::regclass::text as view
     from pg_depend d join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
     join pg_class v on v.oid = r.ev_class
     join pg_class t on t.oid = d.refobjid and d.refclassid = 'pg_class'::regclass
     where t.relnamespace = '${SCHEMA}'::regnamespace and v.relnamespace <> '${SCHEMA}'::regnamespace order by 1`,
  )
  if (rows.length > 0)
    throw new BackupError(
      `views of yours read the tables that are replaced (${rows.map(({ view }) => view).join(', ')}): drop them first, and make them again; nothing was changed`,
    )
}

/** Empties what migrations filled, and makes the partitions. Gives the tables of the archive that are not there. */
async function prepareTables(
  session: LongSession,
  { tables, partitions }: Manifest,
): Promise<readonly string[]> {
  const names = await selectNames(session)
  const known = tables.filter(({ name }) => names.has(name))
  await session.query(`truncate ${known.map(({ name }) => `${SCHEMA}.${name}`).join(', ')}`)
  for (const { name, parent, bound, options, has_full_identity } of partitions) {
    if (names.has(name)) continue
    await session.query(`create table ${SCHEMA}.${name} (like ${SCHEMA}.${parent} including all)`)
    if (options.length > 0) await session.query(`alter table ${SCHEMA}.${name} set (${options.join(', ')})`)
    if (has_full_identity) await session.query(`alter table ${SCHEMA}.${name} replica identity full`)
    await session.query(`alter table ${SCHEMA}.${parent} attach partition ${SCHEMA}.${name} ${bound}`)
  }
  return tables.filter(({ name }) => !names.has(name)).map(({ name }) => name)
}

async function selectNames(session: LongSession): Promise<ReadonlySet<string>> {
  const { rows } = await session.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = '${SCHEMA}'::regnamespace and relkind in ('r', 'p')`,
  )
  return new Set(rows.map(({ name }) => name))
}

async function loadRows(
  session: LongSession,
  parts: AsyncIterable<ArchivePart>,
  { tables }: Manifest,
  skipped: readonly string[],
  onTable: (table: string, rows: number) => void,
): Promise<number> {
  const statements = new Map(
    tables.map(({ name, columns }) => [name, `copy ${SCHEMA}.${name} (${columns.join(', ')}) from stdin`]),
  )
  let current: {
    readonly table: string
    readonly into: (Writable & { readonly rowCount: number }) | null
  } | null = null
  let rows = 0
  const open = (table: string) => {
    const statement = statements.get(table)
    if (statement === undefined) throw new BackupError(`the backup is damaged: its list lacks ${table}`)
    const into = skipped.includes(table) ? null : copyIn(session, statement)
    // Its failure is looked at with the next rows.
    into?.on('error', () => {})
    return { table, into }
  }
  try {
    for await (const part of parts) {
      if (part.kind === 'manifest') continue
      current ??= open(part.table)
      const { into } = current
      if (into?.errored) throw into.errored
      if (part.kind === 'rows') {
        if (into !== null && !into.write(part.bytes)) await once(into, 'drain')
        continue
      }
      if (into !== null) {
        into.end()
        await finished(into)
        if (into.rowCount !== part.rows)
          throw new BackupError(
            `the backup is damaged: ${part.table} has ${into.rowCount} rows of ${part.rows}`,
          )
      }
      rows += part.rows
      onTable(part.table, rows)
      current = null
    }
  } catch (error) {
    // The statement under way ends first; its own end is another error of the same cause.
    const into = current?.into
    if (into !== undefined && into !== null && !into.destroyed)
      into.destroy(error instanceof Error ? error : undefined)
    throw error
  }
  return rows
}

/** Without figures of what tables hold, queries may take minutes where they take a second. */
async function analyze(session: LongSession, table: string): Promise<void> {
  const { rows } = await session.query<{ present: boolean }>(
    'select to_regclass($1) is not null as present',
    [`${SCHEMA}.${table}`],
  )
  if (rows[0]?.present === true) await session.query(`analyze ${SCHEMA}.${table}`)
}

/**
 * Acts as the owner of the schema until the transaction ends, so that what is made belongs to the same role.
 *
 * @returns `false`: there is no such schema.
 */
async function takeOwner(session: LongSession): Promise<boolean> {
  const { rows } = await session.query<{ role: string; is_own: boolean }>(
    `select quote_ident(pg_get_userbyid(nspowner)) as role, pg_get_userbyid(nspowner) = current_user as is_own
     from pg_namespace where nspname = $1`,
    [SCHEMA],
  )
  const [owner] = rows
  if (owner === undefined) return false
  if (!owner.is_own) await session.query(`set local role ${owner.role}`)
  return true
}

/** Gives roles the rights in the schema that they had in the one before it, on what has the same name there. */
async function copyGrants(session: LongSession): Promise<void> {
  const { rows } = await session.query<{ statement: string }>(
    `with held as (
       select format('schema %I', $2::text) as target, '' as columns, x.*, n.nspowner as owner
       from pg_namespace n, aclexplode(n.nspacl) x where n.nspname = $1
       union all
       select format('%s %I.%I', case c.relkind when 'S' then 'sequence' else 'table' end, $2::text, c.relname), '',
         x.*, c.relowner
       from pg_class c, aclexplode(c.relacl) x
       where c.relnamespace = $1::regnamespace and to_regclass(format('%I.%I', $2::text, c.relname)) is not null
       union all
       select format('table %I.%I', $2::text, c.relname), format(' (%I)', a.attname), x.*, c.relowner
       from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x
       where c.relnamespace = $1::regnamespace and to_regclass(format('%I.%I', $2::text, c.relname)) is not null
     )
     select format('grant %s%s on %s to %s%s', privilege_type, columns, target,
       case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
       case when is_grantable then ' with grant option' else '' end) as statement
     from held where grantee <> owner
     union all
     select format('alter default privileges for role %I in schema %I grant %s on %s to %s',
       pg_get_userbyid(d.defaclrole), $2::text, x.privilege_type,
       case d.defaclobjtype when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types' else 'tables' end,
       case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end)
     from pg_default_acl d, aclexplode(d.defaclacl) x
     where d.defaclnamespace = $1::regnamespace and x.grantee <> d.defaclrole`,
    [BEFORE, SCHEMA],
  )
  for (const { statement } of rows) await session.query(statement)
}
