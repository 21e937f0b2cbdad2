import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { Prepared } from '../../../../src/ledger/journal/journal-store.ts'
import { prepareForAdoption } from '../../../../src/ledger/journal/sqlite/thread/prepare-for-adoption.ts'
import { namesIn, testFolder } from '../../support/folders.ts'
import { testJournal } from '../../support/journals.ts'

const CALLS = 400

/** A dead producer's folder: `CALLS` records, two calls open, everything in the database file. */
async function deadJournal(): Promise<{ folder: string; path: string }> {
  const folder = testFolder()
  const { journal, path, open, close } = testJournal({ folder })
  await open(9_001)
  await open(9_002)
  for (let number = 1; number <= CALLS; number++) await close(number)
  await journal.stop()
  return { folder, path }
}

function sequences(path: string): number[] {
  const database = new DatabaseSync(path)
  const rows = database.prepare('select sequence from calls order by sequence').all()
  database.close()
  return rows.map(({ sequence }) => Number(sequence))
}

function meta(path: string, name: string): unknown {
  const database = new DatabaseSync(path)
  const value = database.prepare('select value from meta where name = ?').get(name)?.value
  database.close()
  return value
}

function garble(path: string, offset: number, bytes: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, offset)
  closeSync(file)
}

/** The pages of a table that hold rows, in the order of the keys. */
function leafPages(path: string, table: string): number[] {
  const database = new DatabaseSync(path)
  const rows = database
    .prepare("select pageno from dbstat where name = ? and pagetype = 'leaf' order by path")
    .all(table)
  database.close()
  return rows.map(({ pageno }) => Number(pageno))
}

describe('a dead producer’s journal', () => {
  test('a dead producer’s journal that is sound is ready, its WAL in the database', async () => {
    const { folder, path } = await deadJournal()
    expect(prepareForAdoption(folder)).toBe<Prepared>('ready')
    expect(sequences(path)).toHaveLength(CALLS)
  })

  test('a dead producer’s journal is ready after a crash too, with all that was committed', async () => {
    const folder = testFolder()
    const crashed = testFolder()
    const { open, close, path } = testJournal({ folder })
    await open(1)
    await close(1)
    await open(2)
    for (const name of ['journal.db', 'journal.db-wal']) copyFileSync(join(folder, name), join(crashed, name))
    expect(prepareForAdoption(crashed)).toBe<Prepared>('ready')
    expect(sequences(join(crashed, 'journal.db'))).toEqual([1])
    expect(existsSync(path)).toBe(true)
  })

  test('a dead producer’s journal with a torn WAL is what was committed before the tear', async () => {
    const folder = testFolder()
    const crashed = testFolder()
    const { close } = testJournal({ folder })
    for (let number = 1; number <= 50; number++) await close(number)
    for (const name of ['journal.db', 'journal.db-wal']) copyFileSync(join(folder, name), join(crashed, name))
    const wal = join(crashed, 'journal.db-wal')
    const size = statSync(wal).size
    truncateSync(wal, size - 5_000)
    expect(prepareForAdoption(crashed)).toBe<Prepared>('ready')
    const kept = sequences(join(crashed, 'journal.db'))
    expect(kept.length).toBeGreaterThan(40)
    expect(kept.length).toBeLessThan(50)
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => index + 1))
  })

  test('a dead producer’s journal that a process still has open is left alone, though its lock file is gone', () => {
    const folder = testFolder()
    testJournal({ folder })
    expect(prepareForAdoption(folder)).toBe<Prepared>('in_use')
  })

  test('a dead producer’s journal written by a newer release is left alone', async () => {
    const { folder, path } = await deadJournal()
    const database = new DatabaseSync(path)
    database.exec('pragma user_version = 99')
    database.close()
    expect(prepareForAdoption(folder)).toBe<Prepared>('newer')
    expect(sequences(path)).toHaveLength(CALLS)
  })

  test('a dead producer’s journal that was never created is absent', () => {
    const folder = testFolder()
    expect(prepareForAdoption(folder)).toBe<Prepared>('absent')
    writeFileSync(join(folder, 'journal.db'), '')
    expect(prepareForAdoption(folder)).toBe<Prepared>('absent')
  })

  test('a dead producer’s journal that is not a database is unreadable', async () => {
    const { folder, path } = await deadJournal()
    garble(path, 0, 4_096)
    expect(prepareForAdoption(folder)).toBe<Prepared>('unreadable')
  })

  test('a dead producer’s journal whose database is gone while its WAL is there is unreadable', () => {
    const folder = testFolder()
    writeFileSync(join(folder, 'journal.db-wal'), 'x')
    expect(prepareForAdoption(folder)).toBe<Prepared>('unreadable')
  })
})

describe('a journal with bad pages', () => {
  test('a journal with bad pages keeps every record outside of them, and the damaged file stays beside it', async () => {
    const { folder, path } = await deadJournal()
    const pages = leafPages(path, 'calls')
    const bad = pages[Math.floor(pages.length / 2)] ?? 0
    garble(path, (bad - 1) * 4_096, 4_096)
    expect(prepareForAdoption(folder)).toBe<Prepared>('damaged')
    const kept = sequences(path)
    expect(kept.length).toBeGreaterThan(CALLS - 20)
    expect(kept.length).toBeLessThan(CALLS)
    expect(kept.at(0)).toBe(1)
    expect(kept.at(-1)).toBe(CALLS)
    expect(meta(path, 'tail_lost')).toBe(0)
    expect(namesIn(folder)).toContain('journal.db.corrupt')
  })

  test('a journal whose last page is bad says so: which sequences were used is then unknown', async () => {
    const { folder, path } = await deadJournal()
    const bad = leafPages(path, 'calls').at(-1) ?? 0
    garble(path, (bad - 1) * 4_096, 4_096)
    expect(prepareForAdoption(folder)).toBe<Prepared>('damaged')
    expect(meta(path, 'tail_lost')).toBe(1)
    expect(sequences(path).length).toBeGreaterThan(CALLS - 20)
  })

  test('a journal with bad pages is still known as damaged after it was salvaged, and a salvage that died between two renames is finished', async () => {
    const { folder, path } = await deadJournal()
    const pages = leafPages(path, 'calls')
    garble(path, ((pages[3] ?? 0) - 1) * 4_096, 4_096)
    expect(prepareForAdoption(folder)).toBe<Prepared>('damaged')
    expect(prepareForAdoption(folder)).toBe<Prepared>('damaged')
    const salvaged = sequences(path)
    copyFileSync(path, join(folder, 'salvaged.db'))
    garble(path, 0, 4_096)
    expect(prepareForAdoption(folder)).toBe<Prepared>('damaged')
    expect(sequences(path)).toEqual(salvaged)
  })

  test('a journal that was cut short keeps what is before the cut', async () => {
    const { folder, path } = await deadJournal()
    truncateSync(path, Math.floor(statSync(path).size / 2 / 4_096) * 4_096)
    expect(prepareForAdoption(folder)).toBe<Prepared>('damaged')
    const kept = sequences(path)
    expect(kept.length).toBeGreaterThan(CALLS / 4)
    expect(kept.at(0)).toBe(1)
  })
})
