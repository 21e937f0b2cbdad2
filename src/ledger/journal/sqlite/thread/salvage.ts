import {
  closeSync,
  existsSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { DAMAGED_FILE, JOURNAL_FILE, SALVAGED_FILE } from '../journal-files.ts'
import { createTables } from '../journal-tables.ts'

const SALVAGE_PART_FILE = `${SALVAGED_FILE}.part`
const HEADER_BYTES = 100
const PAGE_BYTES = 4_096

type Row = Record<string, SQLOutputValue>

/**
 * Copies every row that can still be read from a damaged journal into a sound one that takes its place; the damaged
 * one stays beside it. False: not even the stream's name could be read, and nothing was changed.
 *
 * When the end of `calls` is unreadable, it is not known which numbers were used: `meta.tail_lost` is then 1, and no
 * new record may be numbered.
 */
export function salvage(folder: string): boolean {
  const target = join(folder, SALVAGE_PART_FILE)
  for (const suffix of ['', '-wal', '-shm']) rmSync(target + suffix, { force: true })
  closeSync(openSync(target, 'wx', 0o600))
  padToHeader(join(folder, JOURNAL_FILE))
  const from = new DatabaseSync(join(folder, JOURNAL_FILE), { timeout: 0 })
  const to = new DatabaseSync(target)
  try {
    const stream = readStream(from)
    if (stream === null) return false
    createTables(to, stream)
    to.exec('begin')
    const calls = copy(from, to, 'calls', 'sequence', ['sequence', 'bytes_total', 'body'])
    copy(from, to, 'open', 'slot', ['slot', 'call', 'seen'])
    const setMeta = to.prepare('insert or replace into meta(name, value) values (?, ?)')
    setMeta.run('pruned_to', readMeta(from, 'pruned_to') ?? 0)
    setMeta.run('tail_lost', calls.endReadable ? 0 : 1)
    to.exec('commit')
  } finally {
    from.close()
    to.close()
  }
  renameSync(target, join(folder, SALVAGED_FILE))
  finishSalvage(folder)
  return true
}

/** Puts a complete salvaged journal in its place, even where an earlier try died between the renames. */
export function finishSalvage(folder: string): void {
  const salvaged = join(folder, SALVAGED_FILE)
  if (!existsSync(salvaged)) return
  const journal = join(folder, JOURNAL_FILE)
  if (existsSync(journal)) renameSync(journal, join(folder, DAMAGED_FILE))
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(journal + suffix)) renameSync(journal + suffix, join(folder, DAMAGED_FILE + suffix))
  }
  renameSync(salvaged, journal)
}

/** Fills a file that was cut, up to the length that its header states: SQLite reads nothing of a shorter one. */
function padToHeader(path: string): void {
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  try {
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return
  } finally {
    closeSync(file)
  }
  // https://www.sqlite.org/fileformat2.html#the_database_header
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0' || header.readUInt16BE(16) !== PAGE_BYTES)
    return
  const bytes = header.readUInt32BE(28) * PAGE_BYTES
  if (statSync(path).size < bytes) truncateSync(path, bytes)
}

function readStream(from: DatabaseSync): string | null {
  const stream = readMeta(from, 'stream')
  return typeof stream === 'string' ? stream : null
}

function readMeta(from: DatabaseSync, name: string): SQLOutputValue | null {
  try {
    return from.prepare('select value from meta where name = ?').get(name)?.value ?? null
  } catch {
    return null
  }
}

/** Reads forward until a page fails, then backward from the end until one does. */
function copy(from: DatabaseSync, to: DatabaseSync, table: string, key: string, columns: readonly string[]) {
  const insert = to.prepare(
    `insert or ignore into ${table}(${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  )
  const put = (row: Row): void => {
    try {
      insert.run(...columns.map((column) => row[column] ?? null))
    } catch {
      // A row that breaks the table's rules is damaged, too.
    }
  }
  let endReadable = false
  try {
    for (const row of from.prepare(`select * from ${table} order by ${key}`).iterate()) put(row)
    return { endReadable: true }
  } catch {
    // The damage begins here; reading backward finds the rows behind it.
  }
  try {
    for (const row of from.prepare(`select * from ${table} order by ${key} desc`).iterate()) {
      endReadable = true
      put(row)
    }
  } catch {
    // The damage ends here.
  }
  return { endReadable }
}
