import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { makeCalls, testSite } from '../support/ledgers.ts'

const PRODUCER = '0123456789abcdef0123456789abcdef'

/** A producer's folder as release 0.1.0 leaves it: with records in `journal.db`, and in its WAL where it was killed. */
function writeOlderJournal(journalDir: string, isKilled: boolean): string {
  const folder = join(journalDir, PRODUCER)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'journal.db')
  const database = new DatabaseSync(path)
  database.exec(`
    pragma journal_mode = wal;
    pragma wal_autocheckpoint = 0;
    create table calls(sequence integer primary key, bytes_total integer not null, body text not null);
    pragma user_version = 1;
    insert into calls values (1, 2, '{}')`)
  if (!isKilled) database.close()
  return folder
}

const bytesIn = (folder: string) =>
  new Map(
    readdirSync(folder)
      .filter((name) => name.startsWith('journal.db') && !name.endsWith('-shm'))
      .map((name) => [name, readFileSync(join(folder, name)).toString('hex')]),
  )

test.each([
  ['that ended', false],
  ['that was killed', true],
])('a gateway does not start beside the journal of a 0.1.0 %s, says in one sentence what to do, and changes nothing', async (_, isKilled) => {
  const site = testSite()
  const folder = writeOlderJournal(site.journalDir, isKilled)
  const before = bytesIn(folder)
  await expect(site.ledger()).rejects.toThrow(
    `${folder} is a journal of release 0.1.0, which this release cannot read: drain it with 0.1.0 first`,
  )
  expect(readdirSync(site.journalDir)).toEqual([PRODUCER])
  expect(bytesIn(folder)).toEqual(before)
})

test('a journal of 0.1.0 that comes while a gateway runs is left as it is, and the log says so', async () => {
  const site = testSite()
  site.keepRollingUp()
  const ledger = await site.ledger()
  const folder = writeOlderJournal(site.journalDir, false)
  const before = bytesIn(folder)
  await expect
    .poll(() => site.log.lines)
    .toContainEqual(
      expect.objectContaining({
        event: 'adoption.postponed',
        fields: expect.objectContaining({
          producer: PRODUCER,
          err: new Error('it was written by release 0.1.0, which is to drain it'),
        }),
      }),
    )
  await makeCalls(ledger, 1, 3)
  await ledger.stop(1_000)
  expect(existsSync(folder)).toBe(true)
  expect(bytesIn(folder)).toEqual(before)
})
