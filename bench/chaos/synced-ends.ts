import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPosition } from '../../src/ledger/journal/segments/format/frames.ts'

const PREFIX = 'synced-'

/** Writes how far a producer's log is synced where a process that is killed leaves the entry whole. */
export function recordSyncedEnd(folder: string, producer: string, end: LogPosition): void {
  const file = fileOf(folder, producer)
  writeFileSync(`${file}.new`, JSON.stringify(end))
  renameSync(`${file}.new`, file)
}

/**
 * Call it before syncs are recorded: a record of another process is older than what that process synced
 * without one.
 */
export function dropSyncedEnds(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith(PREFIX)) rmSync(join(folder, name))
}

/** How far the producer's log is synced; `null`: nothing was synced since recording began. */
export function knownEnd(recordFolder: string, producer: string): LogPosition | null {
  const file = fileOf(recordFolder, producer)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

function fileOf(folder: string, producer: string): string {
  return join(folder, `${PREFIX}${producer}.json`)
}
