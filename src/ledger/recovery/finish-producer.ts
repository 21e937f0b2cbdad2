import { readJournalDatabaseId } from './journal-database-id.ts'
import { deleteProducerFolder, type ProducerFolder, quarantineProducerFolder } from './producer-folder.ts'
import { writeRetiredProducer } from './retired-producers.ts'

/** The last state of a producer whose folder is no longer needed. */
export interface FinishedProducer {
  readonly folder: ProducerFolder
  /** Postgres has every record up to here; 0: it never had one. */
  readonly last: number
  readonly stream: string
}

/**
 * Removes a producer's folder from what may be adopted: deletes it, or with `keep` quarantines it under another name,
 * which is returned. The producer's final offset is on disk before the folder goes. The caller holds the folder's lock,
 * before and after.
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
