import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JOURNAL_FILE } from '../../src/ledger/producer-folder.ts'

/** How far into a WAL its last sync went, in bytes from its beginning. */
export interface SyncedEnd {
  readonly end: number
  /** As of {@link checkpointedMs}, when that sync began. */
  readonly checkpointedMs: number
}

/** When the journal in `folder` was last checkpointed: SQLite syncs the WAL before, and a while later begins it anew. */
export function checkpointedMs(folder: string): number {
  return statSync(join(folder, JOURNAL_FILE)).mtimeMs
}

/** Notes it where a process that is killed leaves the note whole. */
export function noteSyncedEnd(folder: string, producer: string, synced: SyncedEnd): void {
  const file = fileOf(folder, producer)
  writeFileSync(`${file}.new`, JSON.stringify(synced))
  renameSync(`${file}.new`, file)
}

/** `null`: none was noted. */
export function readSyncedEnd(folder: string, producer: string): SyncedEnd | null {
  const file = fileOf(folder, producer)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

function fileOf(folder: string, producer: string): string {
  return join(folder, `synced-${producer}.json`)
}
