import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JOURNAL_FILE } from '../../src/ledger/journal/sqlite/journal-files.ts'

const PREFIX = 'synced-'

/** How far into a WAL its last sync went, in bytes from its beginning. */
export interface SyncedEnd {
  readonly end: number
  /** As of {@link checkpointedMs}, when that sync began. */
  readonly checkpointedMs: number | null
}

/**
 * When the journal in `folder` was last checkpointed: SQLite syncs the WAL before, and a while later restarts it.
 * `null`: the folder is gone.
 */
export function checkpointedMs(folder: string): number | null {
  return statSync(join(folder, JOURNAL_FILE), { throwIfNoEntry: false })?.mtimeMs ?? null
}

/** Writes it where a process that is killed leaves the entry whole. */
export function recordSyncedEnd(folder: string, producer: string, synced: SyncedEnd): void {
  const file = fileOf(folder, producer)
  writeFileSync(`${file}.new`, JSON.stringify(synced))
  renameSync(`${file}.new`, file)
}

/**
 * Call it before syncs are recorded: a record of another process is older than what that process synced
 * without one.
 */
export function dropSyncedEnds(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith(PREFIX)) rmSync(join(folder, name))
}

/** How far the producer's WAL is synced; `null`: nothing was synced since recording began, or a checkpoint synced more. */
export function knownEnd(recordFolder: string, producer: string, folder: string): number | null {
  const file = fileOf(recordFolder, producer)
  if (!existsSync(file)) return null
  const synced: SyncedEnd = JSON.parse(readFileSync(file, 'utf8'))
  return synced.checkpointedMs === checkpointedMs(folder) ? synced.end : null
}

function fileOf(folder: string, producer: string): string {
  return join(folder, `${PREFIX}${producer}.json`)
}
