import { open, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Writes a small file of 0600 in one step: a reader finds all of it or what was there before. It survives power loss
 * when this resolves. Two callers must not write the same file at once.
 */
export async function writeDurably(path: string, text: string): Promise<void> {
  const folder = dirname(path)
  const unfinished = join(folder, `.new-${basename(path)}`)
  const file = await open(unfinished, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
  await syncFolder(folder)
}

/** Makes the names in a folder survive power loss. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
