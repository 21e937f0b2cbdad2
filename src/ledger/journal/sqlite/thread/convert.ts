import { closeSync, fsyncSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { SEGMENTS_DATABASE_VERSION } from '../../segments/journal-lock.ts'
import { type ConversionOptions, ConvertedLog } from './converted-log.ts'

/**
 * Writes all that a journal of release 0.1.0 has to segments, and syncs them. Then one transaction, which is synced,
 * drops its tables and raises its version: from that moment on the segments are the journal. Before it they count for
 * nothing, and the next call begins with new ones.
 *
 * @throws The errors of the disk, and those of `node:sqlite`.
 */
export function convertToSegments(database: DatabaseSync, folder: string, options: ConversionOptions): void {
  for (const name of readdirSync(folder))
    if (/\.log(\.part)?$/.test(name)) options.disk.remove(join(folder, name))
  const log = new ConvertedLog(folder, options, {
    stream: text(readMeta(database, 'stream')),
    prunedTo: Number(readMeta(database, 'pruned_to') ?? 0),
    isTailLost: readMeta(database, 'tail_lost') === 1,
  })
  try {
    const records = database.prepare('select sequence, bytes_total, body from calls order by sequence')
    for (const row of records.iterate())
      log.addRecord(Number(row.sequence), Number(row.bytes_total), text(row.body))
    const calls = database.prepare('select call, seen from open order by slot')
    for (const row of calls.iterate())
      log.addOpenCall(text(row.call), row.seen === null ? null : text(row.seen))
    log.finish()
  } finally {
    log.close()
  }
  syncNames(folder)
  database.exec(`
    pragma synchronous = full;
    begin immediate;
    drop table calls; drop table open; drop table meta;
    pragma user_version = ${SEGMENTS_DATABASE_VERSION};
    commit;`)
}

function readMeta(database: DatabaseSync, name: string): SQLOutputValue | undefined {
  return database.prepare('select value from meta where name = ?').get(name)?.value
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError(`the journal has ${typeof value} where text belongs`)
  return value
}

function syncNames(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
