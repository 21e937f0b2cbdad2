import type { Command } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { SILENT_LOG } from '../../lib/logger.ts'
import { migrate } from '../../store/connection/migrate.ts'
import { checkNeeds, MigrationRefused } from '../../store/connection/migration-needs.ts'
import type { Cli } from '../cli.ts'

/** `migrate`: applies the migrations of this release, where what they need is there. */
export function addMigrateCommand(program: Command, cli: Cli): void {
  program
    .command('migrate')
    .description('bring the database to what this release needs')
    .option('--has-room', 'The disk of PostgreSQL has the room that a migration asked for.')
    .action(async ({ hasRoom = false }: { hasRoom?: boolean }) => {
      const applied = await cli.withServers(async ({ locations, pool }) => {
        await checkNeeds(pool, { hasRoom }).catch((error: unknown) => {
          throw error instanceof MigrationRefused ? new Failure(error.message) : error
        })
        return await migrate(locations.databaseUrl, SILENT_LOG)
      })
      const text = applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`
      cli.print({ applied }, text)
    })
}
