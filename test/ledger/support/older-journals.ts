import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { callId } from './calls.ts'

// The journals of release 0.1.0, by hand: names, tables and texts stay readable whatever becomes of the code that
// writes them. An upgrade must lose nothing.

export function olderOpenText(number: number): string {
  return (
    `{"callId":"${callId(number)}","arrivedAtMs":1760000000000,"clientId":"client_1","keyId":"key_1"` +
    ',"upstream":"openai","provider":"openai","method":"POST","path":"/v1/chat/completions"' +
    ',"requestedModel":"gpt-4o-mini"}'
  )
}

export function olderRecordText(number: number): string {
  const rest =
    ',"reportedModel":"gpt-4o-mini-2024-07-18","model":"gpt-4o-mini-2024-07-18","status":200,"outcome":"complete"' +
    ',"usageSource":"reported","usage":{"inputTokens":11,"outputTokens":7},"costPico":"5850000"' +
    ',"priceId":"openai/gpt-4o-mini#std","latencyUs":1234567}'
  return olderOpenText(number).replace(/\}$/, rest)
}

export interface OlderJournal {
  readonly stream: string
  readonly records: number
  readonly open: readonly { readonly slot: number; readonly call: string; readonly seen: string | null }[]
}

/** Creates `journal.db` in a folder, with records 1 to `records`; all of it is in the WAL until it is closed. */
export function writeOlderJournal(folder: string, { stream, records, open }: OlderJournal): DatabaseSync {
  const database = new DatabaseSync(join(folder, 'journal.db'))
  database.exec(`
    pragma journal_mode = wal;
    pragma wal_autocheckpoint = 0;
    pragma synchronous = off;
    create table open(slot integer primary key, call text not null, seen text);
    create table calls(sequence integer primary key, bytes_total integer not null, body text not null);
    create table meta(name text primary key, value not null) without rowid;
    pragma user_version = 1;`)
  const addMeta = database.prepare('insert into meta(name, value) values (?, ?)')
  addMeta.run('pruned_to', 0)
  addMeta.run('stream', stream)
  const addCall = database.prepare('insert into calls(sequence, bytes_total, body) values (?, ?, ?)')
  let bytesTotal = 0
  for (let sequence = 1; sequence <= records; sequence++) {
    const body = olderRecordText(sequence)
    bytesTotal += body.length
    addCall.run(sequence, bytesTotal, body)
  }
  const addOpen = database.prepare('insert into open(slot, call, seen) values (?, ?, ?)')
  for (const { slot, call, seen } of open) addOpen.run(slot, call, seen)
  return database
}

/** The other files that release 0.1.0 has in a producer's folder. */
export function writeOlderFiles(folder: string, databaseId: string): void {
  writeFileSync(join(folder, 'alive.db'), '')
  writeFileSync(join(folder, 'database'), `${databaseId}\n`)
  writeFileSync(join(folder, 'reserve'), 'x')
}
