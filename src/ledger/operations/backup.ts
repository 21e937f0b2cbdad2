import { pepperId } from '../../domain/api-key.ts'
import { SILENT_LOG } from '../../lib/logger.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import {
  shownCount,
  shownCountOrNull,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
} from '../../operations/answers.ts'
import { Failure } from '../../operations/failure.ts'
import { flagField, textField } from '../../operations/fields.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { readArchive } from '../../store/backup/archive.ts'
import { BackupError } from '../../store/backup/backup-error.ts'
import { makeBackup } from '../../store/backup/make-backup.ts'
import type { Manifest } from '../../store/backup/manifest.ts'
import { restoreSchema } from '../../store/backup/restore-schema.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { withRedis } from '../../store/connection/redis.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { readDatabaseId } from '../../store/ledger/ledger-database.ts'
import { selectRunning } from '../../store/processes/running-processes.ts'
import { releaseJournals, releaseRedis } from '../recovery/release-stores.ts'
import { openArchiveFile, STANDARD, sizeOfArchive, writeArchiveFile } from './archive-file.ts'

/** The stores of a deployment, as a command finds them. */
export interface StoreLocations {
  readonly databaseUrl: string
  /** `null`: not configured. */
  readonly redisUrl: string | null
  readonly redisPrefix: string
  /** Empty: not configured. */
  readonly keyPeppers: readonly string[]
  readonly journalDir: string
}

export interface BackupPorts extends Ports {
  /** `null`: a server asks, which may not replace what it runs on. */
  readonly locations: StoreLocations | null
}

/** Some hundred thousand clients, one command each. */
export const REDIS_MS = 60_000

export const NO_ROUTE = { none: 'It reads or writes a file on the machine where it is run.' }

const BACKUP = shownDocument('Backup', {
  file: shownText('Where it is; -: the standard output.'),
  bytes: shownCountOrNull('Its size. null: it went to the standard output.'),
  made_at: shownMoment('The moment of its snapshot.'),
  database: shownText('The identity of the database.'),
  release: shownText('The release of tallygate.'),
  tables: shownCount('How many tables it has.'),
  rows: shownCount('How many rows they have together.'),
})

const backup = operation({
  name: 'backup',
  summary: 'Writes all that PostgreSQL has of the ledger into a file, as it is at one moment.',
  description: 'It has hashes of keys and no secret. Keep KEY_PEPPER beside it: no key works without.',
  role: 'admin',
  http: NO_ROUTE,
  input: { file: textField('The file to write; - is the standard output.', 'file') },
  answer: BACKUP,
  gives: 'What was backed up.',
  isLong: true,
  async run(ports: BackupPorts, { file }) {
    const { databaseUrl } = locationsOf(ports)
    const progress = ports.progress('rows')
    const onTable = (table: string, rows: number) => progress.at(table, rows)
    const { manifest, rows } = await writeArchiveFile(file, (write) =>
      makeBackup(databaseUrl, write, onTable),
    )
    const made = {
      file,
      bytes: await sizeOfArchive(file),
      made_at: manifest.made_at,
      database: manifest.database,
      release: manifest.release,
      tables: manifest.tables.length,
      rows,
    }
    if (file === STANDARD) ports.remark(backupText(made))
    return made
  },
  command: {
    words: 'backup',
    options: { file: '<file>' },
    print: (made) => (made.file === STANDARD ? '' : backupText(made)),
  },
})

function backupText({
  file,
  made_at,
  tables,
  rows,
}: {
  file: string
  made_at: string
  tables: number
  rows: number
}) {
  const where = file === STANDARD ? '' : ` to ${file}`
  return `Backed up ${rows} rows of ${tables} tables${where}, as of ${made_at}. Keep KEY_PEPPER beside it: no key works without.`
}

const RESTORED = shownDocument('Restored', {
  file: shownText('Where it was read from.'),
  made_at: shownMoment('The moment of its snapshot.'),
  database: shownText('The identity of the database, which the backup brings.'),
  rows: shownCount('How many rows were restored.'),
  migrated: shownList(shownText('A name.'), 'Migrations that the backup lacked and that were applied to it.'),
  skipped: shownList(shownText('A name.'), 'Tables of the backup that are none of ours.'),
  removed_entries: shownCount('Records of the replaced database that were taken from the streams.'),
  released_journals: shownCount('Journals of the replaced database that are counted in the restored one.'),
})

const restore = operation({
  name: 'restore',
  summary: 'Replaces all that PostgreSQL has of the ledger by a backup, in one transaction.',
  description: 'Gateways and workers must be stopped. Where it fails or is killed, all is as it was.',
  role: 'admin',
  http: NO_ROUTE,
  input: {
    file: textField('The file of a backup; - is the standard input.', 'file'),
    force_pepper: flagField('Restores although its keys will not work with this KEY_PEPPER.').default(false),
    force_identity: flagField(
      'Replaces a database or a claim on Redis that is not of the same ledger.',
    ).default(false),
    without_redis: flagField(
      'Leaves Redis alone: it is empty, or has another REDIS_PREFIX from now on.',
    ).default(false),
  },
  answer: RESTORED,
  gives: 'What was restored.',
  isLong: true,
  async run(ports: BackupPorts, input) {
    try {
      return await restoreFrom(ports, input)
    } catch (error) {
      throw error instanceof BackupError ? new Failure(error.message) : error
    }
  },
  command: {
    words: 'restore',
    options: { file: '<file>' },
    print: ({ file, rows, made_at, migrated, skipped }) =>
      [
        `Restored ${rows} rows from ${file}, as of ${made_at}.`,
        ...(migrated.length > 0 ? [`Migrated from an older release: ${migrated.join(', ')}.`] : []),
        ...(skipped.length > 0 ? [`Not restored, as they are none of ours: ${skipped.join(', ')}.`] : []),
        'Start gateways and workers. Keys revoked since then work again: revoke them first.',
      ].join('\n'),
  },
})

