import type { Command } from 'commander'
import { SILENT_LOG } from '../../lib/logger.ts'
import { migrate } from '../../store/connection/migrate.ts'
import type { Cli } from '../cli.ts'

/** `migrate`: applies the migrations of this release. */
export function addMigrateCommand(program: Command, cli: Cli): void {
  program
    .command('migrate')
    .description('bring the database to what this release needs')
    .action(async () => {
      const applied = await cli.withServers(({ locations }) => migrate(locations.databaseUrl, SILENT_LOG))
      const text = applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`
      cli.print({ applied }, text)
    })
}
