import { readJournalDatabaseId } from './journal-database-id.ts'
import { deleteProducerFolder, type ProducerFolder, quarantineProducerFolder } from './producer-folder.ts'
import { writeRetiredProducer } from './retired-producers.ts'

/** What is known of a producer whose folder is to go. */
export interface FinishedProducer {
  readonly folder: ProducerFolder
  /** Postgres has every record up to here; 0: it never had one. */
  readonly last: number
  readonly stream: string
}

/**
 * Takes a producer's folder out of the way of adopters, for good: deleted, or with `keep` under another name, which
 * is returned. A tombstone stays, on disk before the folder goes. The folder's lock is ours, and stays so.
 */
export async function finishProducer(
  journalDir: string,
  { folder, last, stream }: FinishedProducer,
  keep: boolean,
): Promise<string | null> {
  const { producer, path } = folder
  if (last > 0) {
    const database = await readJournalDatabaseId(path)
    await writeRetiredProducer(journalDir, { producer, last, stream, database, finishedAtMs: Date.now() })
  }
  if (keep) return quarantineProducerFolder(journalDir, producer)
  await deleteProducerFolder(journalDir, producer)
  return null
}
