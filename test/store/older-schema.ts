import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runner } from 'node-pg-migrate'
import type pg from 'pg'

const MIGRATIONS = 'src/store/migrations'

/** Makes the schema as a release left it whose last migration has this number of four digits. */
export async function migrateTo(client: pg.Client, number: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'migrations-'))
  for (const file of await readdir(MIGRATIONS))
    if (file.slice(0, 4) <= number) await copyFile(join(MIGRATIONS, file), join(dir, file))
  await runner({
    dbClient: client,
    dir,
    direction: 'up',
    migrationsTable: 'migrations',
    schema: 'tallygate',
    createSchema: true,
    singleTransaction: true,
    log: () => {},
  })
  await rm(dir, { recursive: true })
}
