import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { Prepared } from '../../../../src/ledger/journal/journal-store.ts'
import { prepareOlder } from '../../../../src/ledger/journal/sqlite/thread/prepare-older.ts'
import { salvage } from '../../../../src/ledger/journal/sqlite/thread/salvage.ts'
import { callId } from '../../support/calls.ts'
import { namesIn, testFolder } from '../../support/folders.ts'
import { STREAM } from '../../support/journals.ts'
import { olderOpenText, writeOlderJournal } from '../../support/older-journals.ts'
import { framesIn, garble, segmentPaths } from '../../support/segments.ts'

const CALLS = 400

/** A dead producer's folder as release 0.1.0 leaves it: `CALLS` records, two calls open, all in the database file. */
function deadJournal(): { folder: string; path: string } {
  const folder = testFolder()
  olderJournal(folder, CALLS).close()
  return { folder, path: join(folder, 'journal.db') }
}

function olderJournal(folder: string, records: number): DatabaseSync {
  const open = [9_001, 9_002].map((number) => ({ slot: number, call: olderOpenText(number), seen: null }))
  return writeOlderJournal(folder, { stream: STREAM, records, open })
}

/** The records that the folder's segments have. */
function sequences(folder: string): number[] {
  const frames = segmentPaths(folder).flatMap(framesIn)
  return frames.flatMap((frame) => (frame.kind === 'close' ? [frame.sequence] : []))
}

function openCalls(folder: string): string[] {
  const frames = segmentPaths(folder).flatMap(framesIn)
  return frames.flatMap((frame) => (frame.kind === 'carried' ? [JSON.parse(frame.text).callId] : []))
}

function isTailLost(folder: string): boolean {
  return segmentPaths(folder)
    .flatMap(framesIn)
    .some((frame) => frame.kind === 'begin' && frame.begin.isTailLost)
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

describe('an older journal', () => {
  test('an older journal that is sound becomes segments with all that it had', () => {
    const { folder } = deadJournal()
    expect(prepareOlder(folder)).toBe<Prepared>('ready')
    expect(sequences(folder)).toEqual(Array.from({ length: CALLS }, (_, index) => index + 1))
    expect(openCalls(folder)).toEqual([9_001, 9_002].map(callId))
    expect(statSync(join(folder, 'journal.db')).size).toBe(4_096)
    expect(prepareOlder(folder)).toBe<Prepared>('ready')
    expect(sequences(folder)).toHaveLength(CALLS)
  })

  test('an older journal is read after a crash too, with all that was committed', () => {
    const folder = testFolder()
    const crashed = testFolder()
    const database = olderJournal(folder, 1)
    for (const name of ['journal.db', 'journal.db-wal']) copyFileSync(join(folder, name), join(crashed, name))
    database.close()
    expect(prepareOlder(crashed)).toBe<Prepared>('ready')
    expect(sequences(crashed)).toEqual([1])
    expect(openCalls(crashed)).toHaveLength(2)
  })

  test('an older journal with a torn WAL is what was committed before the tear', () => {
    const folder = testFolder()
    const crashed = testFolder()
    const database = olderJournal(folder, 50)
    for (const name of ['journal.db', 'journal.db-wal']) copyFileSync(join(folder, name), join(crashed, name))
    database.close()
    const wal = join(crashed, 'journal.db-wal')
    truncateSync(wal, statSync(wal).size - 25_000)
    expect(prepareOlder(crashed)).toBe<Prepared>('ready')
    const kept = sequences(crashed)
    expect(kept.length).toBeGreaterThan(40)
    expect(kept.length).toBeLessThan(50)
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => index + 1))
  })

  test('an older journal that a process still has open is left alone, though its lock file is gone', () => {
    const folder = testFolder()
    const database = olderJournal(folder, 1)
    database.exec('pragma locking_mode = exclusive; begin immediate; commit')
    expect(prepareOlder(folder)).toBe<Prepared>('in_use')
    expect(segmentPaths(folder)).toEqual([])
    database.close()
  })

  test('a journal written by a newer release is left alone', () => {
    const { folder, path } = deadJournal()
    const database = new DatabaseSync(path)
    database.exec('pragma user_version = 99')
    database.close()
    expect(prepareOlder(folder)).toBe<Prepared>('newer')
    expect(segmentPaths(folder)).toEqual([])
  })

  test('an older journal that was never created is absent', () => {
    const folder = testFolder()
    expect(prepareOlder(folder)).toBe<Prepared>('absent')
    writeFileSync(join(folder, 'journal.db'), '')
    expect(prepareOlder(folder)).toBe<Prepared>('absent')
  })

  test('an older journal that is not a database is unreadable', () => {
    const { folder, path } = deadJournal()
    garble(path, 0, 4_096)
    expect(prepareOlder(folder)).toBe<Prepared>('unreadable')
  })

  test('an older journal whose database is gone while its WAL is there is unreadable', () => {
    const folder = testFolder()
    writeFileSync(join(folder, 'journal.db-wal'), 'x')
    expect(prepareOlder(folder)).toBe<Prepared>('unreadable')
  })
})

