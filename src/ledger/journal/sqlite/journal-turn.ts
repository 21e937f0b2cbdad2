import type { JournalDatabase, JournalRow } from './journal-database.ts'
import type { OpenSlot } from './open-slots.ts'

/** Called once: `null` after the commit, else why there was none. */
export type OnWritten = (error: Error | null) => void

/** Something that happened to a call, to be written with all else that happened in the same turn. */
export interface JournalOperation {
  readonly kind: 'open' | 'snapshot' | 'close' | 'discard'
  /** `null`: a record, or usage seen, without an open row. */
  readonly call: Pick<OpenSlot, 'slot'> | null
  /** The open call, the usage seen, or the record's body. */
  readonly text: string
  onWritten: OnWritten | null
}

/** The end of the journal: the highest sequence and the bytes of all bodies. */
export interface JournalEnd {
  readonly sequence: number
  readonly bytesTotal: number
}

/** Writes the turn's operations, in order, inside the caller's transaction. Returns the records it numbered. */
export function writeTurn(
  database: JournalDatabase,
  end: JournalEnd,
  operations: readonly JournalOperation[],
): readonly JournalRow[] {
  const closed: JournalRow[] = []
  let { sequence, bytesTotal } = end
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
