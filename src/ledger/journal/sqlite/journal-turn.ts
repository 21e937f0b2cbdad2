import type { JournalRow, OnWritten } from '../journal.ts'
import type { JournalDatabase } from './journal-database.ts'
import type { OpenSlot } from './open-slots.ts'

/** What happened to a call; written together with everything else that happened in the same turn. */
export interface JournalOperation {
  readonly kind: 'open' | 'snapshot' | 'close' | 'discard'
  /** `null`: a record or a snapshot of a call that has no open row. */
  readonly call: Pick<OpenSlot, 'slot'> | null
  /** The open call, the usage snapshot, or the record's body. */
  readonly text: string
  onWritten: OnWritten | null
}

/** The end of the journal. */
export interface JournalEnd {
  /** The highest sequence. */
  readonly last: number
  /** Bytes of all bodies. */
  readonly bytesTotal: number
}

/** Writes the turn's operations, in order, inside the caller's transaction. Returns the records with their numbers. */
export function writeTurn(
  database: JournalDatabase,
  end: JournalEnd,
  operations: readonly JournalOperation[],
): readonly JournalRow[] {
  const closed: JournalRow[] = []
  let { last: sequence, bytesTotal } = end
  for (const { kind, call, text } of operations) {
    switch (kind) {
      case 'open':
        if (call !== null) database.insertOpen(call.slot, text)
        break
      case 'snapshot':
        if (call !== null) database.setSnapshot(call.slot, text)
        break
      case 'discard':
        if (call !== null) database.deleteOpen(call.slot)
        break
      case 'close':
        if (call !== null) database.deleteOpen(call.slot)
        sequence++
        bytesTotal += Buffer.byteLength(text)
        database.insertCall(sequence, bytesTotal, text)
        closed.push({ sequence, bytesTotal, body: text })
    }
  }
  return closed
}