describe('an older journal with bad pages', () => {
  test('an older journal with bad pages keeps every record outside of them, and the damaged file stays beside it', () => {
    const { folder, path } = deadJournal()
    const pages = leafPages(path, 'calls')
    const bad = pages[Math.floor(pages.length / 2)] ?? 0
    garble(path, (bad - 1) * 4_096, 4_096)
    expect(prepareOlder(folder)).toBe<Prepared>('damaged')
    const kept = sequences(folder)
    expect(kept.length).toBeGreaterThan(CALLS - 20)
    expect(kept.length).toBeLessThan(CALLS)
    expect(kept.at(0)).toBe(1)
    expect(kept.at(-1)).toBe(CALLS)
    expect(isTailLost(folder)).toBe(false)
    expect(namesIn(folder)).toContain('journal.db.corrupt')
  })

  test('an older journal whose last page is bad says so: which sequences were used is then unknown', () => {
    const { folder, path } = deadJournal()
    const bad = leafPages(path, 'calls').at(-1) ?? 0
    garble(path, (bad - 1) * 4_096, 4_096)
    expect(prepareOlder(folder)).toBe<Prepared>('damaged')
    expect(isTailLost(folder)).toBe(true)
    expect(sequences(folder).length).toBeGreaterThan(CALLS - 20)
  })

  test('an older journal with bad pages is still known as damaged after it was salvaged, and a salvage that died between two renames is finished', () => {
    const { folder, path } = deadJournal()
    const salvaged = testFolder()
    const pages = leafPages(path, 'calls')
    garble(path, ((pages[3] ?? 0) - 1) * 4_096, 4_096)
    for (const name of namesIn(folder)) copyFileSync(join(folder, name), join(salvaged, name))
    expect(prepareOlder(folder)).toBe<Prepared>('damaged')
    expect(prepareOlder(folder)).toBe<Prepared>('damaged')
    const kept = sequences(folder)
    expect(salvage(salvaged)).toBe(true)
    copyFileSync(join(salvaged, 'journal.db'), join(salvaged, 'salvaged.db'))
    garble(join(salvaged, 'journal.db'), 0, 4_096)
    expect(prepareOlder(salvaged)).toBe<Prepared>('damaged')
    expect(sequences(salvaged)).toEqual(kept)
  })

  test('an older journal that was cut short keeps what is before the cut', () => {
    const { folder, path } = deadJournal()
    truncateSync(path, Math.floor(statSync(path).size / 2 / 4_096) * 4_096)
    expect(prepareOlder(folder)).toBe<Prepared>('damaged')
    const kept = sequences(folder)
    expect(kept.length).toBeGreaterThan(CALLS / 4)
    expect(kept.at(0)).toBe(1)
  })
})
