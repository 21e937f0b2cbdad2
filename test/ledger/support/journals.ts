import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OpenCall } from '../../../src/call/call-record.ts'
import { serialiseRecord } from '../../../src/ledger/entry.ts'
import type { Journal } from '../../../src/ledger/journal/journal.ts'
import type { DeadJournal, DiskReserve } from '../../../src/ledger/journal/journal-store.ts'
import { type LogDisk, systemDisk } from '../../../src/ledger/journal/segments/log-disk.ts'
import { SegmentJournals } from '../../../src/ledger/journal/segments/segment-journals.ts'
import { callId, callRecord, openCall } from './calls.ts'
import { testFolder } from './folders.ts'
import { logLines } from './log-lines.ts'

export const STREAM = 'test:calls'

/** The system's own words for a full disk. */
export function diskFull(): Error {
  return Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}

/** A disk whose writes fail while `failure` is set, and whose syncs fail while `syncFailure` is. */
export interface FailingDisk extends LogDisk {
  failure: Error | null
  syncFailure: Error | null
  /** How many writes succeeded that were longer than what is written after a sync. */
  writes: number
}

/** Of what is written after a sync. */
const PROOF_BYTES = 13 + 36

export function failingDisk(): FailingDisk {
  const disk: FailingDisk = {
    ...systemDisk,
    failure: null,
    syncFailure: null,
    writes: 0,
    write(descriptor, bytes, offset, length, position) {
      if (disk.failure !== null) throw disk.failure
      if (length !== PROOF_BYTES) disk.writes++
      return systemDisk.write(descriptor, bytes, offset, length, position)
    },
    sync: (descriptor) =>
      disk.syncFailure === null ? systemDisk.sync(descriptor) : Promise.reject(disk.syncFailure),
  }
  return disk
}

export interface TestJournal {
  readonly folder: string
  /** Of its first segment. */
  readonly path: string
  readonly disk: FailingDisk
  readonly journal: Journal
  readonly log: ReturnType<typeof logLines>
  open(number: number): Promise<Error | null>
  close(number: number): Promise<Error | null>
}

/** A new journal in a folder of its own. */
export function testJournal({
  folder = testFolder(),
  reserve = null as DiskReserve | null,
  segmentBytes = 8 * 1024 * 1024,
} = {}): TestJournal {
  const disk = failingDisk()
  const log = logLines()
  const journals = new SegmentJournals({ log, disk, segmentBytes })
  const journal = journals.create(folder, STREAM, reserve)
  onTestFinished(async () => {
    await journal.stop()
    await journals.stop()
  })
  return {
    folder,
    path: join(folder, '00000001.log'),
    disk,
    journal,
    log,
    open: (number) => opened(journal, openCall(number)),
    close: (number) => closed(journal, number),
  }
}

export function opened(journal: Journal, call: OpenCall): Promise<Error | null> {
  return new Promise((resolve) => journal.open(call, resolve))
}

export function closed(journal: Journal, number: number): Promise<Error | null> {
  return new Promise((resolve) => journal.close(callId(number), serialiseRecord(callRecord(number)), resolve))
}

export interface JournalContents {
  readonly open: string[]
  readonly seen: (string | null)[]
  readonly calls: [number, string][]
}

/** What an adopter would find if the process died now. */
export async function contentsOf(folder: string): Promise<JournalContents> {
  const copy = testFolder()
  for (const name of readdirSync(folder))
    if (name.endsWith('.log')) copyFileSync(join(folder, name), join(copy, name))
  const journals = new SegmentJournals({ log: logLines() })
  const prepared = await journals.prepare(copy)
  if (prepared !== 'ready' && prepared !== 'damaged') throw new Error(`the journal is ${prepared}`)
  const journal = journals.reopen(copy)
  try {
    const open = journal.selectInterrupted(0, 1e9)
    const calls: [number, string][] = []
    for (let after = journal.prunedTo; ; ) {
      const rows = journal.read(after, 1_000, 1e9)
      for (const { sequence, body } of rows) calls.push([sequence, JSON.parse(body).callId])
      const newest = rows.at(-1)
      if (newest === undefined) break
      after = newest.sequence
    }
    return {
      open: open.map(({ call }) => JSON.parse(call).callId),
      seen: open.map(({ snapshot }) => snapshot),
      calls,
    }
  } finally {
    await journal.stop()
  }
}

/** The journal of a producer that is gone, as its adopter opens it. */
export async function adoptedJournal(folder: string): Promise<DeadJournal> {
  const journals = new SegmentJournals({ log: logLines() })
  const prepared = await journals.prepare(folder)
  if (prepared !== 'ready' && prepared !== 'damaged') throw new Error(`the journal is ${prepared}`)
  const journal = journals.reopen(folder)
  onTestFinished(() => journal.stop())
  return journal
}
