import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissingFile } from '../../lib/missing-file.ts'
import { readJournalDirectory } from './producer-folder.ts'

/** A producer's journal on this machine, without opening any file: that could release its owner's locks. */
export interface JournalSize {
  readonly producer: string
  readonly bytes: number
}

/** The journals in a directory; none where the directory is missing. */
export async function readJournalSizes(
  journalDir: string,
): Promise<{ readonly journals: readonly JournalSize[]; readonly corrupt: number }> {
  try {
    const { producers, corrupt } = readJournalDirectory(journalDir)
    const journals = await Promise.all(
      producers.map(async (producer) => ({ producer, bytes: await sizeOf(join(journalDir, producer)) })),
    )
    return { journals, corrupt }
  } catch (error) {
    if (isMissingFile(error)) return { journals: [], corrupt: 0 }
    throw error
  }
}

/** Files appear and disappear meanwhile: a missing one counts as empty. */
async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder).catch((error: unknown) => {
    if (isMissingFile(error)) return []
    throw error
  })
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(folder, file)).then(
        ({ size }) => size,
        (error: unknown) => {
          if (isMissingFile(error)) return 0
          throw error
        },
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
