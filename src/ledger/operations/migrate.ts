import { SILENT_LOG } from '../../lib/logger.ts'
import { shownDocument, shownList, shownText } from '../../operations/answers.ts'
import { Failure } from '../../operations/failure.ts'
import { flagField } from '../../operations/fields.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import { checkNeeds, MigrationRefused } from '../../store/connection/migration-needs.ts'
import { type BackupPorts, locationsOf } from './backup.ts'

const migrateOperation = operation({
  name: 'migrate',
  summary: 'Brings the database to what this release needs.',
  role: 'admin',
  http: { none: 'Gateways and workers of the release start only on a database that has it.' },
  input: {
    has_room: flagField('The disk of PostgreSQL has the room that a migration asked for.').default(false),
  },
  answer: shownDocument('Migrated', { applied: shownList(shownText('A name.'), 'Migrations, in order.') }),
  gives: 'What was applied.',
  command: {
    words: 'migrate',
    print: ({ applied }) =>
      applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`,
  },
  async run(ports: BackupPorts, { has_room: hasRoom }) {
    await checkNeeds(ports.pool, { hasRoom }).catch((error: unknown) => {
      throw error instanceof MigrationRefused ? new Failure(error.message) : error
    })
    const { migrate } = await import('../../store/connection/migrate.ts') // no server needs it
    return { applied: await migrate(locationsOf(ports).databaseUrl, SILENT_LOG) }
  },
})

export const MIGRATE_CHAPTER: Chapter<BackupPorts> = {
  words: 'migrate',
  about: 'The schema of the database.',
  operations: [migrateOperation],
}
