import type { Frame } from './segment.ts'

export interface JournalRecord {
  readonly call: number
  readonly complete: boolean
}

/** What a journal holds. */
export interface Tables {
  /** Calls under way, and the segment that mentions each last. */
  readonly open: Map<number, number>
  readonly records: Map<number, JournalRecord>
  prunedTo: number
  /** The highest number that was given. */
  last: number
}

/** One write of a journal. */
export type JournalWrite = Exclude<Frame, { readonly kind: 'begin' | 'synced' }>

export function noTables(): Tables {
  return { open: new Map(), records: new Map(), prunedTo: 0, last: 0 }
}

export function copyOf({ open, records, prunedTo, last }: Tables): Tables {
  return { open: new Map(open), records: new Map(records), prunedTo, last }
}

/** @param segment where it was written. */
export function apply(tables: Tables, write: JournalWrite, segment: number): void {
  switch (write.kind) {
    case 'open':
    case 'carried':
      tables.open.set(write.call, segment)
      break
    case 'record':
      tables.records.set(write.sequence, write)
      tables.last = Math.max(tables.last, write.sequence)
      if (write.closes) tables.open.delete(write.call)
      break
    case 'discard':
      tables.open.delete(write.call)
      break
    case 'pruned':
      for (const sequence of tables.records.keys()) if (sequence <= write.to) tables.records.delete(sequence)
      tables.prunedTo = write.to
      break
    default:
      write satisfies never
  }
}

/** Whether a write that a disk may have lost is there after all. */
export function isThere({ open, records }: Tables, write: JournalWrite): boolean {
  switch (write.kind) {
    case 'open':
      return open.has(write.call) || records.values().some(({ call }) => call === write.call)
    case 'record':
      return records.get(write.sequence)?.call === write.call
    default:
      return true
  }
}
