import { SILENT_LOG } from '../../lib/logger.ts'
import { shownCount, shownDocument, shownText } from '../../operations/answers.ts'
import { Failure } from '../../operations/failure.ts'
import { textField } from '../../operations/fields.ts'
import { operation } from '../../operations/operation.ts'
import { BackupError } from '../../store/backup/backup-error.ts'
import { withRedis } from '../../store/connection/redis.ts'
import { readDatabaseId } from '../../store/ledger/ledger-database.ts'
import { releaseJournals, releaseRedis } from '../recovery/release-stores.ts'
import { type BackupPorts, locationsOf, REDIS_MS, selectRedisNames } from './backup.ts'

/** For `restore`, which does the same for the database that it replaces, and for a database that was made again. */
export const claimStores = operation({
  name: 'ledger.claim',
  summary: 'Takes over what Redis and the journals here have of a database that is gone for good.',
  description:
    'Its records on the streams are deleted, and those that journals still have are counted in this database. Run it on each host that has such journals.',
  role: 'admin',
  http: { none: 'It works on the journals of the machine where it is run.' },
  input: {
    database: textField('The identity of the database that is gone, as doctor names it.', 'database'),
  },
  answer: shownDocument('ClaimedStores', {
    database: shownText('The identity of the database that has them now.'),
    removed_entries: shownCount('Records of the other database that were taken from the streams.'),
    released_journals: shownCount('Journals here that are counted in this database now.'),
  }),
  gives: 'What was taken over.',
  async run(ports: BackupPorts, { database }) {
    const { redisUrl, redisPrefix, journalDir } = locationsOf(ports)
    const own = await readDatabaseId(ports.pool)
    if (own === null) throw new Failure('the database has no identity: run tallygate migrate first')
    if (own === database) throw new Failure('that is the database of DATABASE_URL, which is not gone')
    if (redisUrl === null) throw new Failure('REDIS_URL is not set: it must be the one of the gateways')
    const identity = { restored: own, replaced: database, takesAll: false }
    const names = await selectRedisNames(ports.pool)
    const { removedEntries } = await withRedis(redisUrl, REDIS_MS, SILENT_LOG, (redis) =>
      releaseRedis(redis, { redisPrefix, ...names }, identity),
    ).catch((error: unknown) => {
      throw error instanceof BackupError
        ? new Failure('the keys in Redis belong to a third database: name that one, as doctor does')
        : error
    })
    return {
      database: own,
      removed_entries: removedEntries,
      released_journals: await releaseJournals(journalDir, identity),
    }
  },
  command: {
    words: 'ledger claim',
    options: { database: '<database>' },
    print: ({ removed_entries, released_journals }) =>
      `Took over: ${removed_entries} records were deleted from the streams, and ${released_journals} journals are counted here within five minutes.`,
  },
})
