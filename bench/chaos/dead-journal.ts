import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDamage } from '../../src/ledger/sqlite-result.ts'

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

export const WAL_FILE = 'journal.db-wal'
const DATABASE_FILE = 'journal.db'

/** Producers whose journals the process has open: its own, and those it adopted. Reads /proc. */
export function producersOpenIn(pid: number, journalDir: string): string[] {
  const producers = new Set<string>()
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const path = linkOf(`/proc/${pid}/fd/${name}`)
    const [producer, file] = path.startsWith(journalDir + sep)
      ? path.slice(journalDir.length + 1).split(sep)
      : []
    if (producer !== undefined && file === WAL_FILE) producers.add(producer)
  }
  return [...producers]
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

export function readWal(folder: string): Buffer {
  const file = join(folder, WAL_FILE)
  return existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
}

const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** Where the WAL's transactions end, in bytes from its beginning; the beginning itself first. SQLite's file format, section 4. */
export function commitEnds(wal: Buffer): number[] {
  const ends = [Math.min(WAL_HEADER_BYTES, wal.length)]
  if (wal.length < WAL_HEADER_BYTES) return ends
  const frameBytes = FRAME_HEADER_BYTES + wal.readUInt32BE(8)
  const salts = wal.subarray(16, 24)
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= wal.length; at += frameBytes) {
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break // left over from before the WAL was begun anew
    if (wal.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes)
  }
  return ends
}

/** The first of the ascending `ends` for which it holds; the last one, where it holds for none before. */
export function firstEndWith(ends: readonly number[], holds: (end: number) => boolean): number {
  let [from, to] = [0, ends.length - 1]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    if (holds(ends[middle] ?? 0)) to = middle
    else from = middle + 1
  }
  return ends[from] ?? 0
}