interface RestoreInput {
  readonly file: string
  readonly force_pepper: boolean
  readonly force_identity: boolean
  readonly without_redis: boolean
}

async function restoreFrom(ports: BackupPorts, input: RestoreInput) {
  const { file, force_identity, without_redis } = input
  const locations = locationsOf(ports)
  const { databaseUrl, redisUrl, redisPrefix, journalDir } = locations
  const { pool } = ports
  if (redisUrl === null && !without_redis)
    throw new Failure(
      'REDIS_URL is not set: what Redis holds of the replaced database is to be removed; set it, or say --without-redis where it is empty',
    )
  await refuseRunning(pool)
  // A file is read twice, so that one that is damaged costs no hours.
  if (file !== STANDARD) for await (const _ of readArchive(await openArchiveFile(file)));
  const replaced = await readPresentIdentity(pool)
  const progress = ports.progress('rows')
  let removedEntries = 0
  const done = await restoreSchema(databaseUrl, readArchive(await openArchiveFile(file)), {
    async onManifest(manifest) {
      checkPepper(manifest, locations.keyPeppers, input.force_pepper)
      if (replaced !== null && replaced !== manifest.database && !force_identity) await refuseOther(pool)
    },
    async beforeSwap({ database }) {
      await refuseRunning(pool)
      if (redisUrl === null || without_redis) return
      const identity = { restored: database, replaced, takesAll: force_identity }
      const names = await selectRedisNames(pool)
      await withRedis(redisUrl, REDIS_MS, SILENT_LOG, async (redis) => {
        const released = await releaseRedis(redis, { redisPrefix, ...names }, identity)
        removedEntries = released.removedEntries
      }).catch((error: unknown) => {
        throw error instanceof BackupError
          ? error
          : new Failure(`Redis does not answer (${reasonOf(error)}): start it first; nothing was changed`)
      })
    },
    onTable: (table, rows) => progress.at(table, rows),
  })
  const { manifest, rows, migrated, skipped } = done
  const identity = { restored: manifest.database, replaced, takesAll: force_identity }
  return {
    file,
    made_at: manifest.made_at,
    database: manifest.database,
    rows,
    migrated,
    skipped,
    removed_entries: removedEntries,
    released_journals: await releaseJournals(journalDir, identity),
  }
}

async function refuseRunning(pool: Postgres): Promise<void> {
  const running = await selectRunning(pool)
  if (running.length === 0) return
  throw new Failure(
    `gateways or workers of this database run (${running.join(', ')}): stop them first, and wait 45 s where one was killed; nothing was changed`,
  )
}

function checkPepper({ keys_by_pepper }: Manifest, peppers: readonly string[], isForced: boolean): void {
  if (isForced) return
  const known = new Set(peppers.map(pepperId))
  const lost = Object.entries(keys_by_pepper).filter(([id]) => !known.has(id))
  const keys = lost.reduce((sum, [, count]) => sum + count, 0)
  if (keys === 0) return
  const why =
    peppers.length === 0 ? 'KEY_PEPPER is not set' : 'KEY_PEPPER is another one than that of the backup'
  throw new Failure(
    `${why}: ${keys} of its keys would not work; set the one that the backup was made with (id ${lost.map(([id]) => id).join(', ')}), or say --force-pepper; nothing was changed`,
  )
}

/** A database that was just made may go. One that has counted calls is a ledger of its own. */
async function refuseOther(pool: Postgres): Promise<void> {
  // Producers that are folded left usage. An older release has no table of them.
  const { rows } = await pool.query<{ counted: string; has_usage: boolean }>(
    `select coalesce(sum(mark), 0)::text as counted, exists (select from ${SCHEMA}.daily_usage) as has_usage
     from ${SCHEMA}.producers`,
  )
  const { counted = '0', has_usage: hasUsage = false } = rows[0] ?? {}
  if (counted === '0' && !hasUsage) return
  throw new Failure(
    `the database is another ledger, which has counted ${counted === '0' ? '' : `${counted} `}calls: back it up, and say --force-identity to replace it; nothing was changed`,
  )
}

async function readPresentIdentity(pool: Postgres): Promise<string | null> {
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('${SCHEMA}.migrations') is not null as present`,
  )
  return rows[0]?.present === true ? await readDatabaseId(pool) : null
}

/** Of the present database: what Redis may hold. */
export async function selectRedisNames(
  pool: Postgres,
): Promise<{ readonly streams: readonly string[]; readonly clientIds: readonly string[] }> {
  if ((await readPresentIdentity(pool)) === null) return { streams: [], clientIds: [] }
  const { rows } = await pool.query<{ streams: string[]; clients: string[] }>(
    `select (select coalesce(array_agg(name), '{}') from ${SCHEMA}.streams) as streams,
       (select coalesce(array_agg(id), '{}') from ${SCHEMA}.clients) as clients`,
  )
  return { streams: rows[0]?.streams ?? [], clientIds: rows[0]?.clients ?? [] }
}

/** @throws {Failure} In a server. */
export function locationsOf({ locations }: BackupPorts): StoreLocations {
  if (locations === null) throw new Failure('a running server does not do this: use the command line')
  return locations
}

export const BACKUP_CHAPTERS: readonly Chapter<BackupPorts>[] = [
  { words: 'backup', about: 'Writes a backup.', operations: [backup] },
  { words: 'restore', about: 'Restores a backup.', operations: [restore] },
]
