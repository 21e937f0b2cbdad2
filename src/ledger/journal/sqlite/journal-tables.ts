import type { DatabaseSync } from 'node:sqlite'

/** The tables' version, in `user_version`. A journal of a higher one is left to a newer release. */
export const JOURNAL_VERSION = 1

/**
 * `open.slot` is a small number that is used again, so that the rows of short calls stay on the same few pages.
 * `calls.bytes_total` is the size of all bodies up to and with this one: any range's size is a difference.
 */
const TABLES = `
  create table open(slot integer primary key, call text not null, seen text);
  create table calls(sequence integer primary key, bytes_total integer not null, body text not null);
  create table meta(name text primary key, value not null) without rowid;
  pragma user_version = ${JOURNAL_VERSION};`

/** Creates the tables of an empty journal. From here on the file remembers that it has a WAL. */
export function createTables(database: DatabaseSync, stream: string): void {
  database.exec(`pragma journal_mode = wal; begin; ${TABLES}`)
  const set = database.prepare('insert into meta(name, value) values (?, ?)')
  set.run('pruned_to', 0)
  set.run('stream', stream)
  database.exec('commit')
}
