import { z } from 'zod'
import { parsedJson } from '../../domain/json.ts'
import { BackupError } from './backup-error.ts'

/** The first line of an archive. Names and bounds go into SQL, so their forms are checked. */

const FORMAT = 'tallygate backup'
const VERSION = 1

/** As Postgres writes it where it needs no quotes, or has quoted it. */
const name = z.string().regex(/^([a-z_][a-z0-9_]{0,62}|"[a-z_][a-z0-9_]{0,62}")$/)
const plainName = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/)

const manifestShape = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  /** The release of tallygate that made it. */
  release: z.string(),
  /** When its snapshot was taken, ISO 8601. */
  made_at: z.string(),
  /** The identity of the database. */
  database: z.string(),
  postgres: z.string(),
  /** The active keys that were hashed with each pepper, by the pepper's id. */
  keys_by_pepper: z.record(z.string(), z.int()),
  /** The migrations that had been applied, in order. */
  migrations: z.array(z.string()),
  /** In an order in which no row comes before what it refers to. */
  tables: z.array(z.object({ name: plainName, columns: z.array(name) })),
  partitions: z.array(
    z.object({
      name: plainName,
      parent: plainName,
      bound: z.string().regex(/^(DEFAULT|FOR VALUES FROM \('[0-9-]{1,20}'\) TO \('[0-9-]{1,20}'\))$/),
      /** Storage parameters: `autovacuum_vacuum_scale_factor=0.05`. */
      options: z.array(z.string().regex(/^[a-z_.]+=[a-z0-9.]+$/)),
      has_full_identity: z.boolean(),
    }),
  ),
  /** The last numbers of identity columns. */
  sequences: z.array(z.object({ table: plainName, column: plainName, last: z.string().regex(/^\d{1,19}$/) })),
})

export type Manifest = z.output<typeof manifestShape>

const lineShape = z.union([
  z.strictObject({ table: plainName, bytes: z.int().nonnegative() }),
  z.strictObject({ table: plainName, rows: z.int().nonnegative(), sha256: z.string() }),
])
const endShape = z.strictObject({
  end: z.strictObject({ tables: z.int(), rows: z.int() }),
  sha256: z.string(),
})

/** The beginning of every manifest of this format. */
export const MANIFEST_START = { format: FORMAT, version: VERSION } as const

/** @throws {BackupError} When it is another text, or a manifest of a format that this release does not read. */
export function parseManifest(text: string): Manifest {
  const json = parsedJson(text)
  const start = z.object({ format: z.literal(FORMAT), version: z.int() }).safeParse(json)
  if (!start.success) throw new BackupError('the file is not a backup of tallygate; nothing was changed')
  if (start.data.version !== VERSION)
    throw new BackupError(
      `the backup has format ${start.data.version}, and this release reads ${VERSION}: use the release that made it; nothing was changed`,
    )
  const parsed = manifestShape.safeParse(json)
  if (!parsed.success)
    throw new BackupError('the backup is damaged: its first line cannot be read; nothing was changed')
  return parsed.data
}

/** `null`: another line. */
export function parseLine(text: string): z.output<typeof lineShape> | null {
  return lineShape.safeParse(parsedJson(text)).data ?? null
}

/** `null`: another line. */
export function parseEnd(text: string): z.output<typeof endShape> | null {
  return endShape.safeParse(parsedJson(text)).data ?? null
}
