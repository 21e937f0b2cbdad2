import { SegmentJournal } from '../../../src/ledger/journal/segments/segment-journal.ts'
import { SegmentLog } from '../../../src/ledger/journal/segments/segment-log.ts'
import { callId, openCall } from './calls.ts'
import { logLines } from './log-lines.ts'
import type { MemoryDisk } from './memory-disk.ts'

export const SAMPLE_FOLDER = '/journal'

/** What really happened to the calls of a log. */
export interface Truth {
  /** The call of each record. Those at or under `synced` may have been shipped. */
  readonly closed: Map<number, number>
  readonly open: Set<number>
  /** Of those, the ones whose opening was synced. */
  readonly syncedOpen: Set<number>
  /** All calls whose opening was synced, whatever became of them. */
  readonly syncedOnce: Set<number>
  readonly discarded: Set<number>
  /** Whose end was handed in, whether or not that was answered. */
  readonly ending: Set<number>
  synced: number
}

export interface SampleLog {
  readonly journal: SegmentJournal
  readonly truth: Truth
  open(call: number): Promise<boolean>
  close(call: number): Promise<boolean>
  discard(call: number): void
  sync(): Promise<void>
}

/** A new log on the disk, whose calls are known. */
export function sampleLog(disk: MemoryDisk, segmentBytes: number): SampleLog {
  const options = { folder: SAMPLE_FOLDER, disk, segmentBytes, salt: 7, stream: 's', isTailLost: false }
  const journal = new SegmentJournal({
    segments: SegmentLog.create(options),
    synced: { end: { segment: 0, position: 0 }, last: 0, bytesTotal: 0, discards: 0 },
    reserve: null,
    cleans: true,
    onStopped: () => {},
    log: logLines(),
  })
  const truth: Truth = {
    closed: new Map(),
    open: new Set(),
    syncedOpen: new Set(),
    syncedOnce: new Set(),
    discarded: new Set(),
    ending: new Set(),
    synced: 0,
  }
  return {
    journal,
    truth,
    open: (call) =>
      new Promise((resolve) => {
        journal.open(openCall(call), (error) => {
          if (error === null) truth.open.add(call)
          resolve(error === null)
        })
      }),
    close: (call) =>
      new Promise((resolve) => {
        truth.ending.add(call)
        journal.close(callId(call), JSON.stringify({ callId: callId(call), call }), (error) => {
          if (error === null) end(truth, call)
          if (error === null) truth.closed.set(journal.last, call)
          resolve(error === null)
        })
      }),
    discard: (call) => {
      journal.discard(callId(call))
      end(truth, call)
      truth.discarded.add(call)
    },
    sync: async () => {
      const { open } = truth
      const before = [...open]
      await journal.flush()
      truth.synced = journal.synced
      if (journal.refuses) return // The sync failed.
      for (const call of before) truth.syncedOnce.add(call)
      for (const call of before) if (open.has(call)) truth.syncedOpen.add(call)
    },
  }
}

function end(truth: Truth, call: number): void {
  truth.open.delete(call)
  truth.syncedOpen.delete(call)
}
