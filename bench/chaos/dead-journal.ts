import { copyFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDamage } from '../../src/ledger/journal/sqlite/sqlite-result.ts'
import { WAL_FILE } from './wal-file.ts'

/** What a journal holds, read from a copy. */
export interface JournalContent {
  /** The highest sequence that is there, or was. */
  readonly last: number
  readonly records: readonly {
    readonly sequence: number
    readonly callId: string
    /** By the gateway's clock. */
    readonly endedAtMs: number
  }[]
  readonly open: readonly string[]
}

const DATABASE_FILE = 'journal.db'

/** Producers whose journals the process has open: its own, and those it adopted. Reads /proc. */
export function producersOpenIn(pid: number, journalDir: string): string[] {
  const producers = new Set<string>()
  for (const name of descriptorsOf(pid)) {
    const path = linkOf(`/proc/${pid}/fd/${name}`)
    const [producer, file] = path.startsWith(journalDir + sep)
      ? path.slice(journalDir.length + 1).split(sep)
      : []
    if (producer !== undefined && file === WAL_FILE) producers.add(producer)
  }
  return [...producers]
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch {
    return [] // it has ended in between
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed in between
  }
}

/** Reads a dead producer's journal as it would be with this WAL. The files themselves are only copied. */
export function readJournal(folder: string, wal: Buffer, writeWal: (path: string) => void): JournalContent {
  const copy = mkdtempSync(join(tmpdir(), 'tallygate-chaos-journal-'))
  try {
    copyFileSync(join(folder, DATABASE_FILE), join(copy, DATABASE_FILE))
    if (wal.length > 0) writeWal(join(copy, WAL_FILE))
    const database = new DatabaseSync(join(copy, DATABASE_FILE))
    try {
      // Cut before its tables were written.
      if (database.prepare("select 1 from sqlite_schema where name = 'calls'").get() === undefined)
        return { last: 0, records: [], open: [] }
      const records = database
        .prepare('select sequence, body from calls order by sequence')
        .all()
        .map(({ sequence, body }) => {
          const { callId, arrivedAtMs, latencyUs } = JSON.parse(String(body))
          return { sequence: Number(sequence), callId, endedAtMs: arrivedAtMs + (latencyUs ?? 0) / 1_000 }
        })
      const prunedTo = Number(
        database.prepare("select value from meta where name = 'pruned_to'").get()?.value ?? 0,
      )
      const open = database
        .prepare('select call from open')
        .all()
        .map(({ call }) => JSON.parse(String(call)).callId)
      return { last: Math.max(prunedTo, records.at(-1)?.sequence ?? 0), records, open }
    } finally {
      database.close()
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** As {@link readJournal}; `null` where a page does not fit the others: a checkpoint was under way. */
export function tryReadJournal(
  folder: string,
  wal: Buffer,
  writeWal: (path: string) => void,
): JournalContent | null {
  try {
    return readJournal(folder, wal, writeWal)
  } catch (error) {
    if (isDamage(error)) return null
    throw error
  }
}
