import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SegmentJournals } from '../../../src/ledger/journal/segments/segment-journals.ts'
import { adoptJournal } from '../../../src/ledger/recovery/adopt-journal.ts'
import { acquireLivenessLock } from '../../../src/ledger/recovery/liveness-lock.ts'
import { interruptedRecord } from '../support/calls.ts'
import { testFolder } from '../support/folders.ts'
import { testJournal } from '../support/journals.ts'
import { logLines } from '../support/log-lines.ts'
import { framesIn } from '../support/segments.ts'

const CALLS = 40
const SEGMENT = '00000001.log'

/** What an adopter makes of a journal of `CALLS` records with this segment and this committed offset. */
async function adoptedWith(committedOffset: number, changeSegment: (path: string) => void) {
  const folder = testFolder()
  const crashed = testFolder()
  const { journal, close } = testJournal({ folder })
  for (let number = 1; number <= CALLS; number++) await close(number)
  copyFileSync(join(folder, SEGMENT), join(crashed, SEGMENT))
  changeSegment(join(crashed, SEGMENT))
  await journal.stop()
  copyFileSync(join(folder, 'journal.db'), join(crashed, 'journal.db'))
  const log = logLines()
  const journals = new SegmentJournals({ log })
  const lock = acquireLivenessLock(crashed)
  if (lock === null) throw new Error('the lock is taken')
  onTestFinished(async () => {
    lock.release()
    await journals.stop()
  })
  return await adoptJournal({
    folder: { producer: 'a'.repeat(32), path: crashed, lock },
    committedOffset,
    numbered: committedOffset,
    database: { readGaps: async () => [] },
    journals,
    buildInterrupted: interruptedRecord,
    log,
  })
}

/** Only what is written when a journal is created. */
function onlyBegin(path: string): void {
  writeFileSync(path, readFileSync(path).subarray(0, framesIn(path)[0]?.end))
}

function garbledBegin(path: string): void {
  writeFileSync(path, readFileSync(path).fill(0xa5, 0, 32))
}

const empty = (path: string) => writeFileSync(path, '')

test('a journal that is unreadable from its beginning is not one that was never begun: Postgres has of it', async () => {
  expect(await adoptedWith(CALLS / 2, garbledBegin)).toMatchObject({ kind: 'unusable' })
  expect(await adoptedWith(0, garbledBegin)).toMatchObject({ kind: 'unusable' })
  expect(await adoptedWith(CALLS / 2, empty)).toMatchObject({ kind: 'unusable' })
  expect(await adoptedWith(CALLS / 2, rmSync)).toMatchObject({ kind: 'unusable' })
})

test('a journal without a record or an open call is quarantined where Postgres has records of it', async () => {
  expect(await adoptedWith(CALLS / 2, onlyBegin)).toMatchObject({ kind: 'unusable' })
})

test('a journal of which nothing was ever counted, and which has nothing, is of no use', async () => {
  expect(await adoptedWith(0, onlyBegin)).toMatchObject({ kind: 'nothing' })
  expect(await adoptedWith(0, empty)).toMatchObject({ kind: 'nothing' })
  expect(await adoptedWith(0, rmSync)).toMatchObject({ kind: 'nothing' })
})
